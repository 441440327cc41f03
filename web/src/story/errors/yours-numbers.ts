// SPDX-License-Identifier: Apache-2.0

// Largest errors of several mechanisms at many horizons, precomputed with the library.

import type { MechanismName } from 'dp-ftrl';
import { errorRows } from './yours-table.ts';

/** Mechanisms in the order of the table's columns. */
export const rankedMechanisms = [
  'independent',
  'tree',
  'honaker',
  'square-root',
  'optimal',
] as const satisfies readonly MechanismName[];

export interface HorizonErrors {
  readonly numSteps: number;
  /**
   * Standard deviation of the worst total at noise multiplier 1, in the order of
   * `rankedMechanisms`.
   */
  readonly errors: readonly number[];
  /** Lower bound for every factorization of the prefix sums, each person in one step. */
  readonly floor: number;
}

/** Errors by increasing horizon. */
export const horizons: readonly HorizonErrors[] = errorRows.map((row) => ({
  numSteps: row[0],
  errors: row.slice(1, -1),
  floor: row.at(-1)!,
}));

/** The horizon nearest on a logarithmic scale. */
export function nearestHorizon(numSteps: number): number {
  const distance = (index: number): number =>
    Math.abs(Math.log(horizons[index]!.numSteps / numSteps));
  let best = 0;
  for (let i = 1; i < horizons.length; ++i) if (distance(i) < distance(best)) best = i;
  return best;
}

/** Number of standard deviations within which 95 of 100 normal numbers lie. */
export const deviationsShown = 2;

/** Noise multiplier at which twice the standard deviation of the worst total is `margin`. */
export function bearableMultiplier(margin: number, error: number): number {
  return margin / (deviationsShown * error);
}
