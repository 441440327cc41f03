// SPDX-License-Identifier: Apache-2.0

// Private statistics of a stream: moments, histograms, and sums of several workloads.

import type { Certificate } from './certificate.js';
import type { Handle } from './instance.js';
import type { PeopleLedger, PeopleLedgerOptions, StoreOptions } from './ledger.js';
import type { MechanismName, MechanismOptions, Workload } from './mechanism.js';
import type { StrategyParameters } from './streams/options.js';
import type { PrefixSumOptions } from './sums.js';
import type { SimultaneousError, UnitError, UnitErrorOptions } from './unit-error.js';

interface CommonOptions
  extends Omit<MechanismOptions, 'clipNorm'>,
    Pick<PrefixSumOptions, 'insecureSeed'> {
  /** Confidence level of each single interval, between 0 and 1. Default 0.95. */
  confidence?: number;
}

interface RecordOptions extends CommonOptions {
  /**
   * With 'replace-one': promises that times are public, so that a record is only replaced by others
   * of its own step. Estimates are then more precise, but if neighbours differ in when a record is,
   * they are told apart more easily than the certificate says. Default false: a record may be
   * replaced by one of any step.
   */
  fixedTimes?: boolean;
}

/** Options of private moments: columns, mechanism and privacy target. */
export interface StatisticOptions extends RecordOptions {
  /** 'moments': count, means and variances, and covariances if requested. */
  statistic: 'moments';
  /**
   * Lowest and highest value of each number of a record; numbers outside are clipped. Public: do
   * not derive them from the data.
   */
  ranges: readonly (readonly [low: number, high: number])[];
  /** Whether to include covariances, which costs the variances some precision. Default false. */
  covariance?: boolean;
}

/** Options of a private histogram: categories, mechanism and privacy target. */
export interface HistogramOptions extends RecordOptions {
  /** 'histogram': counts of categories, their total and shares. */
  statistic: 'histogram';
  /** All categories, up to 65,536. Public: do not derive them from the data. */
  categories: readonly string[];
  /**
   * Category, among `categories`, that counts records outside of them. By default those are
   * refused.
   */
  other?: string;
  /**
   * Whether the total number of records is measured, too: `total` is then more precise by about the
   * fourth root of the number of categories, and counts less precise by up to 7.1 %. Default false.
   * With `fixedTimes` it is always measured, at no cost.
   */
  total?: boolean;
}

/** Options of private sums: workloads, mechanism and privacy target. */
export interface SumsOptions extends Omit<CommonOptions, 'workload'> {
  /** 'sums': sums of several workloads of the same records. */
  statistic: 'sums';
  /**
   * Up to 64 workloads, such as `['prefix', { window: 7 }]`. One privacy budget covers all of them.
   */
  workloads: readonly Workload[];
  /**
   * Positive weights of the workloads' squared errors in the mean that is minimised, one per
   * workload; only their ratios matter. Default: equal.
   */
  importance?: ArrayLike<number>;
  /** Number of entries of a record. Default 1. */
  dimension?: number;
  /** Norm to which a record is clipped. Default 1. */
  clipNorm?: number;
}

export interface StatisticLedgerOptions extends StatisticOptions, StoreOptions {}

export interface HistogramLedgerOptions extends HistogramOptions, StoreOptions {}

export interface SumsLedgerOptions extends SumsOptions, StoreOptions {}

export interface PeopleStatisticLedgerOptions
  extends StatisticLedgerOptions,
    Pick<PeopleLedgerOptions, 'durable' | 'userNumbers'> {}

export interface PeopleHistogramLedgerOptions
  extends HistogramLedgerOptions,
    Pick<PeopleLedgerOptions, 'durable' | 'userNumbers'> {}

export interface PeopleSumsLedgerOptions
  extends SumsLedgerOptions,
    Pick<PeopleLedgerOptions, 'durable' | 'userNumbers'> {}

