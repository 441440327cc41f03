// SPDX-License-Identifier: Apache-2.0

import { byId, h } from './dom.ts';

/** Says above the figures what has become of an address or a search, and lists the reasons. */
export function showNotice(text: string, reasons: string[] = []): void {
  const box = byId('notice');
  box.hidden = false;
  box.replaceChildren(
    h('p', {}, text),
    h('ul', {}, ...reasons.map((reason) => h('li', {}, reason))),
    h('button', { type: 'button', onclick: clearNotice }, 'Dismiss'),
  );
  box.querySelector('ul')!.hidden = reasons.length === 0;
}

export function clearNotice(): void {
  byId('notice').hidden = true;
}
