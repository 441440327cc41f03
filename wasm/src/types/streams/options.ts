// SPDX-License-Identifier: Apache-2.0

// The options that streams share.

import type { MechanismName, MechanismParameters, SavedStrategy, Workload } from '../mechanism.js';
import type { LatticeNoise, Neighbours } from '../privacy.js';

/** Numbers of one record or, concatenated, of many. */
export type Row = ArrayLike<number>;

/** One T for each of your names: columns, categories or workloads. */
export type Named<K extends string, T> = Readonly<Record<K, T>>;

/** The guarantee for the whole stream. */
export interface PrivacyTarget {
  /** Privacy loss, above 0. Smaller is more private and noisier. */
  epsilon: number;
  /**
   * Slack of the guarantee, well below 1 / (number of people), such as 1e-6. With 0 it is pure
   * differential privacy: `clip` is an l1-norm, and Laplace noise is added on a tree, or to each
   * step with the workload `{ window: 1 }`. Counters and totals only.
   */
  delta: number;
}

/** In one step only; or in at most `times` steps, each `apart` or more after the one before. */
export type Bound = 'once' | { times: number; apart: number };

/** A strategy by name, and its parameters. A strategy refuses those that it does not have. */
export interface StrategyParameters extends MechanismParameters {
  name: MechanismName;
}

/** How noise is shared between steps: a name, a name with parameters, or a saved optimum. */
export type Strategy = MechanismName | StrategyParameters | SavedStrategy;

/**
 * Options that change the type of a stream. Leave them out or give them: they are never undefined.
 */
export type Axes<P, S, B> = Partial<{
  /**
   * Protects persons instead of records: each record names its person, and only the earliest steps
   * of a person that this bound allows count.
   */
  people: P;
  /** Keeps the stream in a store: it survives restarts, and its calls return promises. */
  store: S;
  /**
   * Charged once, when the stream is made and before its first reading. A stream that is reopened
   * from its store is not charged again; if the budget does not list it, the call fails with
   * `bad_state`.
   */
  budget: B;
}>;

/** The options of every stream. */
export interface StreamOptions {
  /** The horizon: number of readings that the noise is calibrated for. */
  steps: number;
  /**
   * Without `people`: how often one user contributes, which you promise and nothing enforces; in
   * each of `epochs` epochs it is at the same position. Default 'once'.
   */
  participation?: Bound | { epochs: number };
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
  /** Default: the one with the least error that is found quickly, 'optimal' for prefix sums. */
  strategy?: Strategy;
  /**
   * With `people`: whether names are decimal numbers, so that '7', '7.0' and '007' are one person.
   * By default a name is a text: spaces around it do not count, nor how Unicode writes its letters,
   * but upper and lower case differ. Default false.
   */
  numericNames?: boolean;
  /** With `store`: when records are stored, at each `add` (default) or with their step. */
  durable?: 'record' | 'step';
  /** With `store`: a text that a reopened stream must repeat, such as the rules of its input. */
  about?: string;
  /**
   * With `store`: true refuses an empty one with `bad_state`, because a stream that begins anew
   * releases the same steps a second time. Default false.
   */
  mustExist?: boolean;
  /** Fixed seed, for tests and demonstrations only: the stream is then NOT private. */
  insecureSeed?: number | bigint;
}

/** Options of streams whose readings are estimates. */
export interface EstimateOptions extends StreamOptions {
  /** Confidence of `low` and `high`, and of `halfWidth`, for each number alone. Default 0.95. */
  confidence?: number;
}

/** Options of streams whose records are numbers. */
export interface NumberOptions extends EstimateOptions {
  /**
   * Norm to which one record, or all records of a person in one step together, is clipped. Default
   * 1.
   */
  clip?: number;
}

/** Options of sums of one workload. */
export interface CounterOptions extends NumberOptions {
  /** Default 'prefix', the total so far. */
  workload?: Workload;
  /** Spacing of the released sums, a power of two. Default: see docs/guide/counters.md. */
  grid?: number;
  /**
   * Noise for integer measurements, which are decoded afterwards, instead of exactly rounded noise
   * for integer sums. For strategies with an integer encoder.
   */
  lattice?: LatticeNoise | { noise: LatticeNoise; precisionBits?: number };
}

/** Options of sums of rows. */
export interface TotalsOptions extends CounterOptions {
  /** Number of entries of a record. */
  dimension: number;
  /** Whether the `values` of a reading may be overwritten by the next one. Default false. */
  reuse?: boolean;
}

/** Options of several sums of the same records. */
export interface SumsOptions<K extends string, D> extends NumberOptions {
  /** Up to 64, by your names for them, such as `{ all: 'prefix', week: { window: 7 } }`. */
  workloads: Named<K, Workload>;
  /**
   * Positive weights of the workloads' squared errors in the mean that is minimised. Default: equal.
   */
  importance?: Named<K, number>;
  /** Number of entries of a record; if it is left out, records and sums are numbers. */
  dimension?: D;
}

/** Options of statistics, whose records are clipped to public domains. */
interface StatisticOptions extends EstimateOptions {
  /** Default 'prefix', all records so far; or a window. */
  workload?: Workload;
  /**
   * With 'replace-one': promises that times are public, so that a record is only replaced by others
   * of its own step. If neighbours differ in when a record is, they are told apart more easily than
   * the certificate says. Default false.
   */
  fixedTimes?: boolean;
}

export interface MomentsOptions<K extends string> extends StatisticOptions {
  /**
   * Lowest and highest value of each column; values outside are clipped. Public: do not derive them
   * from the data.
   */
  columns: Named<K, readonly [low: number, high: number]>;
  /** Whether to include covariances, which costs the variances some precision. Default false. */
  covariance?: boolean;
}

export interface HistogramOptions<K extends string, O extends string> extends StatisticOptions {
  /** All categories. Public: do not derive them from the data. */
  categories: readonly K[];
  /** A further category, which counts all other texts. By default those are refused. */
  other?: O;
  /**
   * Whether the total number of records is measured, too, which makes it more precise, and counts
   * less precise by up to 7.1 %. Default false. With `fixedTimes` it costs nothing, and is measured.
   */
  total?: boolean;
}