/** A noisy estimate of a number, with an interval. */
export interface Estimate {
  value: number;
  /**
   * Ends of an interval that contains the noiseless number, if it exists, with the requested
   * `confidence` for any records. It refers to the given records, not to a population they may be
   * sampled from.
   */
  low: number;
  high: number;
  /** Predicted standard deviation of the noise in `value`; for quotients, to first order. */
  stddev: number;
}

/**
 * Moments of all records so far, or of a window's with `workload: {window}`, clipped to their
 * ranges.
 */
export interface Moments {
  count: Estimate;
  /** One estimate per number of a record. */
  mean: Estimate[];
  /** Mean squared deviations from the mean. */
  variance: Estimate[];
  /** Square roots of the variances and of their `low` and `high`; `value` is biased. */
  standardDeviation: Estimate[];
  /** `covariance[i][j]`, if requested; `covariance[i][i]` is the variance. */
  covariance?: Estimate[][];
}

/** Sums of all workloads after a step. */
export interface StackedSums {
  /**
   * `sum[i][j]` is the sum of workload i over entry j of the records. `low` and `high` refer to the
   * records as they are summed: clipped, and on the grid.
   */
  sum: Estimate[][];
}

/** Errors of one of several workloads, at noise multiplier 1 and clip norm 1. */
export interface WorkloadError {
  /** 'prefix', 'window=7', 'momentum=0,decay=0.9', ... */
  workload: string;
  /** Largest standard deviation over the steps. */
  maxError: number;
  /** RMS error over the steps. */
  meanError: number;
}

/** Counts of all records so far, or of a window's with `workload: {window}`. */
export interface Histogram {
  /** One estimate per category, in order. Unbiased, so counts may be negative and may decrease. */
  count: Estimate[];
  /** Total number of records; its value is the sum of the counts. */
  total: Estimate;
  /** Counts divided by the total, from 0 to 1. */
  share: Estimate[];
}

/**
 * Method of making counts consistent. 'non-negative' sets negative counts to 0; 'monotone' replaces
 * the counts of all steps by the closest ones that are non-negative and never decrease.
 */
export type CountPostProcessing = 'non-negative' | 'monotone';

/** Counts of a step after post-processing: never farther from the truth, but biased. */
export interface ConsistentCounts {
  postProcessing: CountPostProcessing;
  /** One per category. */
  count: number[];
  /** Sum of these counts, whose biases add up; the `total` of the histogram is unbiased. */
  total: number;
}

interface StatisticFacts {
  /**
   * Claim for all releases together. Neighbours differ in one record, which is present or absent
   * for 'zero-out', and may also be another record, of any step, for 'replace-one' (of its own step
   * with `fixedTimes`). `clipNorm` is the largest distance between the summed values of
   * neighbouring records of a step, or half of it for 'replace-one'.
   */
  readonly certificate: Certificate;
  /** Number of entries of a record, or of categories. */
  readonly dimension: number;
  readonly numSteps: number;
  /** True if a fixed seed was given: nothing is then private, even if the certificate says so. */
  readonly insecure: boolean;
  /**
   * Returns the predicted std of the noise of `count` (of each count of a histogram) at a 0-based
   * step.
   */
  stddev(step: number): number;
}

interface HistogramFacts {
  readonly categories: readonly string[];
  /**
   * Makes counts consistent by post-processing, which costs no privacy. 'monotone' requires all
   * steps from the first on, and no window. Setting negative counts to 0 moves no count farther
   * from the truth; 'monotone' increases neither the sum of squared errors of a category nor its
   * largest error. The results are biased, and `stddev`, `low` and `high` do not apply to them.
   */
  consistentCounts(
    histograms: readonly Histogram[],
    postProcessing: CountPostProcessing,
  ): ConsistentCounts[];
}

