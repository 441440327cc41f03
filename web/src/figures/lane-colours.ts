// SPDX-License-Identifier: Apache-2.0

// Colours of mechanisms shown side by side. Mechanisms of the story have a colour of their own, the
// same in the story and in the laboratory.

import type { Colour } from './colours.ts';

const own = {
  independent: 'fresh',
  tree: 'tree',
  honaker: 'honaker',
  'square-root': 'root',
  optimal: 'private',
} as const satisfies Record<string, Colour>;

export const colourOf = (mechanism: keyof typeof own): Colour => own[mechanism];

/** Colours for mechanisms without a colour of their own. */
const common: readonly Colour[] = ['private', 'second', 'fresh', 'root', 'honaker'];

/** Distinct colours, one for each lane. */
export function laneColours(mechanisms: readonly string[]): Colour[] {
  const taken = new Set<Colour>();
  const take = (colour: Colour | undefined): Colour | undefined => {
    if (colour === undefined || taken.has(colour)) return undefined;
    taken.add(colour);
    return colour;
  };
  // Mechanisms with a colour of their own choose first, so that no other mechanism takes it.
  const colours = mechanisms.map((name) => take((own as Record<string, Colour>)[name]));
  return colours.map((colour) => colour ?? take(common.find((one) => !taken.has(one)))!);
}
