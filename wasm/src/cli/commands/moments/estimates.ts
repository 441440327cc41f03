// SPDX-License-Identifier: Apache-2.0

// The estimates of moments, in the order of their rows.

import type { Estimate, Moments } from '../../../types/all.js';

/** Kind and columns of each estimate of a step, in order. */
export function pathsOf(columns: readonly string[], covariance: boolean): string[][] {
  const each = (kind: string): string[][] => columns.map((name) => [kind, name]);
  const pairs = columns.flatMap((a, i) => columns.slice(i + 1).map((b) => ['covariance', a, b]));
  return [['count'], ...each('mean'), ...each('variance'), ...(covariance ? pairs : [])];
}

/** `age_mean`, `a_b_covariance`. */
export function nameOf([kind, ...columns]: readonly string[]): string {
  return [...columns, kind].join('_');
}

export function estimatesOfMoments({ count, mean, variance, covariance }: Moments): Estimate[] {
  const pairs = covariance?.flatMap((row, i) => row.slice(i + 1)) ?? [];
  return [count, ...mean, ...variance, ...pairs];
}
