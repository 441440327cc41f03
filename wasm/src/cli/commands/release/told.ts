// SPDX-License-Identifier: Apache-2.0

// Whether a release tells anything from 0.

import type { Totals } from '../../../types/all.js';
import { eachStep, type Released } from '../../input/steps.js';
import { estimatesOf } from '../statistics/totals.js';

/** Noise of this many standard deviations is rare, also in thousands of steps. */
const MOST_NOISE = 4;

/** Whether a total is further from 0 than noise is. */
export function areTotalsTold(steps: Released, totals: Pick<Totals, 'dimension' | 'stddev'>): boolean {
  for (const { noisy, std } of eachStep(steps, totals)) {
    if (noisy.some((total) => Math.abs(total) > MOST_NOISE * std)) return true;
  }
  return false;
}

/** The same of rows of estimates. */
export function areEstimatesTold({ noisy }: Released): boolean {
  return estimatesOf(noisy).some(({ value, stddev }) => Math.abs(value) > MOST_NOISE * stddev);
}
