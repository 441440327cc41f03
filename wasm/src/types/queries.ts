// SPDX-License-Identifier: Apache-2.0

// Linear queries on a histogram, and choices from one.

import type { Handle } from './instance.js';
import type { OptimizeProgress } from './optimization.js';
import type { Neighbours } from './privacy.js';

/** Linear queries on a histogram over values 0 .. m - 1. */
export type QueryWorkload =
  /** The count of each of `identity` values. */
  | { identity: number }
  /** For every v, the number of records with a value of at most v. */
  | { prefix: number }
  /**
   * For all i <= j, the number of records with a value from i to j: up to 2048 values; objective
   * 'max': 361.
   */
  | { ranges: number }
  /** All marginal tables of `order` attributes; `marginals` lists the sizes of the attributes. */
  | { marginals: ArrayLike<number>; order: number }
  /** Parities of `order` out of `parities` bits: sums of 1 and -1. */
  | { parities: number; order: number; withLowerOrders?: boolean }
  /** Any queries, one a row. */
  | { matrix: readonly ArrayLike<number>[] }
  /**
   * Every query of one part on its attribute combined with every query of the next on the next; in
   * a value with several attributes the first counts slowest. At most three parts.
   */
  | { product: readonly QueryWorkload[] }
  /** The queries of all parts, on the same values. */
  | { union: readonly QueryWorkload[] };

export interface QueriesOptions {
  workload: QueryWorkload;
  /** > 0. */
  epsilon: number;
  /** Below 1. 0: pure differential privacy, by Laplace noise. */
  delta: number;
  /**
   * Default 'zero-out': one record more or less. 'replace-one': one record of another value; the
   * number of records is then public, answers reveal it exactly, and the other answers are more
   * accurate for it.
   */
  neighbours?: Neighbours;
  /**
   * Largest number of records of one person in a histogram: that person is then protected. The
   * caller has to ensure that no person has more. Default 1, and with 'replace-one' always 1:
   * persons can have different numbers of records, and the number of all records is public there.
   */
  maxContributions?: number;
  /**
   * Measurements to be made. Default 'optimal': those with the least error, for Gaussian noise with
   * a proof; for Laplace noise (delta 0) the best of several that are known to be good.
   */
  strategy?: 'optimal' | 'identity' | 'queries';
  /**
   * Least root mean square error ('mean', the default; certified to 1e-6) or least worst error
   * ('max', to 1e-4); with 'replace-one' both to 1e-4.
   */
  objective?: 'mean' | 'max';
}

export interface QueryReleaseOptions {
  /**
   * Gives the answers of the nearest histogram without negative counts: post-processing. Default
   * false.
   */
  consistent?: boolean;
  /** With `consistent`: the histogram has whole numbers. */
  integer?: boolean;
  /**
   * With `consistent` and 'replace-one': sum of the counts. By default the sum that the
   * measurements give.
   */
  total?: number;
  /** Fixed noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface QueryAnswers {
  /** One a query. */
  answers: Float64Array;
  /** With `consistent`: the histogram that has these answers. */
  histogram?: Float64Array;
  insecure: boolean;
}

/**
 * The factorization mechanism F = R M: measurements M h get integer noise, and R turns them into
 * answers.
 */
export interface Queries extends Handle {
  readonly numQueries: number;
  readonly numValues: number;
  readonly numMeasurements: number;
  readonly neighbours: Neighbours;
  readonly noise: 'gaussian' | 'laplace';
  /** mu of Gaussian differential privacy; for Laplace noise `pureMu(epsilon)`. */
  readonly mu: number;
  /**
   * Error at unit noise (std / distance by which one record moves the measurements, l2 for
   * Gaussian, l1 for Laplace noise), as `objective` measures it.
   */
  readonly unitError: number;
  /** Certified lower bound on this error of ANY factorization. */
  readonly lowerBound: number;
  /**
   * unitError / lowerBound: barely above 1 for 'optimal'. With Laplace noise the bound is that of
   * the l2 norm; with 'replace-one' and more than 512 values it is not tight (1.05 to 2).
   */
  readonly ratio: number;
  /** Textbook bound on the sensitivity / the bound used here. */
  readonly textbookRatio: number;
  /** Standard errors of the answers, one a query, before `consistent`. 0 for public answers. */
  readonly standardErrors: Float64Array;
  /** Returns a text that says what query number `query` asks. */
  label(query: number): string;
  /** Returns such a text for every query. */
  labels(): string[];
  /** Lower bounds for mechanisms that need not be factorizations, for the same privacy. */
  bounds(): QueryBounds;
  /** Returns F, R and M, up to 2^25 entries each. */
  matrices(): QueryMatrices;
  /** Answers the queries. Each call is a release with noise of its own: privacy losses add up. */
  release(histogram: ArrayLike<number>, options?: QueryReleaseOptions): QueryAnswers;
}

/** Lower bounds on errors in counts, as `objective` measures them. */
export interface QueryBounds {
  /** Answers plus noise of any law that does not depend on the histogram. */
  addedNoise: number;
  /** Any noise around the true answers as means; null with a delta. */
  unbiased: number | null;
  /** Every mechanism, at its worst histogram; null with a delta or with 'replace-one'. */
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

/** The search for the best measurements, piece by piece. */
export interface QuerySearch extends Handle {
  readonly progress: OptimizeProgress;
  readonly finished: boolean;
  /** Runs one piece: an eigendecomposition or a few. Returns false when nothing is left. */
  advance(): boolean;
  /** Does the rest of the search, and makes a new handle. */
  result(): Queries;
}

export interface ChooseOptions {
  /** Utility of each candidate: integers below 2^53 in magnitude, up to 2^24 of them. */
  utilities: ArrayLike<number>;
  /**
   * Upper bound on the difference of one utility between neighbouring data sets: below 2^31. The
   * guarantee rests on it, and nothing here can check it.
   */
  sensitivity: number;
  /**
   * Whether between neighbours all utilities change in the same direction, as counts do where one
   * record comes or goes: then twice the precision for the same epsilon. Default false.
   */
  monotone?: boolean;
  /** 2^-30 .. 2^20. */
  epsilon: number;
  /** Fixed noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface RandomizedResponseOptions {
  /** The secret. */
  bit: boolean;
  /** 2^-31 .. 2^19. */
  epsilon: number;
  /** Fixed noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface EstimateCountOptions {
  /** Reports that were true. */
  ones: number;
  /** Reports in all, up to 2^53. */
  reports: number;
  /** The one with which they were made: 2^-31 .. 2^19. */
  epsilon: number;
}

/** An estimate of how many bits are true. */
export interface EstimatedCount {
  /** Unbiased; may lie outside of 0 .. `reports`. */
  count: number;
  /** Standard deviation of the count, whatever the bits are. */
  stddev: number;
}

export interface WinnerOptions {
  /** Counts, one a value. */
  histogram: ArrayLike<number>;
  /** 2^-30 .. 2^20. */
  epsilon: number;
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
  /**
   * Largest number of records of one person in a histogram: that person is then protected. The
   * caller has to ensure that no person has more. Default 1.
   */
  maxContributions?: number;
  /** Fixed noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface QuantileOptions extends WinnerOptions {
  /** Quantile as a fraction: [1, 2] is the median. */
  quantile: readonly [numerator: number, denominator: number];
}
