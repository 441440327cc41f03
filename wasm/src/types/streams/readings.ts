// SPDX-License-Identifier: Apache-2.0

// The readings of streams. Objects with the names of a caller have no prototype, so that every name
// can be used.

import type { Named } from './options.js';

/** A noisy number, and an interval of the stream's `confidence` that contains the noiseless one. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Standard deviation of the noise in `value`; for quotients, to first order. */
  readonly stddev: number;
}

/**
 * Noisy numbers with the same noise. Each differs from its noiseless number by at most `halfWidth`,
 * with the stream's `confidence`.
 */
export interface Estimates {
  readonly values: Float64Array;
  readonly stddev: number;
  readonly halfWidth: number;
}

/** A part of every reading. */
export interface Step {
  /** Index of the step that was read, from 0. */
  readonly step: number;
}

export interface Total extends Estimate, Step {}
export interface Totals extends Estimates, Step {}

/** The weights of a model after a step, at which the next one learns. */
export interface Weights extends Step {
  readonly weights: Float64Array;
}

export interface Sums<K extends string, One> extends Step {
  readonly sums: Named<K, One>;
}

/** Moments of the records that are summed: clipped to their ranges. */
export interface Moments<K extends string> extends Step {
  readonly count: Estimate;
  readonly mean: Named<K, Estimate>;
  /** Mean squared deviations from the mean. */
  readonly variance: Named<K, Estimate>;
  /** Square roots of the variances and of their `low` and `high`; `value` is biased. */
  readonly standardDeviation: Named<K, Estimate>;
  /** If asked for; the one of a column with itself is its variance. */
  readonly covariance?: Named<K, Named<K, Estimate>>;
}

export interface Histogram<K extends string> extends Step {
  /** Unbiased, so that counts may be negative and may decrease. */
  readonly count: Named<K, Estimate>;
  /** Counts divided by the total, from 0 to 1. */
  readonly share: Named<K, Estimate>;
  readonly total: Estimate;
}

/** Counts after post-processing: never farther from the truth, but biased. */
export interface ConsistentCounts<K extends string> {
  readonly count: Named<K, number>;
  /** Sum of these counts, whose biases add up; the `total` of the histogram is unbiased. */
  readonly total: number;
}
