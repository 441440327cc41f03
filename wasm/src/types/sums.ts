// SPDX-License-Identifier: Apache-2.0

// Private running totals.

import type { Certificate, LatticeNoise } from './certificate.js';
import type { Handle } from './instance.js';
import type { MechanismOptions } from './mechanism.js';
import type { UnitError, UnitErrorOptions } from './unit-error.js';

export interface PrefixSumOptions extends MechanismOptions {
  /** Entries of each record. Default 1. */
  dimension?: number;
  /**
   * Construction of a release. 'grid' (default): integer sums plus exactly rounded noise.
   * 'lattice': noisy integer measurements, decoded afterwards; only with mechanisms that have an
   * integer encoder (trees 'tree' and 'honaker', buffers 'blt' and 'blt-rational', and others with
   * a Toeplitz encoder), not with the default one: the others are refused by name.
   */
  mode?: 'grid' | 'lattice';
  /** Mode 'lattice': law of the integer noise. Default 'discrete-gaussian'. */
  latticeNoise?: LatticeNoise;
  /** Mode 'lattice': bits after the binary point in the encoder's coefficients, up to 30. */
  precisionBits?: number;
  /** Spacing of the released values, a power of two. Default: see docs/guide/counters.md. */
  grid?: number;
  /**
   * Fixed seed: the output is then NOT private, and `insecure` says so. For tests and
   * demonstrations only. Without it the key is 256 bits from the platform.
   */
  insecureSeed?: number | bigint;
}

/**
 * Options of totals without a delta: discrete Laplace noise on the nodes of a tree. They are
 * epsilon-differentially private, for records whose l1-norm, over all entries, is clipped to
 * `clipNorm`.
 */
export interface PureSumOptions
  extends Pick<
    PrefixSumOptions,
    'numSteps' | 'epsilon' | 'neighbours' | 'participation' | 'dimension' | 'insecureSeed'
  > {
  pure: true;
  /** l1-norm to which each record is clipped, input units. Default 1. */
  clipNorm?: number;
  /** The only one. */
  mechanism?: 'tree-k';
  /** Children of a node, up to 1023. Default, without `subtractive`: those with the least error. */
  arity?: number;
  /** Whether totals also subtract nodes, with an odd arity. */
  subtractive?: boolean;
  /** Spacing of the released values, a power of two. Default: see docs/math/pure.md. */
  grid?: number;
}

/** Options as for `prefixSum`. */
export type PeopleSumOptions = PrefixSumOptions;

/** A probability, of the noise of one release or of all. */
export interface NoiseProbability {
  /** 0-based. Default: all steps of the horizon together, and all entries. */
  step?: number;
  /** At least 1e-200, for one step 1e-290, and below 1. */
  probability: number;
}

/**
 * Private running totals, of records or of people's contributions; with another
 * `workload` the sums that it says, such as those of the last `window` steps, or decaying ones.
 */
export interface Totals extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Number of releases already made. */
  readonly step: number;
  readonly grid: number;
  /** A fixed seed was given: the totals are NOT private, whatever the certificate says. */
  readonly insecure: boolean;
  /**
   * Returns the predicted std of the noise of each coordinate of the release at a 0-based step, in
   * input units, including its rounding to the grid. Clipping records and putting them on the grid
   * causes a bias, which no std shows.
   */
  stddev(step: number): number;
  /**
   * Totals without a delta (`pure`): returns x, in input units, that the magnitude of the noise
   * exceeds with at most a probability. For one `step` it is the smallest such x of each entry of its
   * release. Without a step it is an upper bound for every entry of every release together (the union
   * over steps and entries). Either by the tail of the sum of all noise in a release, rounding
   * included; clipping and the truncation of records to the grid add a bias. Totals with a delta are
   * refused with code `unsupported`.
   */
  halfWidth(wanted: NoiseProbability): number;
  /**
   * Ends the open step with the contributions made to it, then `numSteps - 1` further steps without
   * any, and returns their totals. Default: one step. If it fails on the way, the error's
   * `released` holds the totals of the steps before.
   */
  endSteps(numSteps?: number, out?: Float64Array): Float64Array;
}

/** A private running total of a stream of records. */
export interface PrefixSum extends Totals {
  /** Takes one record as a step and returns the private running total. */
  release(record: ArrayLike<number>, out?: Float64Array): Float64Array;
  /**
   * Takes `records.length / dimension` records, row after row, and returns as many totals. If a
   * record is refused, the error's `released` holds the totals of the records before it.
   */
  releaseMany(records: ArrayLike<number>, out?: Float64Array): Float64Array;
  /**
   * Adds `records.length / dimension` contributions to the open step, which `endSteps` ends. Each
   * is clipped by itself. A user is protected who contributes no more than once to a step, and only
   * to steps that `participation` allows: the caller has to ensure that here, whereas `peopleSum`
   * enforces it. If one is refused, the error's `contributed` says how many there were before it.
   */
  contribute(records: ArrayLike<number>): void;
}

/**
 * A private running total of people's contributions. Each person's earliest contributions that keep
 * `participation` count; it must be 'single' or `participations` with `minSeparation`. One person's
 * contributions to one step are added up and clipped together. So the privacy unit is a person, not
 * a record.
 */
export interface PeopleSum extends Totals {
  /** Number of contributions so far that did not count. It depends on the data: NOT private. */
  readonly numDropped: number;
  /**
   * Adds records of `dimension` entries to the open step, which `endSteps` ends, with the person
   * each is from. If one is refused, the error's `contributed` says how many there were before it.
   */
  contribute(people: string | ArrayLike<string>, records: ArrayLike<number>): void;
  /**
   * Makes every record a step with one contribution, and returns the totals as `releaseMany` does.
   */
  releaseEach(
    people: ArrayLike<string>,
    records: ArrayLike<number>,
    out?: Float64Array,
  ): Float64Array;
}

/** The totals without a delta whose errors are asked for. */
export interface PureErrorOptions
  extends Omit<PureSumOptions, 'insecureSeed'>,
    Pick<UnitErrorOptions, 'beta' | 'dimension'> {}

/**
 * Errors of totals without a delta, in input units: of the discrete Laplace noise that is released with
 * these options.
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
   * With `beta`: no entry of any step is further off with probability at least 1 - beta: an upper
   * bound, by the union over steps and entries, rounding included.
   */
  simultaneousError?: number;
  simultaneousMethod?: 'union';
}
