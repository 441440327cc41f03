// SPDX-License-Identifier: Apache-2.0

// Private running totals.

import type { Certificate } from './certificate.js';
import type { LatticeNoise } from './privacy.js';
import type { Handle } from './instance.js';
import type { MechanismOptions } from './mechanism.js';
import type { Problem } from './problem.js';
import type { StrategyParameters } from './streams/options.js';
import type { UnitError, UnitErrorOptions } from './unit-error.js';

export interface PrefixSumOptions extends MechanismOptions {
  /** True for totals without a delta: see `PureSumOptions`. */
  pure?: false;
  /** Number of entries of each record. Default 1. */
  dimension?: number;
  /**
   * Construction of a release. 'grid' (default): integer sums plus exactly rounded noise.
   * 'lattice': noisy integer measurements, decoded afterwards. Requires a mechanism with an integer
   * encoder (trees 'tree' and 'honaker', buffers 'blt' and 'blt-rational', and others with a
   * Toeplitz encoder); all others, including the default mechanism, are refused by name.
   */
  mode?: 'grid' | 'lattice';
  /** Mode 'lattice': distribution of the integer noise. Default 'discrete-gaussian'. */
  latticeNoise?: LatticeNoise;
  /** Mode 'lattice': bits after the binary point in the encoder's coefficients, up to 30. */
  precisionBits?: number;
  /** Spacing of the released values, a power of two. Default: see docs/guide/counters.md. */
  grid?: number;
  /**
   * Fixed seed, for tests and demonstrations only: the output is then NOT private, and `insecure`
   * is true. Without it the key is 256 random bits from the platform.
   */
  insecureSeed?: number | bigint;
}

/**
 * Options of pure-DP totals (delta = 0): discrete Laplace noise on the nodes of a tree. The totals
 * are epsilon-differentially private, for records whose l1-norm, over all entries, is clipped to
 * `clipNorm`.
 */
export interface PureSumOptions
  extends Pick<
    PrefixSumOptions,
    'numSteps' | 'epsilon' | 'neighbours' | 'participation' | 'dimension' | 'insecureSeed'
  > {
  pure: true;
  /** Not with `pure`. */
  delta?: undefined;
  /** l1-norm to which each record is clipped, in input units. Default 1. */
  clipNorm?: number;
  /** The only mechanism for pure-DP totals. */
  mechanism?: 'tree-k';
  /**
   * Number of children of a node, up to 1023. Default, unless `subtractive` is given: the one with
   * the least error.
   */
  arity?: number;
  /** Whether totals also subtract nodes; requires an odd arity. */
  subtractive?: boolean;
  /** Spacing of the released values, a power of two. Default: see docs/math/pure.md. */
  grid?: number;
}

/**
 * How people are told apart. An id is a text: spaces around it do not count, nor how Unicode writes
 * its letters (NFC or NFD), but upper and lower case differ. An empty id is refused.
 */
export interface PeopleNaming {
  /**
   * Whether ids are decimal numbers, so that '7', '7.0' and '007' are one person; an id that is no
   * number is refused. A ledger keeps this choice, and refuses the other one. Default: false.
   */
  userNumbers?: boolean;
}

/** Options as for `prefixSum`, and how people are told apart. */
export interface PeopleSumOptions extends PrefixSumOptions, PeopleNaming {}

/** Options of people's pure-DP totals (delta = 0). */
export interface PurePeopleSumOptions extends PureSumOptions, PeopleNaming {}

/** Argument of `halfWidth`: a probability for the noise of one release, or of all. */
export interface NoiseProbability {
  /** 0-based step. Default: all steps of the horizon and all entries together. */
  step?: number;
  /** At least 1e-200 (for one step, 1e-290) and below 1. */
  probability: number;
}

/** The private running total after one step. */
export type Release = Float64Array & {
  /** 0-based step of the total. */
  readonly step: number;
  /** The standard deviation of the noise in it: that of `stddev(step)`. */
  readonly stddev: number;
};

/**
 * Private running totals of records or of people's contributions. With another `workload`, its sums
 * instead, such as those of the last `window` steps, or decaying ones.
 */
