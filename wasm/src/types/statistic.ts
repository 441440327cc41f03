// SPDX-License-Identifier: Apache-2.0

// Private statistics of a stream that are more than one total.

import type { Certificate } from './certificate.js';
import type { Handle } from './instance.js';
import type { ReleaseStore } from './ledger.js';
import type { MechanismOptions } from './mechanism.js';
import type { PrefixSumOptions } from './sums.js';

/** Which statistic, of which columns, with which mechanism and target. */
export interface StatisticOptions
  extends Omit<MechanismOptions, 'clipNorm'>,
    Pick<PrefixSumOptions, 'insecureSeed'> {
  /** 'moments': count, means and variances, and covariances if they are asked for. */
  statistic: 'moments';
  /**
   * Lowest and highest value of each number of a record. Numbers beyond are clipped. Public: do not
   * read them off the data.
   */
  ranges: readonly (readonly [low: number, high: number])[];
  /** Whether there are covariances, too. Default: no; they cost the variances some precision. */
  covariance?: boolean;
  /** Confidence of each interval by itself, between 0 and 1. Default 0.95. */
  confidence?: number;
}

export interface StatisticLedgerOptions extends StatisticOptions {
  store: ReleaseStore;
}

/** A number with noise. */
export interface Estimate {
  value: number;
  /**
   * Ends of an interval that contains the number without noise with the `confidence` that was asked
   * for, whatever the records are, if there is one at all. It is about the records that were given:
   * not about those they may be a sample of.
   */
  low: number;
  high: number;
  /** Predicted standard deviation of the noise in `value`; of quotients to first order. */
  stddev: number;
}

/** Moments of all records so far, clipped to their ranges; of a window's with `workload: {window}`. */
export interface Moments {
  count: Estimate;
  /** One a number of a record. */
  mean: Estimate[];
  /** Mean squared distances from the mean. */
  variance: Estimate[];
  /** `covariance[i][j]`, where they were asked for; `covariance[i][i]` is the variance. */
  covariance?: Estimate[][];
}

interface StatisticFacts {
  /**
   * Claim of all releases together. For 'zero-out' a record may be there or not, for 'replace-one' be
   * another one or not there; `clipNorm` is the largest distance of what it becomes, or half of it.
   */
  readonly certificate: Certificate;
  /** Numbers of a record. */
  readonly dimension: number;
  readonly numSteps: number;
  /** A fixed seed was given: nothing is private, whatever the certificate says. */
  readonly insecure: boolean;
  /** Predicted std of the noise of `count` at a 0-based step. */
  stddev(step: number): number;
}

/** A private statistic of a stream of records. */
export interface Statistic extends Handle, StatisticFacts {
  /** Number of releases already made. */
  readonly step: number;
  /** Takes one record as a step. */
  release(record: ArrayLike<number>): Moments;
  /**
   * Takes `records.length / dimension` records, a step each. If one is refused, none is taken; the
   * error of a step beyond the horizon has `released`, what came before it.
   */
  releaseMany(records: ArrayLike<number>): Moments[];
  /**
   * Adds records to the open step, which `endSteps` ends: all or none. A user is protected who has
   * no more than one record in a step, and only in steps that `participation` allows: the caller
   * has to ensure that.
   */
  contribute(records: ArrayLike<number>): void;
  /** Ends the open step, then `numSteps - 1` further ones without any record. Default: one step. */
  endSteps(numSteps?: number): Moments[];
}

/** The same, surviving restarts: each step is released for one set of records, ever. */
export interface StatisticLedger extends Handle, StatisticFacts {
  /** The next step that has no release yet. */
  readonly step: number;
  /** As `release` of a `ReleaseLedger`. */
  release(step: number, record: ArrayLike<number>): Promise<Moments>;
  releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Moments[]>;
  /** Releases steps with any number of records each, as of a `ReleaseLedger`. */
  releaseSteps(
    firstStep: number,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array,
  ): Promise<Moments[]>;
  readonly memo: Uint8Array | undefined;
  readonly identity: string;
}