interface SumsFacts {
  /**
   * Errors of each workload. The errors in the certificate are over all workloads: `maxError` is
   * the largest, `meanError` the root of the mean of the squares, weighted by `importance`.
   */
  readonly workloads: readonly WorkloadError[];
  /**
   * Returns a lower bound on the `meanError` of the certificate for every factorization. Takes a
   * moment to compute.
   */
  lowerBound(): number;
  /** Returns the predicted std of the sums of the workload with this index, at a 0-based step. */
  stddev(step: number, workload?: number): number;
}

/** A private statistic of a stream of records. */
export interface Statistic<One = ArrayLike<number>, Many = ArrayLike<number>, Reading = Moments>
  extends Handle,
    StatisticFacts {
  /** Number of releases already made. */
  readonly step: number;
  /** Takes one record as a step, and returns the statistic after it. */
  release(record: One): Reading;
  /**
   * Takes several records as one step each; records of numbers are concatenated. If one is refused,
   * none is taken. If a step is beyond the horizon, the error's `released` holds the readings
   * before it.
   */
  releaseMany(records: Many): Reading[];
  /**
   * Adds records to the open step, which `endSteps` ends; adds all or none. A user is protected who
   * has at most one record per step, and only in steps that `participation` allows; the caller must
   * ensure this.
   */
  contribute(records: Many): void;
  /** Ends the open step, then `numSteps - 1` further ones without records. Default: one step. */
  endSteps(numSteps?: number): Reading[];
}

/** Private counts of categories; a record is the name of a category. */
export interface HistogramStatistic
  extends Statistic<string, readonly string[], Histogram>,
    HistogramFacts {}

/** Private sums of several workloads of one stream, with one privacy budget and one noise. */
export interface SumsStatistic
  extends Omit<Statistic<ArrayLike<number>, ArrayLike<number>, StackedSums>, 'stddev'>,
    SumsFacts {}

/**
 * A private statistic of people's records, whose privacy unit is a person, not a record. Each
 * person's earliest records that satisfy `participation` count, and of several in one step only the
 * first (for 'sums' all of them, added up and clipped together, as in a `PeopleSum`).
 * `participation` must be 'single' or `participations` with `minSeparation`.
 */
export interface PeopleStatistic<Many = ArrayLike<number>, Reading = Moments>
  extends Handle,
    StatisticFacts {
  /** Number of releases already made. */
  readonly step: number;
  /** Number of records so far that did not count. It depends on the data: NOT private. */
  readonly numDropped: number;
  /**
   * Adds records, each with the person it is from, to the open step, which `endSteps` ends; adds
   * all or none.
   */
  contribute(people: string | ArrayLike<string>, records: Many): void;
  /**
   * Takes every record as one step, and returns readings as `endSteps` does. Fails as `releaseMany`
   * does.
   */
  releaseEach(people: ArrayLike<string>, records: Many): Reading[];
  /** Ends the open step, then `numSteps - 1` further ones without records. Default: one step. */
  endSteps(numSteps?: number): Reading[];
}

/** Private counts of the categories of people's records. */
export interface PeopleHistogram
  extends PeopleStatistic<readonly string[], Histogram>,
    HistogramFacts {}

/** Private sums of several workloads of people's records. */
export interface PeopleStackedSums
  extends Omit<PeopleStatistic<ArrayLike<number>, StackedSums>, 'stddev'>,
    SumsFacts {}

/**
 * A private statistic that survives restarts: each step is only ever released for one set of
 * records.
 */
export interface StatisticLedger<
  One = ArrayLike<number>,
  Many = ArrayLike<number>,
  Reading = Moments,
> extends Handle,
    StatisticFacts {
  /** Index of the next step to be released. */
  readonly step: number;
  /** As `ReleaseLedger.release`. */
  release(record: One): Promise<Reading>;
  release(step: number | undefined, record: One): Promise<Reading>;
  releaseMany(records: Many): Promise<Reading[]>;
  releaseMany(firstStep: number | undefined, records: Many): Promise<Reading[]>;
  /** Releases steps with any number of records each, as `ReleaseLedger.releaseSteps`. */
  releaseSteps(steps: readonly Many[], memo?: Uint8Array | undefined): Promise<Reading[]>;
  releaseSteps(
    firstStep: number | undefined,
    steps: readonly Many[],
    memo?: Uint8Array | undefined,
  ): Promise<Reading[]>;
  readonly memo: Uint8Array | undefined;
  readonly identity: string;
}

