// SPDX-License-Identifier: Apache-2.0

import { h } from '../base/dom.ts';
import type { Reference } from './sources.ts';

/** A citation, with a link if there is a permanent address. */
export function citation({ short, link }: Reference): HTMLElement {
  if (link === null) return h('span', {}, short);
  return h('a', { href: link, rel: 'external noreferrer' }, short);
}

/** Inserts a text between adjacent nodes. */
export function between(nodes: readonly Node[], text: string): (Node | string)[] {
  return nodes.flatMap((node, i) => (i === 0 ? [node] : [text, node]));
}
