// SPDX-License-Identifier: Apache-2.0

// The readings of streams. Objects whose keys are names given by the caller have no prototype, so
// that every name can be used.

import type { NamedRecord } from './options.js';

/**
 * A noisy number, and an interval of the stream's `confidence` that contains the noiseless number.
 */
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

/** The fields that every reading has. */
export interface Step {
  /** Index of the step that was read, from 0. */
  readonly step: number;
}

/** The fields of readings that can also be shown without noise. */
export interface RevealableStep extends Step {
  /**
   * With `showNonprivate`: the same reading from the sums without noise, of the same records,
   * counted and clipped as for the release. It is NOT PRIVATE: never publish it. What it says about
   * noise (`stddev`, `halfWidth`, `low`, `high`) describes the release.
   */
  readonly nonprivate?: this;
}

export interface Total extends Estimate, RevealableStep {}
export interface Totals extends Estimates, RevealableStep {}

/** The weights of a model after a step, at which the next step computes its gradients. */
export interface Weights extends Step {
  readonly weights: Float64Array;
}

export interface Sums<K extends string, One> extends RevealableStep {
  readonly sums: NamedRecord<K, One>;
}

/** Moments of the summed records, which are clipped to the ranges of the columns. */
export interface Moments<K extends string> extends RevealableStep {
  readonly count: Estimate;
  readonly mean: NamedRecord<K, Estimate>;
  /** Mean squared deviations from the mean. */
  readonly variance: NamedRecord<K, Estimate>;
  /** Square roots of the variances and of their `low` and `high`; `value` is biased. */
  readonly standardDeviation: NamedRecord<K, Estimate>;
  /** If requested. The covariance of a column with itself is its variance. */
  readonly covariance?: NamedRecord<K, NamedRecord<K, Estimate>>;
}

export interface Histogram<K extends string> extends RevealableStep {
  /** Unbiased, so counts may be negative and may decrease. */
  readonly count: NamedRecord<K, Estimate>;
  /** Counts divided by the total, from 0 to 1. */
  readonly share: NamedRecord<K, Estimate>;
  readonly total: Estimate;
}

export interface ActiveCounts<K extends string> extends Step {
  /** Number of active people in each of your windows; unbiased, so it may be negative. */
  readonly active: NamedRecord<K, Estimate>;
}

/** Counts after post-processing: biased, but no less accurate (see `consistent`). */
export interface ConsistentCounts<K extends string> {
  readonly count: NamedRecord<K, number>;
  /** Sum of these counts, whose biases add up; the `total` of the histogram is unbiased. */
  readonly total: number;
}
