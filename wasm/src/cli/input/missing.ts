// SPDX-License-Identifier: Apache-2.0

// --missing: rows with an empty cell. Whatever becomes of a row follows from that row alone, and no
// other row moves to another step.

import type { Args, Known } from '../options/args.js';

export const MISSING_OPTIONS: Known = { missing: 'value' };

export const POLICIES = ['refuse', 'zero', 'skip'] as const;

/** Says of a cell that it has nothing in it. */
export const EMPTY = 'is empty';

/**
 * `refuse`: the row is a fault. `zero`: a missing number is 0. `blank`: all numbers of the row are 0,
 * and it is a row all the same. `drop`: there is no such row.
 */
export type Missing = 'refuse' | 'zero' | 'blank' | 'drop';

/** @param areSteps  whether each row is a step: one that is left out would move those after it. */
export function readMissing(
  args: Args,
  { areSteps, known = POLICIES }: { areSteps: boolean; known?: readonly (typeof POLICIES)[number][] },
): Missing {
  const policy = args.oneOf<(typeof POLICIES)[number]>('missing', known);
  if (policy !== 'skip') return policy;
  return areSteps ? 'blank' : 'drop';
}
