// SPDX-License-Identifier: Apache-2.0

// Private statistics of a stream that are more than one total.

import type { Certificate } from './certificate.js';
import type { Handle } from './instance.js';
import type { PeopleLedger, PeopleLedgerOptions, ReleaseStore } from './ledger.js';
import type { MechanismName, MechanismOptions, Workload } from './mechanism.js';
import type { PrefixSumOptions } from './sums.js';
import type { SimultaneousError, UnitError, UnitErrorOptions } from './unit-error.js';

interface CommonOptions
  extends Omit<MechanismOptions, 'clipNorm'>,
    Pick<PrefixSumOptions, 'insecureSeed'> {
  /** Confidence of each interval by itself, between 0 and 1. Default 0.95. */
  confidence?: number;
}

/** Moments of which columns, with which mechanism and target. */
export interface StatisticOptions extends CommonOptions {
  /** 'moments': count, means and variances, and covariances if they are asked for. */
  statistic: 'moments';
  /**
   * Lowest and highest value of each number of a record. Numbers beyond are clipped. Public: do not
   * read them off the data.
   */
  ranges: readonly (readonly [low: number, high: number])[];
  /** Whether there are covariances, too. Default: no; they cost the variances some precision. */
  covariance?: boolean;
}

/** Counts of which categories, with which mechanism and target. */
export interface HistogramOptions extends CommonOptions {
  /** 'histogram': counts of categories, their total and shares. */
  statistic: 'histogram';
  /** All categories, up to 65,536. Public: do not read them off the data. */
  categories: readonly string[];
  /** The category of `categories` that counts what is outside of them. Default: that is refused. */
  other?: string;
  /**
   * Whether the number of all records is measured, too: then `total` is more precise by about the
   * fourth root of the number of categories, and counts less precise by up to 7.1 %. Default: no.
   * With 'replace-one' it always is, and costs nothing.
   */
  total?: boolean;
}

/** Sums of which workloads, with which mechanism and target. */
export interface SumsOptions extends Omit<CommonOptions, 'workload'> {
  /** 'sums': sums of several workloads of the same records. */
  statistic: 'sums';
  /** Up to 64 of them, such as `['prefix', { window: 7 }]`. One budget covers all. */
  workloads: readonly Workload[];
  /**
   * Weights of their squared errors in the mean that is made least, one a workload, positive; only
   * their ratios count. Default: equal.
   */
  importance?: ArrayLike<number>;
  /** Numbers of a record. Default 1. */
  dimension?: number;
  /** Norm to which a record is clipped. Default 1. */
  clipNorm?: number;
}

export interface StatisticLedgerOptions extends StatisticOptions {
  store: ReleaseStore;
}

export interface HistogramLedgerOptions extends HistogramOptions {
  store: ReleaseStore;
}

export interface SumsLedgerOptions extends SumsOptions {
  store: ReleaseStore;
}

export interface PeopleStatisticLedgerOptions
  extends StatisticLedgerOptions,
    Pick<PeopleLedgerOptions, 'durable'> {}

export interface PeopleHistogramLedgerOptions
  extends HistogramLedgerOptions,
    Pick<PeopleLedgerOptions, 'durable'> {}

export interface PeopleSumsLedgerOptions
  extends SumsLedgerOptions,
    Pick<PeopleLedgerOptions, 'durable'> {}

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
  /** Roots of the variances: `low` and `high` are theirs, `value` is not unbiased. */
  standardDeviation: Estimate[];
  /** `covariance[i][j]`, where they were asked for; `covariance[i][i]` is the variance. */
  covariance?: Estimate[][];
}

/** Sums of all workloads after a step. */
export interface StackedSums {
  /**
   * `sum[i][j]` is that of workload i and number j of the records. `low` and `high` are about records as
   * they are summed: clipped, and on the grid.
   */
  sum: Estimate[][];
}

/** Errors of a workload of several, at noise multiplier 1 and clip norm 1. */
export interface WorkloadError {
  /** 'prefix', 'window=7', 'momentum=0,decay=0.9', ... */
  workload: string;
  /** Largest standard deviation of a step. */
  maxError: number;
  /** Root mean square over the steps. */
  meanError: number;
}

/** Counts of all records so far; of a window's with `workload: {window}`. */
export interface Histogram {
  /** One a category, in their order. Unbiased, so that they may be negative, and fall. */
  count: Estimate[];
  /** The number of all records; its value is the sum of the counts. */
  total: Estimate;
  /** Counts by the total, from 0 to 1. */
  share: Estimate[];
}

