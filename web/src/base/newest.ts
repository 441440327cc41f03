// SPDX-License-Identifier: Apache-2.0

// Announces that the host has a newer build than the open one. The newer build is never loaded
// automatically.

import { byId, h } from './dom.ts';

/** Shows the notice in every view, or removes it. */
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
