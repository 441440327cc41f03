// SPDX-License-Identifier: Apache-2.0

// The estimates of moments, in the order of their rows.

import type { Estimate, Moments } from '../../../types/all.js';

/** Optional estimates. */
export interface Wanted {
  covariance: boolean;
  standardDeviation: boolean;
}

/** Kind and columns of each estimate of a step, in order. */
export function pathsOf(columns: readonly string[], wanted: Wanted): string[][] {
  const each = (kind: string): string[][] => columns.map((name) => [kind, name]);
  const pairs = columns.flatMap((a, i) => columns.slice(i + 1).map((b) => ['covariance', a, b]));
  const covariances = wanted.covariance ? pairs : [];
  const deviations = wanted.standardDeviation ? each('standard_deviation') : [];
  return [['count'], ...each('mean'), ...each('variance'), ...covariances, ...deviations];
}

/** Column name of an estimate: `age_mean`, `a_b_covariance`. */
export function nameOf([kind, ...columns]: readonly string[]): string {
  return [...columns, kind].join('_');
}

export function estimatesOfMoments(moments: Moments, wanted: Wanted): Estimate[] {
  const { count, mean, variance, covariance, standardDeviation } = moments;
  const pairs = covariance?.flatMap((row, i) => row.slice(i + 1)) ?? [];
  return [
    count,
    ...mean,
    ...variance,
    ...pairs,
    ...(wanted.standardDeviation ? standardDeviation : []),
  ];
}
