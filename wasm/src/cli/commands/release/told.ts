// SPDX-License-Identifier: Apache-2.0

// Determines whether any released total is distinguishable from 0.

import type { Totals } from '../../../types/all.js';
import { eachStep, type Released } from '../../input/steps.js';
import { estimatesOf } from '../../output/estimates.js';

/** Number of standard deviations that noise rarely exceeds, even in thousands of steps. */
const MOST_NOISE = 4;

/** Whether any total is further from 0 than noise would explain. */
export function areTotalsTold(
  steps: Released,
  totals: Pick<Totals, 'dimension' | 'stddev'>,
): boolean {
  for (const { noisy, std } of eachStep(steps, totals)) {
    if (noisy.some((total) => Math.abs(total) > MOST_NOISE * std)) return true;
  }
  return false;
}

/** The same for rows of estimates. */
export function areEstimatesTold({ noisy }: Released): boolean {
  return estimatesOf(noisy).some(({ value, stddev }) => Math.abs(value) > MOST_NOISE * stddev);
}
