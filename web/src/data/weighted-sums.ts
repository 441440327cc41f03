// SPDX-License-Identifier: Apache-2.0

// True sums of a stream whose records expire or fade.

import type { Records } from './contributions.ts';

/**
 * Every step multiplies the sum by `decay`, and a record leaves it `window` steps after it came. A
 * step adds its records and `momentum` times what the previous step added.
 */
export interface Weights {
  window: number;
  decay: number;
  momentum: number;
}

/** Returns the sums after each step, row-major, given the sum of each single step. */
export function weightedSums(
  steps: Float64Array,
  dimension: number,
  { window, decay, momentum }: Weights,
): Float64Array {
  const sums = new Float64Array(steps.length);
  const added = new Float64Array(steps.length);
  for (let at = 0; at < steps.length; ++at) {
    const leaves = steps[at - window * dimension] ?? 0;
    added[at] = momentum * (added[at - dimension] ?? 0) + steps[at]! - leaves;
    sums[at] = decay * (sums[at - dimension] ?? 0) + added[at]!;
  }
  return sums;
}

/** Returns the variance of a sum whose records each have noise of variance 1. */
export function sumOfSquares({ window, decay, momentum }: Weights, step: number): number {
  const geometric = (ratio: number): number => (1 - ratio ** step) / (1 - ratio);
  if (momentum > 0) {
    // A record from k steps ago has weight (1 - momentum^(k + 1)) / (1 - momentum).
    const first = momentum * geometric(momentum);
    const second = momentum ** 2 * geometric(momentum ** 2);
    return (step - 2 * first + second) / (1 - momentum) ** 2;
  }
  return decay === 1 ? Math.min(step, window) : geometric(decay ** 2);
}

/** Inverse of `weightedSums`: returns what every step adds. The rows need not be sums. */
export function stepsOf(
  sums: Float64Array,
  dimension: number,
  { window, decay, momentum }: Weights,
): Float64Array {
  const steps = new Float64Array(sums.length);
  const addedAt = (at: number): number => (sums[at] ?? 0) - decay * (sums[at - dimension] ?? 0);
  for (let at = 0; at < sums.length; ++at) {
    const left = steps[at - window * dimension] ?? 0;
    steps[at] = addedAt(at) - momentum * addedAt(at - dimension) + left;
  }
  return steps;
}

/** Returns the sum of the clipped records of each step, row-major. */
export function clippedSteps(
  { table, batchSize, numSteps }: Records,
  clipNorm: number,
): Float64Array {
  const { numColumns, values } = table;
  const steps = new Float64Array(numSteps * numColumns);
  for (let row = 0; row < numSteps * batchSize; ++row) {
    const record = values.subarray(row * numColumns, (row + 1) * numColumns);
    const norm = Math.sqrt(record.reduce((squares, value) => squares + value ** 2, 0));
    const scale = norm > clipNorm ? clipNorm / norm : 1;
    const step = Math.floor(row / batchSize);
    for (let k = 0; k < numColumns; ++k) steps[step * numColumns + k]! += scale * record[k]!;
  }
  return steps;
}
