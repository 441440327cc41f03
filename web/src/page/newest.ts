// SPDX-License-Identifier: Apache-2.0

// Says that the host has a newer build than the one that is open. It is never loaded unasked.

import { byId, h } from './dom.ts';

/** Shows a notice in every view, or takes it back. */
export function sayWhetherNewest(isNewest: boolean): void {
  const box = byId('newer');
  const dismiss = (): void => box.replaceChildren();
  if (isNewest) {
    dismiss();
    return;
  }
  const text =
    'A newer version of this page is ready. Reloading keeps your settings; a table of your own has to ' +
    'be loaded again.';
  box.replaceChildren(
    h(
      'div',
      { class: 'toast quiet' },
      h('p', {}, text),
      h('button', { type: 'button', onclick: () => location.reload() }, 'Reload'),
      h('button', { type: 'button', onclick: dismiss }, 'Dismiss'),
    ),
  );
}
