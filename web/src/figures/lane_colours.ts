// SPDX-License-Identifier: Apache-2.0

// Colours of mechanisms that are drawn beside each other. Those of the story have one of their own,
// the same in both views.

import type { Colour } from './colours.ts';

const own = {
  independent: 'fresh',
  tree: 'second',
  honaker: 'honaker',
  'square-root': 'root',
  optimal: 'private',
} as const satisfies Record<string, Colour>;

/** The colour of a mechanism that has its own. */
export const colourOf = (mechanism: keyof typeof own): Colour => own[mechanism];

/** Colours that any mechanism may have. */
const common: readonly Colour[] = ['private', 'second', 'fresh', 'root', 'honaker'];

/** A colour for each lane, no two alike. */
export function laneColours(mechanisms: readonly string[]): Colour[] {
  const taken = new Set<Colour>();
  const take = (colour: Colour | undefined): Colour | undefined => {
    if (colour === undefined || taken.has(colour)) return undefined;
    taken.add(colour);
    return colour;
  };
  // No other mechanism takes the colour of one that has its own.
  const colours = mechanisms.map((name) => take((own as Record<string, Colour>)[name]));
  return colours.map((colour) => colour ?? take(common.find((one) => !taken.has(one)))!);
}
