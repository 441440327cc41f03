// SPDX-License-Identifier: Apache-2.0

import { byId, h } from './dom.ts';

/** Says above the figures what of the address could not be used; nothing if that is nothing. */
export function showNotice(messages: string[]): void {
  const box = byId('notice');
  box.hidden = messages.length === 0;
  if (messages.length === 0) return;
  box.replaceChildren(
    h('p', {}, 'Part of this address was not understood; the rest is in force.'),
    h('ul', {}, ...messages.map((message) => h('li', {}, message))),
    h('button', { type: 'button', onclick: () => (box.hidden = true) }, 'Dismiss'),
  );
}
