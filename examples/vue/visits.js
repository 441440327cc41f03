// SPDX-License-Identifier: Apache-2.0

import { h, ref } from 'vue';

/** Counts visits, and shows a private total after each hour. `sums` is a `prefixSum`. */
export const Visits = {
  props: ['sums'],
  setup({ sums }) {
    const total = ref('no hour is over');
    const endHour = () => (total.value = sums.endSteps()[0].toFixed(1));
    return () =>
      h('p', [
        h('button', { onClick: () => sums.contribute([1]) }, 'Visit'),
        h('button', { onClick: endHour }, 'End of the hour'),
        h('output', total.value),
      ]);
  },
};
