// SPDX-License-Identifier: Apache-2.0

// Linear queries on a histogram, and private choices.

import type { Handle } from './instance.js';
import type { Search } from './search.js';
import type { Neighbours } from './privacy.js';

/** Linear queries on a histogram over values 0 .. m - 1. */
export type QueryWorkload =
  /** The count of each of `identity` values. */
  | { identity: number }
  /** For every v, the number of records with a value of at most v. */
  | { prefix: number }
  /**
   * For all i <= j, the number of records with a value from i to j. Up to 2048 values; with
   * objective 'max', up to 361.
   */
  | { ranges: number }
  /** All marginal tables of `order` attributes; `marginals` lists the sizes of the attributes. */
  | { marginals: ArrayLike<number>; order: number }
  /** Parities of `order` out of `parities` bits: sums of 1 and -1. */
  | { parities: number; order: number; withLowerOrders?: boolean }
  /** Arbitrary queries, one per row. */
  | { matrix: readonly ArrayLike<number>[] }
  /**
   * Every combination of one query per part, where each part queries one attribute. Values are
   * numbered with the first attribute varying slowest. At most three parts.
   */
  | { product: readonly QueryWorkload[] }
  /** The queries of all parts, on the same values. */
  | { union: readonly QueryWorkload[] };

/**
 * Measurements of your own: F = R M, with as many rows of M as you like. The sensitivity is exact
 * for M, whose rows are scaled together and rounded to integers of 24 bits. If rounding makes R M
 * differ from F, further rows measure the difference coarsely; an M whose entries have few binary
 * digits is not changed by rounding and needs no further rows.
 */
export interface OwnMeasurements {
  /** Rows of M, one number for each value. */
  measure: readonly ArrayLike<number>[];
  /**
   * Rows of R, one for each query, one number for each row of M; R M must be F to 1e-6 of its
   * largest entry. Default: F M^+, which has the least error with this M.
   */
  reconstruct?: readonly ArrayLike<number>[];
}

export interface LinearQueriesOptions {
  workload: QueryWorkload;
  /** > 0. */
  epsilon: number;
  /** Below 1; 0 means pure differential privacy, by Laplace noise. */
  delta: number;
  /**
   * 'zero-out' (default): one record is added or removed. 'replace-one': one record has another
   * value; the number of records is then public, answers reveal it exactly, and the other answers
   * are more accurate.
   */
  neighbours?: Neighbours;
  /**
   * Largest number of records of one person in a histogram; the privacy unit is then a person. The
   * caller must ensure that no person has more. Default 1, and always 1 with 'replace-one',
   * where the total number of records is public and would reveal how many records a person has.
   */
  maxContributions?: number;
  /**
   * Measurements to make. 'optimal' (default): the measurements with the least error, with a proof
   * for Gaussian noise; for Laplace noise (delta 0), the best of several known to be good. Or
   * measurements of your own.
   */
  measurements?: 'optimal' | 'identity' | 'queries' | OwnMeasurements;
  /**
   * Error to minimise: the RMS error ('mean', the default; certified to 1e-6) or the largest error
   * ('max', to 1e-4). With 'replace-one', both are certified to 1e-4.
   */
  objective?: 'mean' | 'max';
}

export interface QueryReleaseOptions {
  /**
   * Replaces the answers by the answers of the nearest histogram without negative counts
   * (post-processing). Default false.
   */
  consistent?: boolean;
  /** With `consistent`: the counts of the histogram are integers. */
  integer?: boolean;
  /**
   * With `consistent` and 'replace-one': sum of the counts. Default: the sum implied by the
   * measurements.
   */
  total?: number;
  /** Fixed seed of the noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface QueryAnswers {
  /** One answer per query. */
  answers: Float64Array;
  /** With `consistent`: the histogram with these answers. */
  histogram?: Float64Array;
  insecure: boolean;
}

/**
 * The factorization mechanism F = R M: measurements M h get integer noise, and R maps them to
 * answers.
 */
export interface LinearQueries extends Handle {
  readonly numQueries: number;
  readonly numValues: number;
  readonly numMeasurements: number;
  readonly neighbours: Neighbours;
  readonly noise: 'gaussian' | 'laplace';
  /**
   * mu of Gaussian differential privacy; with Laplace noise, the mu that `calibrate` gives with
   * delta 0.
   */
  readonly mu: number;
  /**
   * Error, as named by `objective`, with noise whose std is the distance by which one record moves
   * the measurements (in l2 for Gaussian, in l1 for Laplace noise).
   */
  readonly unitError: number;
  /** Certified lower bound on this error of ANY factorization. */
  readonly lowerBound: number;
  /**
   * unitError / lowerBound, barely above 1 for 'optimal'. With Laplace noise the bound is the one
   * for the l2 norm; with 'replace-one' and more than 512 values it is not tight (1.05 to 2).
   */
  readonly ratio: number;
  /** Textbook bound on the sensitivity, divided by the bound used here. */
  readonly textbookRatio: number;
  /**
   * Standard errors of the answers, one per query, before `consistent` is applied; 0 for public
   * answers.
   */
  readonly standardErrors: Float64Array;
  /** Describes query number `query`. */
  label(query: number): string;
  /** Describes all queries. */
  labels(): string[];
  /** Lower bounds for mechanisms that need not be factorizations, at the same privacy. */
  bounds(): QueryBounds;
  /** F, R and M, up to 2^25 entries each. */
  matrices(): QueryMatrices;
  /**
   * Answers the queries. Each call is a separate release with fresh noise, so privacy losses add
   * up.
   */
  release(histogram: ArrayLike<number>, options?: QueryReleaseOptions): QueryAnswers;
}

