// SPDX-License-Identifier: Apache-2.0

// The options that streams share.

import type { EncoderStrategy, MechanismName, MechanismParameters } from '../mechanism.js';
import type { Participation, SavedStrategy, Workload } from '../mechanism.js';
import type { LatticeNoise, Neighbours } from '../privacy.js';

/** Numbers of one record or, concatenated, of many. */
export type Row = ArrayLike<number>;

/** One T under each of your names, such as names of columns, categories or workloads. */
export type NamedRecord<K extends string, T> = Readonly<Record<K, T>>;

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

/**
 * A strategy by name, and its parameters. A parameter that the strategy does not have is refused.
 */
export interface StrategyParameters extends MechanismParameters {
  name: MechanismName;
}

/**
 * How noise is shared between steps: a name, a name with parameters, a saved optimum, or an encoder
 * of your own.
 */
export type Strategy = MechanismName | StrategyParameters | SavedStrategy | EncoderStrategy;

/** Options that change the type of a stream. They may be left out, but not be undefined. */
export type Axes<P, S, B> = Partial<{
  /**
   * Protects persons instead of records: each record names its person, and only the earliest steps
   * of a person count, as many as this bound allows.
   */
  people: P;
  /** Keeps the stream in a store: it survives restarts, and its calls return promises. */
  store: S;
  /**
   * Budget that is charged once, when the stream is made and before its first reading. A stream
   * that is reopened from its store is not charged again; if the budget does not list it, the call
   * fails with `bad_state`.
   */
  budget: B;
}>;

/** The options of every stream. */
export interface StreamOptions {
  /** The horizon: number of readings that the noise is calibrated for. */
  steps: number;
  /**
   * Without `people`: how often one user contributes, which you promise and nothing enforces. With
   * `epochs`, a user contributes at the same position of each epoch. Default 'once'.
   */
  participation?: Participation;
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
  /**
   * Default: the strategy with the least error among those found quickly, 'optimal' for prefix
   * sums.
   */
  strategy?: Strategy;
  /**
   * With `people`: whether names are decimal numbers, so that '7', '7.0' and '007' are one person.
   * By default a name is a text: spaces around it and different Unicode forms of the same letters
   * do not matter, but upper and lower case do. Default false.
   */
  numericNames?: boolean;
  /**
   * With `store`: whether records are stored at each `add` (default) or together with their step.
   */
  durable?: 'record' | 'step';
  /** With `store`: a text that a reopened stream must repeat, such as the rules of its input. */
  about?: string;
  /**
   * With `store`: true refuses an empty store with `bad_state`, because a stream that begins anew
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

/** Options of streams that can show the truth beside their readings. */
export interface ShowOptions {
  /**
   * Adds `nonprivate` to each reading: the same reading without noise, for those who hold the
   * records and want to compare. It is NOT PRIVATE: never publish it, and let nothing that is
   * released depend on it. Not available with `store` or `budget`. Default false.
   */
  showNonprivate?: boolean;
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
export interface CounterOptions extends NumberOptions, ShowOptions {
  /** Default 'prefix', the total so far. */
  workload?: Workload;
  /** Spacing of the released sums, a power of two. Default: see docs/decisions.md. */
  grid?: number;
  /**
   * Noise for integer measurements, which are decoded afterwards, instead of exactly rounded noise
   * for integer sums. For strategies with an integer encoder.
   */
  lattice?: LatticeNoise | { noise: LatticeNoise; precisionBits?: number };
}

/** Options of sums of rows. */
export interface TotalsOptions extends CounterOptions {
  /** Entries of a record. */
  dimension: number;
  /** Whether the `values` of a reading may be overwritten by the next one. Default false. */
  reuse?: boolean;
}

/** Options of streams whose records the caller may clip. */
export interface ClippedByCaller {
  /**
   * In place of `clip`: the largest norm by which one user changes a record, which your own
   * clipping of its summands has to ensure. Records are then not clipped here. The certificate,
   * whose `clipping` says so, holds if this is true and if each user contributes to at most one
   * record of a step. Its `clipNorm` is larger by what rounding to the grid may add,
   * sqrt(dimension) * grid. Sum in doubles, because rounding errors count, too. Not available with
   * `people`.
   */
  clippedTo?: number;
}

/** Options of increments. */
export interface IncrementsOptions extends NumberOptions, ClippedByCaller {
  /** Entries of a record. */
  dimension: number;
  /**
   * Spacing of the results, a power of two. Default: as for `totals`, and with `clippedTo` at most
   * clippedTo / (1024 sqrt(dimension)).
   */
  grid?: number;
  /** Whether the `values` of a reading may be overwritten by the next one. Default false. */
  reuse?: boolean;
}

/** Options of several sums of the same records. */
export interface SumsOptions<K extends string, D> extends NumberOptions, ShowOptions {
  /**
   * Up to 64 workloads, each under a name that you choose, such as
   * `{ all: 'prefix', week: { window: 7 } }`.
   */
  workloads: NamedRecord<K, Workload>;
  /**
   * Positive weights of the workloads' squared errors in the mean that is minimised. Default:
   * equal.
   */
  importance?: NamedRecord<K, number>;
  /** Entries of a record; if left out, records and sums are numbers. */
  dimension?: D;
}

/** Options of statistics, whose records are clipped to public domains. */
interface StatisticOptions extends EstimateOptions, ShowOptions {
  /** Default 'prefix', all records so far; or a window. */
  workload?: Workload;
  /**
   * With 'replace-one': promises that times are public, so that a record is only replaced by
   * another of its own step. If neighbours differ in the step of a record, they can be told apart
   * more easily than the certificate says. Default false.
   */
  fixedTimes?: boolean;
}

export interface MomentsOptions<K extends string> extends StatisticOptions {
  /**
   * Lowest and highest value of each column; values outside are clipped. Public: do not derive them
   * from the data.
   */
  columns: NamedRecord<K, readonly [low: number, high: number]>;
  /** Whether to include covariances, which makes the other numbers noisier. Default false. */
  covariance?: boolean;
}

/** Options of counts of active people; everything a person does is protected. */
export interface ActiveOptions<K extends string>
  extends Omit<EstimateOptions, 'steps' | 'participation' | 'strategy'> {
  /**
   * Number of readings that the noise is calibrated for; or 'endless', for windows of 1, 7 and 30
   * steps and 'zero-out' only: the stream then protects what a person does in any 365 consecutive
   * steps.
   */
  steps: number | 'endless';
  /**
   * Windows, each under a name that you choose: steps for which a person counts as active after an
   * event, such as `{ day: 1, week: 7, month: 30 }`. Windows share the budget: over a year, these
   * three have 1.57 times the noise of one alone.
   */
  windows: NamedRecord<K, number>;
  /**
   * Whether nobody was active before the first step, for example because the service opens then.
   * This needs slightly less noise. Default false.
   */
  closedStart?: boolean;
}

export interface HistogramOptions<K extends string, O extends string> extends StatisticOptions {
  /** All categories. Public: do not derive them from the data. */
  categories: readonly K[];
  /** A further category, which counts all other texts. By default other texts are refused. */
  other?: O;
  /**
   * Whether to measure the total number of records as well, which makes the total more precise, and
   * the counts less precise by up to 7.1 %. Default false. With `fixedTimes` the total costs
   * nothing and is always measured.
   */
  total?: boolean;
}
