// SPDX-License-Identifier: Apache-2.0

import { h, ref } from 'vue';

/** Counts visits, and shows a private total after each hour. `visits` is a `counter`. */
export const Visits = {
  props: ['visits'],
  setup({ visits }) {
    const total = ref('no hour is over');
    const endHour = () => (total.value = visits.end().value.toFixed(1));
    return () =>
      h('p', [
        h('button', { onClick: () => visits.add() }, 'Visit'),
        h('button', { onClick: endHour }, 'End of the hour'),
        h('output', total.value),
      ]);
  },
};