/** Lower bounds on errors, in counts, as named by `objective`. */
export interface QueryBounds {
  /** Bound for answers plus noise of any distribution that does not depend on the histogram. */
  addedNoise: number;
  /** Bound for unbiased mechanisms with any noise; null if delta > 0. */
  unbiased: number | null;
  /** Bound for every mechanism, at its worst histogram; null if delta > 0 or with 'replace-one'. */
  every: number | null;
}

/** F = R M, row-major, scaled so that one record moves the measurements by at most 1. */
export interface QueryMatrices {
  numQueries: number;
  numValues: number;
  numMeasurements: number;
  /** F, numQueries x numValues. */
  queries: Float64Array;
  /** R, numQueries x numMeasurements. */
  decoder: Float64Array;
  /** M, numMeasurements x numValues. */
  encoder: Float64Array;
}

export interface ChooseOptions {
  /** Utility of each candidate: integers below 2^53 in magnitude, up to 2^24 of them. */
  utilities: ArrayLike<number>;
  /**
   * Upper bound, below 2^31, on the difference of one utility between neighbouring data sets. The
   * guarantee rests on it, and the library cannot check it.
   */
  sensitivity: number;
  /**
   * True if all utilities change in the same direction between neighbours, as counts do when one
   * record is added or removed. This doubles the precision at the same epsilon. Default false.
   */
  monotone?: boolean;
  /** 2^-30 .. 2^20. */
  epsilon: number;
  /** Fixed seed of the noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface RandomizedResponseOptions {
  /** The secret bit. */
  bit: boolean;
  /** 2^-31 .. 2^19. */
  epsilon: number;
  /** Fixed seed of the noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface EstimateCountOptions {
  /** Reports that were true. */
  ones: number;
  /** Total number of reports, up to 2^53. */
  reports: number;
  /** Epsilon that the reports were made with: 2^-31 .. 2^19. */
  epsilon: number;
}

/** An estimate of how many bits are true. */
export interface EstimatedCount {
  /** Unbiased estimate; may lie outside 0 .. `reports`. */
  count: number;
  /** Standard deviation of the count, independent of the bits. */
  stddev: number;
}

export interface WinnerOptions {
  /** Counts, one per value. */
  histogram: ArrayLike<number>;
  /** 2^-30 .. 2^20. */
  epsilon: number;
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
  /**
   * Largest number of records of one person in a histogram; the privacy unit is then a person. The
   * caller must ensure that no person has more. Default 1.
   */
  maxContributions?: number;
  /** Fixed seed of the noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface QuantileOptions extends WinnerOptions {
  /** Quantile as a fraction: [1, 2] is the median. */
  quantile: readonly [numerator: number, denominator: number];
}

/** Answers about one table: linear queries and choices. */
export interface Queries {
  /**
   * Creates a search for a mechanism that answers many counting queries on one histogram, with
   * noise correlated optimally for them, and with a certified lower bound on the least error.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const ranges = dp.queries.linear({ workload: { ranges: 8 }, epsilon: 1, delta: 1e-6 }).result();
   * const { answers } = ranges.release([12, 30, 7, 0, 4, 9, 22, 5]);
   * console.log(ranges.label(1), answers[1], ranges.standardErrors[1], ranges.ratio);
   * ranges.dispose();
   * ```
   */
  linear(options: LinearQueriesOptions): Search<LinearQueries>;
  /**
   * Returns the index of a candidate with approximately the highest utility, by the exponential
   * mechanism, which is epsilon-differentially private. The probability of candidate i is exactly
   * proportional to exp(epsilon utilities[i] / (2 sensitivity)), without the 2 if `monotone`. The
   * running time depends on the utilities, so do not let anyone measure it.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const satisfied = [4210, 4350, 3900]; // users by price; one user moves each by at most 1
   * console.log(dp.queries.choose({ utilities: satisfied, sensitivity: 1, monotone: true, epsilon: 1 }));
   * ```
   */
  choose(options: ChooseOptions): number;
  /**
   * Returns a value with approximately the most records, by the exponential mechanism, which is
   * epsilon-differentially private. The running time depends on the counts, so do not let anyone
   * measure it.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * console.log(dp.queries.winner({ histogram: [120, 310, 70], epsilon: 0.5 })); // 1, nearly always
   * ```
   */
  winner(options: WinnerOptions): number;
  /**
   * Returns a value near a quantile of the records, by the exponential mechanism as in `winner`.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const histogram = [20, 90, 300, 80, 10];
   * console.log(dp.queries.quantile({ histogram, quantile: [1, 2], epsilon: 0.5 })); // 2, nearly always
   * ```
   */
  quantile(options: QuantileOptions): number;
  /**
   * Returns the bit with probability e^epsilon / (1 + e^epsilon), else its complement:
   * epsilon-differentially private against everyone who sees the report, including the collector.
   * The distribution is exact. The running time depends on the report, so send it at a fixed time.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * let ones = 0;
   * for (let i = 0; i < 1000; i++) ones += dp.queries.randomizedResponse({ bit: i < 300, epsilon: 2 });
   * const { count, stddev } = dp.queries.estimateCount({ ones, reports: 1000, epsilon: 2 });
   * console.log(count, stddev); // about 300, 13.4
   * ```
   */
  randomizedResponse(options: RandomizedResponseOptions): boolean;
  /** Estimates the number of true bits from reports of `randomizedResponse`. */
  estimateCount(options: EstimateCountOptions): EstimatedCount;
}
