// SPDX-License-Identifier: Apache-2.0

// The largest error of a few mechanisms over the horizon, as the library found it beforehand.

import type { MechanismName } from 'dp-ftrl';
import { errorRows } from './yours_table.ts';

/** In the order of the table's columns. */
export const rankedMechanisms = [
  'independent',
  'tree',
  'honaker',
  'square-root',
  'optimal',
] as const satisfies readonly MechanismName[];

export interface HorizonErrors {
  readonly numSteps: number;
  /** Standard deviation of the worst total at noise multiplier 1, as `rankedMechanisms` are. */
  readonly errors: readonly number[];
  /** Every factorization of the prefix sums has at least this one, each person in one step. */
  readonly floor: number;
}

/** By growing horizon. */
export const horizons: readonly HorizonErrors[] = errorRows.map((row) => ({
  numSteps: row[0],
  errors: row.slice(1, -1),
  floor: row.at(-1)!,
}));

/** Index of the horizon that is nearest on a logarithmic scale. */
export function nearestHorizon(numSteps: number): number {
  const distance = (index: number): number =>
    Math.abs(Math.log(horizons[index]!.numSteps / numSteps));
  let best = 0;
  for (let i = 1; i < horizons.length; ++i) if (distance(i) < distance(best)) best = i;
  return best;
}

/** Deviations of a normal number that 95 of 100 stay within. */
export const deviationsShown = 2;

/** Noise multiplier at which twice the standard deviation of the worst total is `margin`. */
export function bearableMultiplier(margin: number, error: number): number {
  return margin / (deviationsShown * error);
}