/** Private counts of categories that survive restarts. */
export interface HistogramLedger
  extends StatisticLedger<string, readonly string[], Histogram>,
    HistogramFacts {}

/** Private sums of several workloads that survive restarts. */
export interface SumsLedger
  extends Omit<StatisticLedger<ArrayLike<number>, ArrayLike<number>, StackedSums>, 'stddev'>,
    SumsFacts {}

/**
 * A private statistic of people's records that survives restarts. Records count as in a
 * `PeopleStatistic`, across restarts, and each step has only one release, ever.
 */
export interface PeopleStatisticLedger<Many = ArrayLike<number>, Reading = Moments>
  extends Handle,
    StatisticFacts,
    Pick<PeopleLedger, 'step' | 'numContributions' | 'numDropped' | 'identity'> {
  /**
   * Adds records, each with the person it is from, to the open step; adds all or none. The store
   * holds a keyed code of each name, and the values that a person's records in the open step add to
   * the sums, 8 bytes per summed number.
   */
  contribute(people: string | ArrayLike<string>, records: Many): Promise<void>;
  /** As `PeopleLedger.release`. */
  release(step?: number): Promise<Reading>;
  releaseMany(numSteps: number): Promise<Reading[]>;
  releaseMany(firstStep: number | undefined, numSteps: number): Promise<Reading[]>;
}

/** Private counts of the categories of people's records that survive restarts. */
export interface PeopleHistogramLedger
  extends PeopleStatisticLedger<readonly string[], Histogram>,
    HistogramFacts {}

/** Private sums of several workloads of people's records that survive restarts. */
export interface PeopleSumsLedger
  extends Omit<PeopleStatisticLedger<ArrayLike<number>, StackedSums>, 'stddev'>,
    SumsFacts {}

/** Options of `error` for several workloads with one noise. */
export interface StackErrorOptions
  extends Omit<UnitErrorOptions, 'workload' | 'strategy' | 'numPaths' | 'seed'> {
  /**
   * Up to 64 workloads, released together from one noise, as by `statistic({ statistic: 'sums' })`.
   */
  workloads: readonly Workload[];
  /** Weights of the workloads' squared errors in the mean that is minimised. Default: equal. */
  importance?: ArrayLike<number>;
  /** Default: that of `sums`. */
  strategy?: MechanismName | StrategyParameters;
}

/**
 * Errors of one of several workloads; with `beta`, bounds that hold together with those of all
 * others.
 */
export interface WorkloadErrorTogether extends WorkloadError {
  /** Upper bound on the error of every entry at every step. */
  simultaneousError?: number;
  simultaneousMethod?: SimultaneousError['simultaneousMethod'];
  /** Upper bound on the l2-norm of the error at every step. */
  simultaneousNorm?: number;
}

/**
 * Errors of several workloads of one stream with one noise, at unit noise multiplier. With `beta`
 * every workload has its own bounds; those of all workloads hold together at all steps with
 * probability at least 1 - beta (and so do the norms).
 */
export interface StackError
  extends Omit<
    UnitError,
    | keyof SimultaneousError
    | ('boundMethod' | 'lowerBoundMinDimension' | 'lowerBoundEveryDimension')
    | ('decoderResidual' | 'residualSteps' | 'raisedByNormalizing' | 'lowerBound')
  > {
  /**
   * Lower bound on the weighted mean error, for every factorization and records of every dimension.
   */
  lowerBound: number;
  objective: 'mean';
  /**
   * Errors of the workloads, in the given order; `maxError` of this object is the largest of
   * theirs.
   */
  workloads: WorkloadErrorTogether[];
  beta?: number;
  dimension?: number;
}