export interface Totals extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Number of releases already made. */
  readonly step: number;
  readonly grid: number;
  /**
   * True if a fixed seed was given: the totals are then NOT private, even if the certificate says
   * so.
   */
  readonly insecure: boolean;
  /**
   * Returns the predicted std of the noise of each coordinate of the release at a 0-based step, in
   * input units, including its rounding to the grid. Excludes the bias caused by clipping records
   * and putting them on the grid.
   */
  stddev(step: number): number;
  /**
   * Returns, for pure-DP totals (`pure`), the x, in input units, that the magnitude of the noise
   * exceeds with at most the given probability. For one `step` it is the smallest x, for each entry
   * of its release. Without a step it is an upper bound for every entry of every release together
   * (a union bound over steps and entries). Both are computed from the tail of the sum of all noise
   * in a release, rounding included; clipping and the truncation of records to the grid add a bias.
   * Totals with a delta are refused with code `unsupported`.
   */
  halfWidth(wanted: NoiseProbability): number;
  /**
   * Ends the open step with its contributions, then `numSteps - 1` further steps without any, and
   * returns their totals. Default: one step. If a step fails, the error's `released` holds the
   * totals of the steps before it.
   */
  endSteps(numSteps?: number, out?: Float64Array): Float64Array;
}

/** A private running total of a stream of records. */
export interface PrefixSum extends Totals {
  /** Takes one record as a step and returns the private running total. */
  release(record: ArrayLike<number>): Release;
  /** Writes the total into an array; ask `stddev` about the noise in it. */
  release(record: ArrayLike<number>, out: Float64Array | undefined): Float64Array;
  /**
   * Takes `records.length / dimension` records, row after row, and returns as many totals. If a
   * record is refused, the error's `released` holds the totals of the records before it.
   */
  releaseMany(records: ArrayLike<number>, out?: Float64Array): Float64Array;
  /**
   * Adds `records.length / dimension` contributions to the open step, which `endSteps` ends. Each
   * is clipped separately. A user is protected who contributes at most once per step, and only to
   * steps that `participation` allows; the caller must ensure this here, whereas `peopleSum`
   * enforces it. If one is refused, the error's `contributed` is the number of contributions before
   * it.
   */
  contribute(records: ArrayLike<number>): void;
}

/**
 * A private running total of people's contributions, whose privacy unit is a person, not a record.
 * Each person's earliest contributions that satisfy `participation` count; it must be 'single' or
 * `participations` with `minSeparation`. One person's contributions to one step are added up and
 * clipped together.
 */
export interface PeopleSum extends Totals {
  /** Number of contributions so far that did not count. It depends on the data: NOT private. */
  readonly numDropped: number;
  /**
   * Adds records of `dimension` entries, each with the person it is from, to the open step, which
   * `endSteps` ends. If one is refused, the error's `contributed` is the number of records before
   * it.
   */
  contribute(people: string | ArrayLike<string>, records: ArrayLike<number>): void;
  /**
   * Takes every record as a step with one contribution, and returns the totals as `releaseMany`
   * does.
   */
  releaseEach(
    people: ArrayLike<string>,
    records: ArrayLike<number>,
    out?: Float64Array,
  ): Float64Array;
}

/** Options of `error` for pure-DP totals. */
export interface PureErrorOptions
  extends Omit<Problem, 'workload'>,
    Pick<UnitErrorOptions, 'neighbours' | 'beta' | 'dimension'> {
  epsilon: number;
  delta: 0;
  /** l1-norm to which records are clipped. Default 1. */
  clip?: number;
  /** Default 'tree-k'. */
  strategy?: 'tree-k' | (Pick<StrategyParameters, 'arity' | 'subtractive'> & { name: 'tree-k' });
}

/**
 * Errors of pure-DP totals, in input units: those of the discrete Laplace noise released with these
 * options.
 */
export interface PureError
  extends Pick<
    UnitError,
    | ('mechanism' | 'numSteps' | 'workload' | 'participation' | 'maxParticipations' | 'separation')
    | ('neighbours' | 'sensitivity' | 'sensitivityExactness' | 'sensitivityMethod')
    | ('maxError' | 'meanError' | 'effectiveParameters')
  > {
  epsilon: number;
  /** l1-norm to which records are clipped. */
  clipNorm: number;
  beta?: number;
  dimension?: number;
  /**
   * With `beta`: upper bound on the error of every entry at every step that holds with probability
   * at least 1 - beta, by a union bound over steps and entries, rounding included.
   */
  simultaneousError?: number;
  simultaneousMethod?: 'union';
}