/**
 * How counts are made consistent: negative ones become 0; or they become the closest numbers, of
 * all steps, that are not negative and never fall.
 */
export type CountPostProcessing = 'non-negative' | 'monotone';

/** Counts of a step after post-processing: never farther from the truth, but biased. */
export interface ConsistentCounts {
  postProcessing: CountPostProcessing;
  /** One a category. */
  count: number[];
  /** Sum of these counts, whose biases add up; the `total` of the histogram has none. */
  total: number;
}

interface StatisticFacts {
  /**
   * Claim of all releases together. For 'zero-out' a record may be there or not, for 'replace-one' be
   * another one or not there; `clipNorm` is the largest distance of what it becomes, or half of it.
   */
  readonly certificate: Certificate;
  /** Numbers of a record, or categories. */
  readonly dimension: number;
  readonly numSteps: number;
  /** A fixed seed was given: nothing is private, whatever the certificate says. */
  readonly insecure: boolean;
  /** Predicted std of the noise of `count`, of histograms of each, at a 0-based step. */
  stddev(step: number): number;
}

interface HistogramFacts {
  readonly categories: readonly string[];
  /**
   * Makes counts of steps consistent by post-processing, which costs no privacy: 'monotone' for all
   * steps from the first on, where there is no window. No count that is cut at 0 is farther from
   * the truth than before; of monotone ones neither the sum of squared errors of a category nor its
   * largest error is more. They are biased: `stddev`, `low` and `high` are not about them.
   */
  consistentCounts(
    histograms: readonly Histogram[],
    postProcessing: CountPostProcessing,
  ): ConsistentCounts[];
}

interface SumsFacts {
  /**
   * Errors of each workload. Those of the certificate are of all of them: `maxError` the largest,
   * `meanError` the root of the mean of the squares, weighted by `importance`.
   */
  readonly workloads: readonly WorkloadError[];
  /** Lower bound on the `meanError` of the certificate, for every factorization. Takes a moment. */
  lowerBound(): number;
  /** Predicted std of the sums of a workload, by its index, at a 0-based step. */
  stddev(step: number, workload?: number): number;
}

/** A private statistic of a stream of records. */
export interface Statistic<One = ArrayLike<number>, Many = ArrayLike<number>, Reading = Moments>
  extends Handle,
    StatisticFacts {
  /** Number of releases already made. */
  readonly step: number;
  /** Takes one record as a step. */
  release(record: One): Reading;
  /**
   * Takes several records, a step each; those of numbers stand one after the other. If one is
   * refused, none is taken; the error of a step beyond the horizon has `released`, what came before
   * it.
   */
  releaseMany(records: Many): Reading[];
  /**
   * Adds records to the open step, which `endSteps` ends: all or none. A user is protected who has
   * no more than one record in a step, and only in steps that `participation` allows: the caller
   * has to ensure that.
   */
  contribute(records: Many): void;
  /** Ends the open step, then `numSteps - 1` further ones without any record. Default: one step. */
  endSteps(numSteps?: number): Reading[];
}

/** Private counts of categories; a record is the name of one. */
export interface HistogramStatistic
  extends Statistic<string, readonly string[], Histogram>,
    HistogramFacts {}

/** Private sums of several workloads of one stream, of one budget and one noise. */
export interface SumsStatistic
  extends Omit<Statistic<ArrayLike<number>, ArrayLike<number>, StackedSums>, 'stddev'>,
    SumsFacts {}

/**
 * A private statistic of people's records. Each person's earliest records that keep `participation`
 * count, and of several to one step the first (for 'sums' all of them, added up and clipped together,
 * as in a `PeopleSum`); `participation` must be 'single' or `participations`
 * with `minSeparation`. So the privacy unit is a person, not a record.
 */
