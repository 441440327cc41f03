// SPDX-License-Identifier: Apache-2.0

import { h } from '../base/dom.ts';
import type { Source } from './sources.ts';

/** Returns a short citation, as a link where there is a lasting address. */
export function citation({ short, link }: Source): HTMLElement {
  if (link === null) return h('span', {}, short);
  return h('a', { href: link, rel: 'external noreferrer' }, short);
}

/** Returns the nodes with a text between each two. */
export function between(nodes: readonly Node[], text: string): (Node | string)[] {
  return nodes.flatMap((node, i) => (i === 0 ? [node] : [text, node]));
}
