// SPDX-License-Identifier: Apache-2.0

// Sums of a stream whose records expire or fade.

/**
 * Every step multiplies the sum by `decay`, and a record leaves the sum after `window` steps. A
 * step adds its records and `momentum` times what the previous step added.
 */
export interface SumWeights {
  window: number;
  decay: number;
  momentum: number;
}

/** Sums after each step, row-major; `steps` holds the sum of each single step. */
export function weightedSums(
  steps: Float64Array,
  dimension: number,
  { window, decay, momentum }: SumWeights,
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

/** Variance of the sum after `step` steps if records have independent noise of variance 1. */
export function sumOfSquares({ window, decay, momentum }: SumWeights, step: number): number {
  const geometric = (ratio: number): number => (1 - ratio ** step) / (1 - ratio);
  if (momentum > 0) {
    // A record from k steps ago has weight (1 - momentum^(k + 1)) / (1 - momentum).
    const first = momentum * geometric(momentum);
    const second = momentum ** 2 * geometric(momentum ** 2);
    return (step - 2 * first + second) / (1 - momentum) ** 2;
  }
  return decay === 1 ? Math.min(step, window) : geometric(decay ** 2);
}

/**
 * Inverse of `weightedSums`: the amount that each step adds. `sums` may be any matrix, such as a
 * decoder.
 */
export function stepsOf(
  sums: Float64Array,
  dimension: number,
  { window, decay, momentum }: SumWeights,
): Float64Array {
  const steps = new Float64Array(sums.length);
  const addedAt = (at: number): number => (sums[at] ?? 0) - decay * (sums[at - dimension] ?? 0);
  for (let at = 0; at < sums.length; ++at) {
    const left = steps[at - window * dimension] ?? 0;
    steps[at] = addedAt(at) - momentum * addedAt(at - dimension) + left;
  }
  return steps;
}