export interface PeopleStatistic<Many = ArrayLike<number>, Reading = Moments>
  extends Handle,
    StatisticFacts {
  /** Number of releases already made. */
  readonly step: number;
  /** Number of records so far that did not count. It depends on the data: NOT private. */
  readonly numDropped: number;
  /** Adds records to the open step, which `endSteps` ends, with the person each is from: all or none. */
  contribute(people: string | ArrayLike<string>, records: Many): void;
  /** Makes every record a step, and returns what `endSteps` returns; errors are as of `releaseMany`. */
  releaseEach(people: ArrayLike<string>, records: Many): Reading[];
  /** Ends the open step, then `numSteps - 1` further ones without any record. Default: one step. */
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

/** A private statistic that survives restarts: each step is released for one set of records, ever. */
export interface StatisticLedger<
  One = ArrayLike<number>,
  Many = ArrayLike<number>,
  Reading = Moments,
> extends Handle,
    StatisticFacts {
  /** The next step that has no release yet. */
  readonly step: number;
  /** As `release` of a `ReleaseLedger`. */
  release(step: number, record: One): Promise<Reading>;
  releaseMany(firstStep: number, records: Many): Promise<Reading[]>;
  /** Releases steps with any number of records each, as of a `ReleaseLedger`. */
  releaseSteps(
    firstStep: number,
    steps: readonly Many[],
    memo?: Uint8Array,
  ): Promise<Reading[]>;
  readonly memo: Uint8Array | undefined;
  readonly identity: string;
}

/** Private counts of categories, surviving restarts. */
export interface HistogramLedger
  extends StatisticLedger<string, readonly string[], Histogram>,
    HistogramFacts {}

/** Private sums of several workloads, surviving restarts. */
export interface SumsLedger
  extends Omit<StatisticLedger<ArrayLike<number>, ArrayLike<number>, StackedSums>, 'stddev'>,
    SumsFacts {}

/**
 * A private statistic of people's records that survives restarts: records count as those of a
 * `PeopleStatistic`, over all of them, and each step has one release, ever.
 */
export interface PeopleStatisticLedger<Many = ArrayLike<number>, Reading = Moments>
  extends Handle,
    StatisticFacts,
    Pick<PeopleLedger, 'step' | 'numContributions' | 'numDropped' | 'identity'> {
  /**
   * Adds records to the open step, with the person each is from: all or none. The store has a keyed
   * code of each name, and what a person's records to the open step become: 8 bytes for each
   * number that is summed.
   */
  contribute(people: string | ArrayLike<string>, records: Many): Promise<void>;
  /** As `release` of a `PeopleLedger`. */
  release(step: number): Promise<Reading>;
  releaseMany(firstStep: number, numSteps: number): Promise<Reading[]>;
}

/** Private counts of the categories of people's records, surviving restarts. */
export interface PeopleHistogramLedger
  extends PeopleStatisticLedger<readonly string[], Histogram>,
    HistogramFacts {}

/** Private sums of several workloads of people's records, surviving restarts. */
export interface PeopleSumsLedger
  extends Omit<PeopleStatisticLedger<ArrayLike<number>, StackedSums>, 'stddev'>,
    SumsFacts {}

/** The workloads whose errors are asked for, and with which mechanism. */
export interface StackErrorOptions
  extends Omit<UnitErrorOptions, 'workload' | 'mechanism' | 'numPaths' | 'seed'> {
  /** Up to 64 of them, released together from one noise, as by `statistic({ statistic: 'sums' })`. */
  workloads: readonly Workload[];
  /** Weights of their squared errors in the mean that is made least. Default: equal. */
  importance?: ArrayLike<number>;
  /** Default: that of these statistics. */
  mechanism?: MechanismName;
}

/** Errors of one workload of several; with `beta`, what it keeps to while all others keep to theirs. */
export interface WorkloadErrorTogether extends WorkloadError {
  /** No entry of any step is further off: upper bound. */
  simultaneousError?: number;
  simultaneousMethod?: SimultaneousError['simultaneousMethod'];
  /** No step is further off in the l2-norm: upper bound. */
  simultaneousNorm?: number;
}

/**
 * Errors of several workloads of one stream with one noise, at unit noise multiplier. With `beta` every
 * workload has its own levels; all workloads keep to them together with probability at least 1 - beta,
 * at all steps (and so with the norms).
 */
export interface StackError
  extends Omit<
    UnitError,
    | keyof SimultaneousError
    | ('boundMethod' | 'lowerBoundMinDimension' | 'lowerBoundEveryDimension')
    | ('decoderResidual' | 'residualSteps' | 'raisedByNormalizing' | 'lowerBound')
  > {
  /** On the weighted mean error, for every factorization and records of every dimension. */
  lowerBound: number;
  objective: 'mean';
  /** In the order in which they were given; `maxError` above is the largest of theirs. */
  workloads: WorkloadErrorTogether[];
  beta?: number;
  dimension?: number;
}
