// SPDX-License-Identifier: Apache-2.0

// The estimates of moments, in the order of their rows.

import type { Estimate, Moments } from '../../../types/streams/readings.js';

/** Optional estimates. */
export interface MomentChoice {
  covariance: boolean;
  standardDeviation: boolean;
}

type EstimateKind = 'count' | 'mean' | 'variance' | 'covariance' | 'standard_deviation';
/** Kind and columns of an estimate. */
export type Path = readonly [kind: EstimateKind, ...columns: string[]];

/** Kind and columns of each estimate of a step, in order. */
export function pathsOf(columns: readonly string[], wanted: MomentChoice): Path[] {
  const each = (kind: EstimateKind): Path[] => columns.map((name) => [kind, name]);
  const pairs = columns.flatMap((a, i) =>
    columns.slice(i + 1).map((b): Path => ['covariance', a, b]),
  );
  const covariances = wanted.covariance ? pairs : [];
  const deviations = wanted.standardDeviation ? each('standard_deviation') : [];
  return [['count'], ...each('mean'), ...each('variance'), ...covariances, ...deviations];
}

/** Column name of an estimate: `age_mean`, `a_b_covariance`. */
export function nameOf([kind, ...columns]: Path): string {
  return [...columns, kind].join('_');
}

export function estimateAt(moments: Moments<string>, [kind, a, b]: Path): Estimate {
  switch (kind) {
    case 'count':
      return moments.count;
    case 'covariance':
      return moments.covariance![a!]![b!]!;
    case 'standard_deviation':
      return moments.standardDeviation[a!]!;
    default:
      return moments[kind][a!]!;
  }
}
