// SPDX-License-Identifier: Apache-2.0

// --missing: handling of rows with an empty cell. The result for a row depends on that row alone,
// and no other row moves to another step.

import type { Args, Known } from '../options/args.js';

export const MISSING_OPTIONS: Known = { missing: 'value' };

export const POLICIES = ['refuse', 'zero', 'skip'] as const;

/** Message for an empty cell. */
export const EMPTY = 'is empty';

/**
 * `refuse`: the row is a fault. `zero`: a missing number is 0. `blank`: all numbers of the row are 0,
 * but it still counts as a row. `drop`: the row is left out.
 */
export type Missing = 'refuse' | 'zero' | 'blank' | 'drop';

/** @param areSteps  whether each row is a step, so that leaving one out would shift later ones. */
export function readMissing(
  args: Args,
  { areSteps, known = POLICIES }: { areSteps: boolean; known?: readonly (typeof POLICIES)[number][] },
): Missing {
  const policy = args.oneOf<(typeof POLICIES)[number]>('missing', known);
  if (policy !== 'skip') return policy;
  return areSteps ? 'blank' : 'drop';
}
