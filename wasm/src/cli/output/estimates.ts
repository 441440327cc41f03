// SPDX-License-Identifier: Apache-2.0

// Estimates as rows of numbers.

import type { Estimate } from '../../types/all.js';

/** Numbers that make up an estimate. */
export const ESTIMATE = ['value', 'low', 'high', 'stddev'] as const;

/** Converts a row of numbers back to estimates. */
export function estimatesOf(numbers: Float64Array): Estimate[] {
  return Array.from({ length: numbers.length / ESTIMATE.length }, (_, i) => {
    const entries = ESTIMATE.map((name, k) => [name, numbers[i * ESTIMATE.length + k]!]);
    return Object.fromEntries(entries) as unknown as Estimate;
  });
}
