// SPDX-License-Identifier: Apache-2.0

// Determines whether any released number is distinguishable from 0.

/** Number of standard deviations that noise rarely exceeds, even over a thousand steps. */
const MOST_NOISE = 4;

/**
 * Whether any number is further from 0 than noise of the given standard deviation would explain.
 */
export function areTold({ values, stddev }: { values: Iterable<number>; stddev: number }): boolean {
  return [...values].some((value) => Math.abs(value) > MOST_NOISE * stddev);
}
