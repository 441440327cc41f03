// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />

import type { Refusal } from './errors.js';

// Host types are looked up by name, so that these declarations also compile where the DOM library
// or Node's types are absent.
type HostType<Name extends string> = typeof globalThis extends {
  [name in Name]: { prototype: infer Type };
}
  ? Type
  : never;
type HostModule = typeof globalThis extends {
  WebAssembly: { Module: { prototype: infer Type } };
}
  ? Type
  : object;

/** Names of the mechanisms this version knows. */
export type MechanismName =
  | 'independent'
  | 'output'
  | 'tree'
  | 'tree-k'
  | 'honaker'
  | 'honaker-full'
  | 'haar'
  | 'smooth-tree'
  | 'square-root'
  | 'banded-square-root'
  | 'banded-inverse-square-root'
  | 'nu'
  | 'lambda-cgd'
  | 'blt'
  | 'blt-rational'
  | 'normalized-square-root'
  | 'group-algebra'
  | 'hybrid'
  | 'log-perturbed'
  | 'banded-toeplitz'
  | 'banded'
  | 'blt-normalized'
  | 'blt-scaled'
  | 'optimal';

/** Parameters of mechanisms; the catalogue says which mechanism takes which. */
export interface MechanismParameters {
  /** Number of non-zero diagonals, the main one included. */
  bands?: number;
  /** Number of buffers; for `optimal` 8 by default, 'exact' (or 0) for full accuracy. */
  buffers?: number | 'exact';
  /** Error that the optimised mechanisms minimise. Default 'max'. */
  objective?: 'max' | 'mean';
  /** BLT: theta, each in [0, 1). */
  decays?: ArrayLike<number>;
  /** BLT: omega, one per decay. */
  weights?: ArrayLike<number>;
  /** Number of children of a node. */
  arity?: number;
  /** Trees of odd arity: nodes are also subtracted. */
  subtractive?: boolean;
  /** Smooth tree: number of bits of a leaf. */
  height?: number;
  /** Smooth tree: number of ones among the bits of a leaf. */
  weight?: number;
  nu?: number;
  lambda?: number;
  /** Log-perturbed: the error grows like log^(1 + alpha). */
  alpha?: number;
  /** Log-perturbed: power of the log log factor. */
  loglogPower?: number;
  /** Log-perturbed: steps the noise is scaled for, at least numSteps. */
  horizonCap?: number;
  /** Any mechanism for prefix sums: restart after this many steps. */
  epochLength?: number;
  /** Trees with epochLength: complete a finished epoch to a power of two. */
  completeEpochs?: boolean;
  /** Any mechanism: scale the columns of C to norm 1. */
  normalizeColumns?: boolean;
}

/**
 * The linear queries answered at every step: sums of all records; an exponentially averaged sum
 * (momentum, with weight decay); sums of the last `window` records; sums weighted by learning
 * rates; or any lower-triangular matrix, numSteps * numSteps entries, row-major.
 */
export type Workload =
  | 'prefix'
  | { momentum: number; decay?: number }
  | { window: number }
  | { rates: ArrayLike<number>; momentum?: number }
  | { matrix: ArrayLike<number> };

/**
 * The steps to which one user may contribute: a single one; one in each of `epochs` epochs, always
 * at the same place; or at most `participations`, at least `minSeparation` (j - i) apart.
 */
export type Participation =
  | 'single'
  | { epochs: number }
  | { participations: number; minSeparation: number };

/**
 * An optimised mechanism as plain data that survives JSON. Only + - * / and sqrt are applied to its
 * numbers, so it gives the same noise, bit for bit, wherever it is used. It can be passed wherever
 * a mechanism is named. Sensitivity and errors are computed again from the numbers: a damaged
 * strategy costs accuracy, never privacy.
 */
export interface SavedStrategy {
  format: 'dp-ftrl strategy';
  version: 1;
  mechanism: MechanismName;
  /** The only horizon it serves. */
  numSteps: number;
  workload: Workload;
  /** Participation that it was optimised for, and the default where none is given. */
  participation: Participation;
  objective: 'max' | 'mean';
  /** Weights of the steps in `error` and `lowerBound`, where they were not all the same. */
  queryWeights?: number[];
  /** The error that was minimised, for this mechanism as it is run, at unit noise multiplier. */
  error: number;
  /** As in `CertifiedBound`, at the end of the search. */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /**
   * As in `CertifiedBound`; missing where it is 1, and in files of older versions. In those it is
   * the least d with (d + 1) (d + 2) / 2 above the participations: 2 from 3 on, 3 from 6 on.
   */
  lowerBoundMinDimension?: number;
  /** As in `CertifiedBound`; missing where `lowerBoundMinDimension` is. */
  lowerBoundEveryDimension?: number;
  /** error / lowerBound */
  ratio: number | null;
  /**
   * How the search ended. 'converged': as far as can be proved for `optimal`, and to a stationary
   * point for the others. 'stopped': before its end. 'not converged': the iterations were used up.
   * 'infeasible': there is no search for the workload and participation that were asked for, and
   * this is the best for prefix sums, or for one participation; or there is no proof as close as
   * was asked for.
   */
  status: 'converged' | 'stopped' | 'not converged' | 'infeasible';
  iterations: number;
  /** Everything that defines it, by name. */
  parameters: Record<string, number[]>;
}

/**
 * The parameters a mechanism was made with, including those chosen for it, under the names of
 * `MechanismParameters`, together with short lists that only the optimised ones have
 * (`coefficients`, `shifts`). Lists as long as the horizon are not here but in a `SavedStrategy`.
 */
export type EffectiveParameters = Record<string, number | boolean | number[]>;

/**
 * Method by which a lower bound was found: from dual variables of the optimum, in linear time or
 * with dense matrices, or as the Schatten-1 norm of the workload.
 */
export type BoundMethod = 'dual' | 'dense dual' | 'schatten';

/** Proved bounds on the least error that a factorization can have; null where none is known. */
export interface CertifiedBound {
  /**
   * Certified lower bound on the error of every factorization whose Gaussian noise is scaled to its
   * sensitivity, for records of `lowerBoundMinDimension` numbers or more. Mechanisms that are no
   * factorizations with Gaussian noise can have smaller errors.
   */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /**
   * Least dimension of records for which `lowerBound` holds; 1 up to 2 participations. Records of
   * fewer numbers can be moved less by more contributions.
   */
  lowerBoundMinDimension: number | null;
  /** The same for records of every dimension, even of one number: at most `lowerBound`. */
  lowerBoundEveryDimension: number | null;
}

/** Neighbouring relation: one user's contribution set to zero, or replaced by any other one. */
export type Neighbours = 'zero-out' | 'replace-one';

/** Source of the WebAssembly bytes; not needed for the `.` entry, which carries them. */
export interface LoadOptions {
  wasm?:
    | string
    | HostType<'URL'>
    | HostType<'Response'>
    | ArrayBuffer
    | Uint8Array
    | HostModule
    | undefined;
  signal?: HostType<'AbortSignal'> | undefined;
}

export interface CatalogueEntry {
  name: MechanismName;
  summary: string;
  stepCost: string;
  memoryCost: string;
  /** Its own parameters. Every mechanism also takes epochLength and normalizeColumns. */
  parameters: (keyof MechanismParameters)[];
  /**
   * 'adapted': Toeplitz workloads get an encoder of their own; 'decoded': the encoder is the one
   * for prefix sums, whose releases are decoded further.
   */
  workloads: 'adapted' | 'decoded';
  /** Longest horizon that its formulas cover. */
  maxSteps: number;
  /** Its measurements read no later step than the one at which they are used. */
  causal: boolean;
  /**
   * Whether pure differential privacy (delta = 0) would follow from Laplace noise in place of
   * Gaussian noise, also for records chosen in the light of releases. Sums of this package draw
   * Gaussian noise; `queries` and the exponential mechanism serve delta = 0.
   */
  pureDp: boolean;
}

export interface ApproximateDp {
  /** > 0 */
  epsilon: number;
  /** 0 < delta < 1 */
  delta: number;
}

/** One of: (epsilon, delta); (rho, delta); (mu, delta). */
export type CalibrateOptions =
  | ApproximateDp
  | { rho: number; delta: number }
  | { mu: number; delta: number };

export interface Calibration {
  /** Noise std divided by the distance between neighbours. Unitless. */
  noiseMultiplier: number;
  epsilon: number;
  delta: number;
  /** Zero-concentrated DP: as given, or mu^2 / 2, that of the Gaussian mechanism. */
  rho: number;
  /**
   * Gaussian DP. null where rho was given: a rho-zCDP mechanism need not be a Gaussian one, and
   * epsilon is then an upper bound for all of them.
   */
  mu: number | null;
  /** Theorem from which the numbers come. */
  method: string;
  /** The textbook formula, for comparison only. */
  classical: {
    noiseMultiplier: number;
    actualDelta: number;
    theoremApplies: boolean;
    sound: boolean;
  };
}

/** A statement about the Gaussian mechanism. */
export interface GaussianCalibration extends Calibration {
  mu: number;
}

/** Releases of one account, and the limit they share. */
export interface CompositionOptions extends ApproximateDp {
  /**
   * 'mu': Gaussian DP, adds up as root of the sum of squares; 'rho': zero-concentrated DP, adds up.
   * Fixed before the first release: taking the better of two afterwards proves nothing.
   */
  account: 'mu' | 'rho';
  /**
   * mu or rho of each release, > 0: from certificates and `calibrate`, or for a pure release
   * `pureMu(epsilon)` and `pureRho(epsilon)`.
   */
  costs: readonly number[] | Float64Array;
}

export interface Composition {
  /** mu or rho of all releases together, rounded up; 0 without releases. */
  total: number;
  /** The largest total that stays within (epsilon, delta), rounded down. */
  limit: number;
  /** Epsilon of the total at delta, rounded up; 0 without releases. */
  epsilon: number;
  /** total <= limit. */
  fits: boolean;
}

export interface ErrorOptions extends MechanismParameters {
  /** A saved strategy brings its horizon and workload, and takes no parameters. */
  mechanism: MechanismName | SavedStrategy;
  /** Horizon, 1 .. 2^40. */
  numSteps: number;
  /** Default 'prefix'. */
  workload?: Workload;
  /** Default 'single'. */
  participation?: Participation;
}

export interface UnitErrorOptions extends ErrorOptions {
  /**
   * Default 'zero-out'. Records that are replaced differ by up to twice the clip norm:
   * 'replace-one' doubles sensitivity, errors and bound.
   */
  neighbours?: Neighbours;
}

export interface UnitError extends CertifiedBound {
  mechanism: MechanismName;
  numSteps: number;
  /** In words: 'prefix', 'momentum=0.9,decay=1', 'window=8', 'rates', 'matrix'. */
  workload: string;
  /** 'single', 'fixed-epoch' or 'min-separation'. */
  participation: string;
  /** Largest number of steps of one user: 1 where `participation` is 'single'. */
  maxParticipations: number;
  /** Distance j - i between two steps of a user: exact or least, as `participation` says. */
  separation: number;
  neighbours: Neighbours;
  /** Distance between the measurements of neighbours, in clip norms. */
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  /** Method by which it was computed. */
  sensitivityMethod: string;
  /** sensitivity * max_t ||B_t||, unit noise multiplier */
  maxError: number;
  /** sensitivity * ||B||_F / sqrt(numSteps), unit noise multiplier */
  meanError: number;
  /** The error that bound, ratio and gap refer to: the mechanism's `objective`, or 'max'. */
  objective: 'max' | 'mean';
  /** The error named by `objective`, divided by `lowerBound`. */
  ratio: number | null;
  /**
   * ratio - 1: no factorization that the bound covers is better by more than this share of the
   * bound.
   */
  gap: number | null;
  /** With `normalizeColumns`: whether the error of the objective is larger than without. */
  raisedByNormalizing?: boolean;
  decoderResidual: number;
  residualSteps: number;
  effectiveParameters: EffectiveParameters;
}

export interface OptimizeOptions extends MechanismParameters {
  /** A mechanism whose parameters are searched for. Default 'optimal'. */
  mechanism?: MechanismName;
  /** Horizon. */
  numSteps: number;
  /** Default 'prefix'. */
  workload?: Workload;
  /**
   * Default 'single'. 'blt', 'banded-toeplitz' and 'banded' are optimised for it, 'optimal' for
   * epochs up to 1024 steps. A mechanism optimised for another participation instead has status
   * 'infeasible'.
   */
  participation?: Participation;
  /**
   * For 'optimal' and prefix sums: 'none' skips the search and takes weights in closed form, which
   * is immediate and a little worse; the status is then 'stopped'.
   */
  solver?: 'exact' | 'none';
  /**
   * Iterations after which the search gives up, over all starts and rounds; `status` then says so.
   */
  maxIterations?: number;
  /**
   * For 'optimal': the search ends when the relative gap between the bounds on the optimum is this
   * small, above 0 and below 1. Default 1e-7, with dense matrices 1e-4.
   */
  gap?: number;
  /**
   * For 'optimal' with objective 'mean' and one participation, for sums, decay and positive rates:
   * weights w, 2^-40 to 2^40, one a step.
   * `error` and `lowerBound` are then sqrt(sum_i w_i e_i^2 / n), e_i the error of step i of n;
   * `dp.error` of the result gives the errors without weights.
   */
  queryWeights?: ArrayLike<number>;
}

export interface OptimizeProgress {
  iterations: number;
  /**
   * Share of the work that is done, 0 to 1: for `optimal` measured by the certified gap, for other
   * families a guess, for comparisons the share of the rows.
   */
  fraction: number;
}

/** A search that runs piece by piece. */
export interface Optimization extends Handle {
  readonly progress: OptimizeProgress;
  readonly finished: boolean;
  /**
   * Runs one piece: an iteration of `optimal`, some of the others. Returns false when nothing is
   * left.
   */
  advance(): boolean;
  /** Returns the best so far. Before the end its status is 'stopped'. */
  result(): SavedStrategy;
}

/** The matrices themselves, row-major. */
export interface Matrices {
  numSteps: number;
  numMeasurements: number;
  /** C, numMeasurements x numSteps. */
  encoder: Float64Array;
  /** B, numSteps x numMeasurements. */
  decoder: Float64Array;
  /** sensitivity^2 B B^T, numSteps x numSteps: covariance of the noise at unit noise multiplier. */
  noiseCovariance: Float64Array;
}

export interface CompareOptions {
  /** Horizon, 1 .. 2^40. */
  numSteps: number;
  workload?: Workload;
  participation?: Participation;
  /** Error by which the table is sorted. Default 'max'. */
  objective?: 'max' | 'mean';
  /** Saved strategies to be compared as well. */
  strategies?: readonly SavedStrategy[];
}

export interface ComparedMechanism {
  mechanism: MechanismName;
  /** Parameters that differ from the defaults. */
  parameters: MechanismParameters;
  /** Whether this is one of the saved strategies that were given. */
  saved: boolean;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  maxError: number;
  meanError: number;
  /** Error of the objective / lowerBound; null where no bound is available. */
  ratio: number | null;
  stepCost: string;
  memoryCost: string;
  causal: boolean;
  /** As in the catalogue. */
  pureDp: boolean;
}

/** A mechanism that a comparison has no row for. */
export interface LeftOut {
  mechanism: MechanismName;
  parameters: MechanismParameters;
  /** Why, in words. */
  reason: string;
  /** The same as data. */
  refusal: Refusal;
}

export interface Comparison extends CertifiedBound {
  numSteps: number;
  workload: string;
  participation: string;
  objective: 'max' | 'mean';
  /** Best first. */
  mechanisms: ComparedMechanism[];
  /** Mechanisms that have no formula at this size or take too long, with the reason. */
  leftOut: LeftOut[];
  /**
   * Mechanisms whose error of the objective would rise with normalised columns: tried up to 256
   * steps.
   */
  raisedByNormalizing: MechanismName[];
}

export interface MechanismOptions extends ApproximateDp, MechanismParameters {
  /**
   * Default 'optimal'. A saved strategy brings its horizon and workload, and takes no parameters.
   */
  mechanism?: MechanismName | SavedStrategy;
  /** Horizon: the number of releases the noise is calibrated for. */
  numSteps: number;
  /** l2-norm to which each record is clipped, input units. Default 1. */
  clipNorm?: number;
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
  /** Default 'single'. */
  participation?: Participation;
  /** Default 'prefix', the only one that `prefixSum` and `simulation` release. */
  workload?: Workload;
}

/** A comparison that runs mechanism by mechanism. */
export interface PiecewiseComparison {
  /** Iterations count the rows of the table, including those that will be left out. */
  readonly progress: OptimizeProgress;
  readonly finished: boolean;
  /** Runs one piece. Returns false when nothing is left. */
  advance(): boolean;
  /** Returns the table at the end; before that throws a DpError of code 'bad_state'. */
  result(): Comparison;
}

/** A bound from the literature, and whether it was found to hold at this horizon. */
export interface PublishedBound {
  value: number;
  /** False where it fails, and beyond `checkedTo` steps, where it was not checked. */
  holds: boolean;
  /**
   * Least horizon from which it was found to hold up to `checkedTo`; null if it fails at every
   * horizon that was checked.
   */
  holdsFrom: number | null;
  checkedTo: number;
}

/** Bounds on the errors of factorizations of the prefix sums: unit noise, one participation. */
export interface ErrorBounds {
  numSteps: number;
  /** Certified: no factorization has a smaller largest error. */
  max: number;
  /** Certified: no factorization has a smaller root mean squared error. */
  mean: number;
  /**
   * Schatten-1 norm of the prefix sums over n, below both; beyond 2^22 steps a lower bound on it.
   */
  schatten: number;
  /** Upper bounds on the errors of the square root factorization. */
  squareRoot: { max: number; mean: number };
  /**
   * Bounds as printed by Henzinger, Upadhyay and Upadhyay (2023): upper bounds on the errors of the
   * square root, and a lower bound on the mean error of every factorization.
   */
  published: { max: PublishedBound; mean: PublishedBound; lower: PublishedBound };
}

/** Everything a privacy claim rests on. */
export interface Certificate {
  mechanism: MechanismName;
  workload: string;
  participation: string;
  /** Largest number of steps of a user, and their distance, as in `UnitError`. */
  maxParticipations: number;
  separation: number;
  numSteps: number;
  neighbours: Neighbours;
  epsilon: number;
  delta: number;
  /** Gaussian DP; null in mode 'lattice' with discrete noise, which is zCDP with `rho`. */
  mu: number | null;
  rho: number;
  clipNorm: number;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  sensitivityMethod: string;
  noiseMultiplier: number;
  noiseStddev: number;
  maxError: number;
  meanError: number;
  /** The error for which the mechanism is made; 'max' where it has no objective. */
  objective: 'max' | 'mean';
  effectiveParameters: EffectiveParameters;
  /**
   * Present for releases in mode 'lattice', whose sensitivity and noise are those of the integers.
   */
  lattice?: LatticeClaim;
}

/**
 * A certificate together with how good the mechanism is, and a check that its factors belong
 * together.
 */
export interface CheckedCertificate extends Certificate, CertifiedBound {
  /**
   * The error named by `objective`, divided by `lowerBound`: both are at noise multiplier 1, for
   * either kind of neighbours.
   */
  ratio: number | null;
  /**
   * ratio - 1: no factorization that the bound covers is better by more than this share of the
   * bound.
   */
  gap: number | null;
  /**
   * max |A - B C| over the leading `residualSteps` steps, for the strategy made for that many
   * steps.
   */
  decoderResidual: number;
  residualSteps: number;
}

/** An object that owns memory of the WebAssembly heap: call `dispose()` or use `using`. */
export interface Handle {
  dispose(): void;
  [Symbol.dispose](): void;
  readonly disposed: boolean;
}

/**
 * Laws of the noise in mode 'lattice': discrete Gaussians, which are zCDP with the certificate's
 * `rho` (some 7 % more noise at epsilon 1, delta 1e-6), or exactly rounded ones, which are GDP with
 * its `mu`.
 */
export type LatticeNoise = 'discrete-gaussian' | 'rounded-gaussian';

/**
 * Claims of mode 'lattice' beside those of the certificate. Lengths are in units of a measurement.
 */
export interface LatticeClaim {
  noise: LatticeNoise;
  /** Number of bits after the binary point in the encoder's coefficients. */
  precisionBits: number;
  /** Unit of a measurement, in input units. */
  measurementUnit: number;
  /** Variance of the integer noise. */
  noiseVariance: number;
  /** Upper bound on the l2 distance by which one user moves all measurements. */
  distance: number;
  /** Upper bound on what the rounding of integer buffers adds to a measurement; 0 elsewhere. */
  roundingDeviation: number;
  /** Largest number of contributions to one step. */
  maxContributions: number;
}

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

/** Options as for `prefixSum`. */
export type PeopleSumOptions = PrefixSumOptions;

/** Private running totals, of records or of people's contributions. */
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

export interface NoiseOptions extends ErrorOptions {
  /** Entries of a row. Default 1. */
  dimension?: number;
  /**
   * Coordinate at which these rows begin within the whole: shards that share a key together have
   * the numbers of the whole. Default 0.
   */
  firstCoordinate?: number;
  /**
   * Gives rows of increments, what each step adds to the noise of its sum, for callers who add
   * noise to each gradient; their sums are the noise of sums, up to rounding. For `independent`,
   * `banded-inverse-square-root` and `lambda-cgd` over prefix sums. No state is kept from step to
   * step: seeking costs nothing, and a row costs as many normals as the inverse encoder has bands.
   * Default false.
   */
  increments?: boolean;
  /**
   * 32 secret bytes, for one stream only (and for all its shards). Default: from the platform, for
   * this stream alone.
   */
  key?: Uint8Array;
  /** As in `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/** Rows of a mechanism's noise, one a step, for callers who add it to integers themselves. */
export interface Noise extends Handle {
  readonly dimension: number;
  readonly numSteps: number;
  /** The step of the next row. */
  readonly step: number;
  /** Makes the row of `step`, 0 .. numSteps, the next one, with the numbers that it always has. */
  seek(step: number): void;
  /**
   * Returns the next rows, one after the other: floor(scale * entry + 1/2) of the ideal entries,
   * exactly. The noise is unit noise: `scale` is the noise std in units of the integers to which it
   * is added, up to 2^40.
   */
  rounded(options: { numRows: number; scale: number }): Float64Array;
  /**
   * Returns bytes from which `restore` continues, here or natively. They do not hold the key, and
   * are as secret as it.
   */
  checkpoint(): Uint8Array;
  /**
   * Continues from a checkpoint. Repeats noise if rows were used since: only for the newest
   * checkpoint. See `ledger`.
   */
  restore(bytes: Uint8Array): void;
}

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
  /** Returns F, R and M, up to 2^25 entries each. */
  matrices(): QueryMatrices;
  /** Answers the queries. Each call is a release with noise of its own: privacy losses add up. */
  release(histogram: ArrayLike<number>, options?: QueryReleaseOptions): QueryAnswers;
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

/**
 * Storage for the bytes of a ledger, such as `FileStore` (dp-ftrl/file-store) and `IndexedDbStore`
 * (dp-ftrl/indexed-db). The bytes hold the key and the true sums: as secret as the records. A
 * ledger has exclusive use of its store until it is disposed of; another ledger is refused with
 * `store_in_use`. A store is identified by its object: do not wrap one store in two.
 */
export interface ReleaseStore {
  /** Returns the bytes that were saved last, or undefined (or null) if none were ever saved. */
  load(): Promise<Uint8Array | null | undefined>;
  /**
   * Replaces the bytes, all or nothing. Resolves when they would outlive a crash; rejects, and
   * replaces nothing, where others have saved since `load`.
   */
  save(bytes: Uint8Array): Promise<void>;
  /**
   * Lets go of the storage once a pending save has succeeded or failed; `save` rejects from then
   * on.
   */
  close(): Promise<void>;
}

export interface LedgerOptions extends PrefixSumOptions {
  store: ReleaseStore;
}

/**
 * A private running total that survives restarts: each step is released for one record, ever. A
 * release is stored before it is handed out.
 */
export interface ReleaseLedger extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** The next step that has no release yet. */
  readonly step: number;
  readonly grid: number;
  readonly insecure: boolean;
  stddev(step: number): number;
  /**
   * Returns the private running total after a 0-based step, up to `step`. Asked again with the same
   * record it gives the same total; with another one it rejects with code `already_released`.
   */
  release(step: number, record: ArrayLike<number>): Promise<Float64Array>;
  /** Does the same for `records.length / dimension` steps from `firstStep` on, stored once. */
  releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Float64Array>;
  /**
   * Does the same for steps with several contributions: `steps` holds for each step all
   * contributions, one after the other, `dimension` entries each, or none. Each is clipped by
   * itself: add up before what one person contributes to a step. `memo` is stored with them, all or
   * nothing; without steps it is stored alone, with the key.
   */
  releaseSteps(
    firstStep: number,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array,
  ): Promise<Float64Array>;
  /** The memo stored last with `releaseSteps`: as secret as the rest. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that tell the key from others, and say nothing of it. */
  readonly identity: string;
}

/** Losses of a prediction and a label; the first two want labels 0 and 1, or -1 and +1. */
export type LossName = 'logistic' | 'hinge' | 'squared' | 'huber' | 'absolute' | 'quantile';
/**
 * Synthetic streams. `heavy-tailed` has features of infinite variance, so that clipping matters;
 * `sparse` has zeros in 7 of 8; `adversarial` answers the private learner's weights with the
 * example that costs it most.
 */
export type StreamName =
  | 'stationary'
  | 'drifting'
  | 'switching'
  | 'heavy-tailed'
  | 'sparse'
  | 'adversarial';
/** Constraint sets of the weights: see `radius`. */
export type DomainName = 'ball' | 'whole-space' | 'box' | 'simplex' | 'simplex-entropic';

/** Loss, constraint set and update rule of a learner. */
export interface LossOptions {
  /** Default 'logistic'. */
  loss?: LossName;
  /** Level of the `quantile` loss, between 0 and 1. Default 0.5. */
  quantile?: number;
  /** Distance from the label, in its units, at which the `huber` loss becomes linear. Default 1. */
  huberThreshold?: number;
  /** Constraint set of the weights. Default 'ball'. */
  domain?: DomainName;
  /**
   * Radius of the ball; largest entry in the box; sum of the simplex, whose entries are not
   * negative. In the whole space it bounds only the comparators of the regret theorem. Default 1.
   */
  radius?: number;
  /** Regularisation strength; default: the value of the regret theorem. */
  lambda?: number;
  /** Gradient descent on the noisy gradients instead of FTRL: with 'independent' it is DP-SGD. */
  descent?: DescentOptions;
}

/** Projected gradient descent: everything here is post-processing of the releases. */
export interface DescentOptions {
  /**
   * Learning rate of each step, in units of 1 / lambda; the last one stays in force. Default: 1.
   */
  rates?: ArrayLike<number>;
  /** From 0 to below 1. Default 0. */
  momentum?: number;
  /**
   * 'workload': the encoder is made for sums with these rates and this momentum. Momentum takes a
   * mechanism that has an encoder for every Toeplitz workload ('square-root', its relatives,
   * 'independent'); rates take 'optimal' (with `objective: 'mean'`, the default then; together with
   * momentum, or for momentum alone, up to 2048 steps, by matrices). 'post-processing', the
   * default: the encoder is made for prefix sums.
   */
  through?: 'post-processing' | 'workload';
}

/**
 * A loss given by the caller, for several examples at once: the derivative of each with respect to
 * its prediction, and, for `losses`, its value. It must not keep the arrays it is given. The slope
 * of an example must be a function of its own prediction and label, and of nothing else that was
 * learned from: with means over the batch, or anything kept from earlier calls, one example moves
 * others and the learner is NOT private. Comparisons of such a run (regret, `comparator`, `twin`)
 * exist only in C++, whose `FunctionLoss` states the bounds that they need; here both refuse it.
 */
export type BatchLoss = (
  predictions: Float64Array,
  labels: Float64Array,
) => { slopes: ArrayLike<number>; values?: ArrayLike<number> };

export interface LearnerOptions extends MechanismOptions, Omit<LossOptions, 'loss'> {
  /**
   * Default 'logistic'. 'softmax' has a score for each of `numClasses` classes, labels 0, 1, ... A
   * function is called once for all examples that meet the same weights.
   */
  loss?: LossName | 'softmax' | BatchLoss;
  /** Number of classes, for 'softmax'. */
  numClasses?: number;
  /** Entries of each example (features). Default 1. */
  dimension?: number;
  /**
   * Lets `lambda` grow from its value at the first step with the square root of the steps, by
   * doubling. Default false.
   */
  doubling?: boolean;
  /** Number of examples of one step, each with its own clipped gradient. Default 1. */
  batchSize?: number;
  /** As for `prefixSum`, like the two that follow. */
  mode?: 'grid' | 'lattice';
  latticeNoise?: LatticeNoise;
  precisionBits?: number;
  /** The mechanism's parameter that is called lambda elsewhere. */
  mechanismLambda?: number;
  /** Spacing of the sums of gradients, a power of two. */
  grid?: number;
  /** As of `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/**
 * Private online learning of a linear model (DP-FTRL): gradients are clipped to `clipNorm` and go
 * into a private prefix sum, and the weights follow from its releases alone. So the weights, and
 * all that is made from them, are as private as the releases: an example is a record, or one of a
 * batch's contributions, of which one person makes at most one.
 */
export interface Learner extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Number of batches learned from; of one example unless `batchSize` says otherwise. */
  readonly step: number;
  readonly batchSize: number;
  /** Number of examples in the batch that is not full yet: they are not in the weights so far. */
  readonly numWaiting: number;
  readonly grid: number;
  readonly loss: LossName | 'softmax' | 'function';
  /** Number of predictions of an example: the classes of 'softmax', else 1. */
  readonly numScores: number;
  /** Regularisation strength of the next step; for descent the inverse of its rate. */
  readonly lambda: number;
  /** A fixed seed was given: the model is NOT private, whatever the certificate says. */
  readonly insecure: boolean;
  /**
   * Learns from `labels.length` examples, features row after row. Labels of classes are 0 or 1, or
   * -1 or +1. `predictions` gets the `numScores` scores of each example from before its label was
   * known: that reads the example, and is NOT private. If an example is refused, the error's
   * `learned` says how many there were before it.
   * Put one with features 0 in its place: leaving it out would shift all that follow.
   */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): void;
  /** Ends the step before its batch is full. */
  endBatch(): void;
  /** Returns the loss of each prediction: reads the labels, and is NOT private. */
  losses(predictions: ArrayLike<number>, labels: ArrayLike<number>): Float64Array;
  /** Returns the model so far, private as a whole. */
  model(): LearnedModel;
}

export interface LearnerLedgerOptions extends LearnerOptions {
  store: ReleaseStore;
  /**
   * Bytes kept with a new state, such as the names of its features. A state that continues keeps
   * its own, which the ledger has as `memo`.
   */
  memo?: Uint8Array;
}

/**
 * A learner that survives restarts: everything it shows has been stored before, so no step is ever
 * made for two batches. Its counts are those of the examples learned from, stored or not:
 * `numExamples` says which one comes next, after a restart and after an error. Calls are made one
 * after the other. A loss given as a function must be the same one after every restart.
 */
export interface LearnerLedger
  extends Omit<Learner, 'learn' | 'endBatch' | 'model'> {
  /** Number of examples learned from, over all restarts: offer none of them again. */
  readonly numExamples: number;
  /**
   * As for a learner; stored once a call. `predictions` are written when that is done. If storing
   * fails the examples count all the same, and the next call, whichever it is, stores them first.
   */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): Promise<void>;
  endBatch(): Promise<void>;
  model(): Promise<LearnedModel>;
  /** The `memo` given when the state was new: as secret as the rest. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that tell the key from others, and say nothing of it. */
  readonly identity: string;
}

/** Options of a learner on which its twin and comparator depend. */
export interface HindsightOptions extends Omit<LossOptions, 'loss'> {
  /** Default 'logistic'. */
  loss?: LossName | 'softmax';
  numClasses?: number;
  dimension?: number;
}

export interface TwinOptions extends HindsightOptions {
  /**
   * Horizon of the learner; for the default of `lambda`, which is that of the theorem without
   * noise.
   */
  numSteps: number;
  clipNorm?: number;
  doubling?: boolean;
  batchSize?: number;
}

/** A learner without noise, on exact sums of its own clipped gradients: NOT private. */
export interface Twin extends Handle {
  readonly dimension: number;
  readonly numScores: number;
  /** As for a learner. */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): void;
  endBatch(): void;
  /** Returns the weights that the next batch will meet, class after class: NOT private. */
  weights(): Float64Array;
}

export interface ComparatorOptions extends Omit<HindsightOptions, 'lambda' | 'descent'> {
  /** Target for `gap`, in units of the mean loss. Default 1e-6. */
  gap?: number;
}

/** The fixed weights with the least mean loss: NOT private. */
export interface BestFixed {
  /** A point of the domain. */
  weights: Float64Array;
  /** Its mean loss. */
  loss: number;
  /**
   * Bound on the suboptimality: the least mean loss is at most this much below `loss`, proved for
   * this very point.
   */
  gap: number;
  /** Whether `gap` is at most the one that was asked for. */
  certified: boolean;
}

/**
 * A search for the best fixed weights of the domain in hindsight; in the whole space among those of
 * norm at most `radius`. It keeps all examples, and is NOT private.
 */
export interface Comparator extends Handle {
  readonly dimension: number;
  readonly numScores: number;
  append(features: ArrayLike<number>, labels: ArrayLike<number>): void;
  /** Returns the best weights for the examples so far, of which there must be at least one. */
  best(): BestFixed;
}

/** Options of a learner on which the regret theorems depend. */
export interface RegretBoundsOptions {
  /** Number of weights of the model: `dimension` times the classes of softmax. Default 1. */
  dimension?: number;
  domain?: DomainName;
  radius?: number;
  lambda?: number;
  descent?: DescentOptions;
  doubling?: boolean;
  batchSize?: number;
  /** Failure probability of `highProbability`, between 0 and 1. Default 0.05. */
  failureProbability?: number;
}

/** Terms of a bound on the average regret, in units of the loss. */
export interface RegretTerms {
  regularisation: number;
  stability: number;
  noise: number;
  /** Their sum. */
  total: number;
}

/** Upper bounds on the average regret; null where none of our theorems gives one. */
export interface RegretBounds {
  /** The `lambda` that the bounds are for; where none was given, the default of the learner. */
  lambda: number;
  /**
   * Bound on the expected average regret; for descent only with independent noise on each gradient.
   */
  expected: RegretTerms | null;
  /** Bound that the average regret itself exceeds with probability `failureProbability` at most. */
  highProbability: RegretTerms | null;
  /** Bound in the form of Henzinger, Upadhyay and Upadhyay: stability four times as large. */
  hazan: RegretTerms | null;
}

/** One feature, and what a model does with it. */
export interface ModelInput {
  name: string;
  /** Public range that is mapped to [-1, 1]; values outside are moved to its edge. */
  low?: number;
  high?: number;
}

/** A linear model as plain data: JSON keeps it, and `predict` uses it. */
export interface LearnedModel {
  format: 'dp-ftrl model';
  version: 1;
  loss: LossName | 'softmax' | 'function';
  /** Number of classes, for 'softmax': the weights of one class follow those of another. */
  numClasses?: number;
  inputs: ModelInput[];
  /** Whether the last of the weights belongs to a feature that is always 1. */
  intercept: boolean;
  /** Average of the weights that were played: the one the regret theorem is about. */
  weights: number[];
  /** The latest weights, which follow a change sooner. */
  lastWeights: number[];
  numExamples: number;
  /** False if it was made with a fixed seed, or with something else that was read from the data. */
  private: boolean;
  certificate: Certificate;
  /** The privacy unit of the certificate, in words. */
  protects?: string;
  /** Measured on the data: NOT private. */
  nonprivate?: {
    /** Mean loss, over one pass, of the predictions that were made before each label was known. */
    progressiveLoss: number;
    /** Mean loss of always predicting 0. */
    zeroLoss: number;
    /** Share of correctly predicted classes; null where there are no classes. */
    progressiveAccuracy: number | null;
    /** The same for the learner without noise. */
    twin?: { progressiveLoss: number; progressiveAccuracy: number | null };
    /**
     * Excess of the mean losses of learner and twin, over all passes, above `bestLoss`, that of the
     * best fixed weights in hindsight (of the domain; of the whole space, of those of norm at most
     * `radius`); the regrets are at most `gap` more. Null where there are too many rows to keep.
     */
    regret?: { private: number; twin: number; bestLoss: number; gap: number } | null;
    /**
     * Mean loss of the average weights, and of the latest ones, on rows that were not learned from.
     */
    heldOutLoss?: { average: number; last: number };
  };
}

/** A numeric table, row after row. */
export interface Table {
  numRows: number;
  numColumns: number;
  /** numRows * numColumns entries, row-major. */
  values: Float64Array;
  /** Labels for learning, numRows entries. Logistic loss: 0/1 or -1/+1. */
  labels?: Float64Array;
}

export interface SimulationOptions extends MechanismOptions, LossOptions {
  /** Entries of each record (features). Taken from the table when there is one. Default 4. */
  dimension?: number;
  /** Synthetic stream (ignored when a table is given). Default 'stationary'. */
  stream?: StreamName;
  /** Seed of the synthetic stream. Default 1. */
  streamSeed?: number | bigint;
  /** Seed of the noise, always fixed: a simulation is never a private release. Default 1. */
  noiseSeed?: number | bigint;
  /** Own data instead of a synthetic stream; without `labels` only sums are simulated. */
  table?: Table;
  /** The mechanism's parameter that is called lambda elsewhere. */
  mechanismLambda?: number;
  /** As for `learner`: both learners' `lambda` grows. Default false. */
  doubling?: boolean;
  /**
   * Number of examples of a step, or of records of a table without labels. A batch that the table
   * does not fill is left out. Default 1.
   */
  batchSize?: number;
  /** Prefixes at which regret is measured; 0 turns it off. Default 64. */
  numRegretPrefixes?: number;
}

/** Results of some consecutive steps; k = numSteps, d = dimension, b = batchSize. */
export interface SimulationChunk {
  firstStep: number;
  numSteps: number;
  /** k*d, row-major. SECRET in a real deployment. */
  trueSums: Float64Array;
  /** k*d, row-major: what would be released. */
  noisySums: Float64Array;
  /** k: predicted std of the noise of each coordinate of the release. */
  stddev: Float64Array;
  /** k: mean loss of the predictions made before learning; empty without a learner. */
  privateLoss: Float64Array;
  twinLoss: Float64Array;
  /** k*b entries 0 or 1, step after step, classification only; else empty. */
  privateCorrect: Uint8Array;
  twinCorrect: Uint8Array;
  /** Regret measured at prefixes of this chunk: average regret after `steps` steps. */
  regret: {
    steps: Float64Array;
    private: Float64Array;
    twin: Float64Array;
    /** Certified optimality gap of the comparator, average loss. */
    gap: Float64Array;
  };
}

/**
 * Shows the true and the private sums side by side. For demonstration and study, NEVER private: the
 * seed of its noise is fixed, and it holds and returns the true sums, which a deployment must keep
 * secret. Its certificate is that of a `prefixSum` with the same options and no seed.
 */
export interface Simulation extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  readonly step: number;
  readonly finished: boolean;
  readonly learns: boolean;
  /** Whether labels are classes, so that there is an accuracy. */
  readonly classifies: boolean;
  /**
   * Whether no gradient can exceed the clip norm. If false, `regretBound` is that of the clipped
   * problem.
   */
  readonly clippingImpossible: boolean;
  readonly grid: number;
  /** Regularisation used by the private learner and by its twin; 0 without a learner. */
  readonly lambda: { private: number; twin: number };
  /**
   * Bound of the regret theorem on the expected average regret; null without a learner, and for
   * descent with rates, momentum or correlated noise.
   */
  readonly regretBound: { private: number; twin: number } | null;
  /** Runs at most `maxSteps` steps. Past the end: an empty chunk. */
  advance(maxSteps: number): SimulationChunk;
  /**
   * Returns the mean loss on `numExamples` examples of the synthetic stream that come after the
   * horizon: of the average of the weights played, whose expected risk exceeds that of any fixed
   * weights by at most the average regret where examples are independent, and of the latest
   * weights.
   */
  heldOutRisk(numExamples: number): HeldOutRisk;
}

/** Risks on the synthetic stream; the twin's, which learns without noise, is NOT private. */
export interface HeldOutRisk {
  average: { private: number; twin: number };
  last: { private: number; twin: number };
}

/** The library. Functions exist only here: `const dp = await load()`. */
export interface DpFtrl {
  readonly version: string;
  mechanisms(): CatalogueEntry[];
  /**
   * Returns the noise that a privacy target requires, at unit sensitivity.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { noiseMultiplier, mu } = dp.calibrate({ epsilon: 1, delta: 1e-6 });
   * console.log(noiseMultiplier, 1 / mu); // 4.2247 twice
   * ```
   */
  calibrate(options: ApproximateDp | { mu: number; delta: number }): GaussianCalibration;
  /**
   * Does the same for rho too: `epsilon` then holds for every rho-zCDP mechanism, lattice noise
   * included.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * console.log(dp.calibrate({ rho: 0.5, delta: 1e-3 }).epsilon); // 3.5366
   * ```
   */
  calibrate(options: CalibrateOptions): Calibration;
  /**
   * Returns sensitivity and errors of a mechanism at unit noise multiplier and clip norm 1.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const problem = { numSteps: 1024, participation: { epochs: 4 } };
   * const { maxError, sensitivityExactness } = dp.error({ mechanism: 'tree', ...problem });
   * console.log(maxError, sensitivityExactness);
   * ```
   */
  error(options: UnitErrorOptions): UnitError;
  /**
   * Returns the error of every step, sensitivity * ||B_t||.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const errors = dp.errorPerStep({ mechanism: 'tree', numSteps: 8 });
   * console.log(Math.max(...errors));
   * ```
   */
  errorPerStep(options: ErrorOptions): Float64Array;
  /**
   * Returns B, C and the covariance of the noise, for at most 512 steps.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { encoder, decoder } = dp.matrices({ mechanism: 'square-root', numSteps: 4 });
   * console.log(encoder[4], decoder[4]); // row 1, column 0: 0.5 in both
   * ```
   */
  matrices(options: ErrorOptions): Matrices;
  /**
   * Compares all mechanisms side by side, best first.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { mechanisms } = dp.compare({ numSteps: 64, workload: { momentum: 0.9 } });
   * const [{ mechanism, parameters, ratio }] = mechanisms;
   * console.log(mechanism, parameters, ratio);
   * ```
   */
  compare(options: CompareOptions): Comparison;
  /**
   * The same, piece by piece.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const comparison = dp.comparison({ numSteps: 16 });
   * while (comparison.advance()) console.log(comparison.progress.fraction);
   * console.log(comparison.result().mechanisms.length);
   * ```
   */
  comparison(options: CompareOptions): PiecewiseComparison;
  /**
   * Returns proved and published bounds on the least error of prefix sums.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { max, published } = dp.bounds(1024);
   * console.log(max, published.lower.value, published.lower.holds);
   * ```
   */
  bounds(numSteps: number): ErrorBounds;
  /**
   * Everything a privacy claim rests on, without a release, and how good the mechanism is.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { mu, noiseStddev, maxError } = dp.certificate({
   *   mechanism: 'honaker',
   *   numSteps: 1000,
   *   epsilon: 1,
   *   delta: 1e-6,
   *   participation: { participations: 3, minSeparation: 100 },
   * });
   * console.log(mu, noiseStddev, maxError);
   * ```
   */
  certificate(options: MechanismOptions): CheckedCertificate;
  /**
   * Finds the parameters of an optimised mechanism, to be saved and used.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const saved = dp.optimize({ mechanism: 'blt', numSteps: 64 });
   * console.log(JSON.stringify(saved).length, saved.error);
   * ```
   */
  optimize(options: OptimizeOptions): SavedStrategy;
  /**
   * The same, piece by piece.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const search = dp.optimization({ mechanism: 'blt', numSteps: 64 });
   * while (search.advance()) console.log(search.progress.fraction);
   * console.log(search.result().status);
   * search.dispose();
   * ```
   */
  optimization(options: OptimizeOptions): Optimization;
  /**
   * A private running total.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const target = { numSteps: 1000, epsilon: 1, delta: 1e-6, clipNorm: 1 };
   * const sums = dp.prefixSum({ mechanism: 'honaker', dimension: 2, ...target });
   * console.log(sums.release([0.6, 0.8]), sums.stddev(0));
   * const out = new Float64Array(4);
   * sums.releaseMany(Float64Array.of(1, 0, 0, 1), out); // two records at once
   * sums.dispose();
   * ```
   */
  prefixSum(options: PrefixSumOptions): PrefixSum;
  /**
   * A private running total of people's contributions.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const twiceAWeek = { participations: 8, minSeparation: 3 };
   * const target = { numSteps: 28, epsilon: 1, delta: 1e-6, clipNorm: 90 };
   * const minutes = dp.peopleSum({ ...target, participation: twiceAWeek });
   * minutes.contribute('ann', [60]);
   * minutes.contribute(['bob', 'ann'], [45, 20]);
   * console.log(minutes.endSteps()); // the first day: 125 and noise
   * minutes.dispose();
   * ```
   */
  peopleSum(options: PeopleSumOptions): PeopleSum;
  /**
   * Private online learning.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const learner = dp.learner({ numSteps: 1000, dimension: 2, epsilon: 4, delta: 1e-6 });
   * learner.learn([0.6, -0.2, -0.5, 0.1], [1, 0]); // two examples
   * const model = learner.model();
   * learner.dispose();
   * console.log(model.weights, dp.predict(model, [0.3, 0.3]));
   * ```
   */
  learner(options: LearnerOptions): Learner;
  /**
   * A learner without noise: NOT private.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const twin = dp.twin({ numSteps: 1000, dimension: 2 });
   * const predictions = new Float64Array(2);
   * twin.learn([0.6, -0.2, -0.5, 0.1], [1, 0], predictions);
   * console.log(predictions); // what it would have said before each label was known
   * twin.dispose();
   * ```
   */
  twin(options: TwinOptions): Twin;
  /**
   * The best fixed weights in hindsight: NOT private.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const comparator = dp.comparator({ dimension: 2, radius: 3 });
   * comparator.append([0.6, -0.2, -0.5, 0.1], [1, 0]);
   * const { weights, loss, gap } = comparator.best();
   * comparator.dispose();
   * console.log(weights, loss, gap); // no weights have less than loss - gap
   * ```
   */
  comparator(options: ComparatorOptions): Comparator;
  /**
   * Upper bounds on the average regret of a learner with this certificate, term by term, for losses
   * whose gradients are never clipped. They depend on no data, and leave out what truncation to the
   * grid of the release takes of the gradients: at most batchSize / 8 of the noise term, at the
   * default grid and up to 2^18 steps.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const learner = dp.learner({ numSteps: 1000, dimension: 2, epsilon: 4, delta: 1e-6 });
   * const { expected, highProbability } = dp.regretBounds(learner.certificate, { dimension: 2 });
   * learner.dispose();
   * console.log(expected.regularisation, expected.stability, expected.noise);
   * console.log(highProbability.total); // exceeded with probability 0.05 at most
   * ```
   */
  regretBounds(certificate: Certificate, options?: RegretBoundsOptions): RegretBounds;
  /**
   * Returns predictions of a model for examples of the inputs it names, row after row: the score,
   * whose sign is the class and whose 1 / (1 + e^-score) the probability of 1, or the value for
   * squared loss; a score for each class of 'softmax'.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const learner = dp.learner({ numSteps: 4, epsilon: 1, delta: 1e-6, loss: 'squared' });
   * const model = JSON.parse(JSON.stringify(learner.model()));
   * console.log(dp.predict(model, [0.5, 1])); // two examples of one input
   * ```
   */
  predict(model: LearnedModel, features: ArrayLike<number>, out?: Float64Array): Float64Array;
  /**
   * Rows of noise, rounded exactly, of all coordinates or of a shard of them.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const key = crypto.getRandomValues(new Uint8Array(32));
   * const options = { mechanism: 'tree', numSteps: 100, dimension: 500, key };
   * const left = dp.noise(options);
   * const right = dp.noise({ ...options, firstCoordinate: 500 });
   * console.log(left.rounded({ numRows: 1, scale: 64 }), right.rounded({ numRows: 1, scale: 64 }));
   * left.dispose();
   * right.dispose();
   * ```
   */
  noise(options: NoiseOptions): Noise;
  /**
   * A private running total whose state is kept in a store: it continues where it stopped, and
   * never releases a step for two records.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   * import { FileStore } from 'dp-ftrl/file-store';
   *
   * const dp = await load();
   * const store = await FileStore.open('year.state');
   * const target = { numSteps: 365, epsilon: 1, delta: 1e-6, clipNorm: 1 };
   * const visits = await dp.ledger({ mechanism: 'tree', ...target, store });
   * console.log(await visits.release(visits.step, [1]));
   * visits.dispose();
   * await store.close();
   * ```
   */
  ledger(options: LedgerOptions): Promise<ReleaseLedger>;
  /**
   * A learner whose state is stored before anything of it is shown; it continues from the state in
   * the store, if there is one. The bytes hold the key and the true sums of gradients: as secret as
   * the examples.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   * import { FileStore } from 'dp-ftrl/file-store';
   *
   * const dp = await load();
   * const store = await FileStore.open('learner.state');
   * const options = { mechanism: 'tree', numSteps: 1000, epsilon: 1, delta: 1e-6, dimension: 2, store };
   * const ledger = await dp.learnerLedger(options);
   * const examples = [[0.5, 1], [0.25, -1]];
   * for (const features of examples.slice(ledger.numExamples)) await ledger.learn(features, [1]);
   * console.log((await ledger.model()).weights);
   * ledger.dispose();
   * await store.close();
   * ```
   */
  learnerLedger(options: LearnerLedgerOptions): Promise<LearnerLedger>;
  /**
   * True and private sums and a learner side by side, for study: NEVER private.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const play = dp.simulation({ numSteps: 200, epsilon: 4, delta: 1e-6 });
   * while (!play.finished) {
   *   const { noisySums, privateLoss } = play.advance(50);
   *   console.log(noisySums.length, privateLoss.length);
   * }
   * play.dispose();
   * ```
   */
  simulation(options: SimulationOptions): Simulation;
  /**
   * Answers to many counting queries on one histogram, with noise correlated in the way that is
   * best for them, and a proof of how good that is.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const ranges = dp.queries({ workload: { ranges: 8 }, epsilon: 1, delta: 1e-6 });
   * const { answers } = ranges.release([12, 30, 7, 0, 4, 9, 22, 5]);
   * console.log(ranges.label(1), answers[1], ranges.standardErrors[1], ranges.ratio);
   * ranges.dispose();
   * ```
   */
  queries(options: QueriesOptions): Queries;
  /**
   * The search that `queries` begins with, piece by piece.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const search = dp.querySearch({ workload: { ranges: 16 }, epsilon: 1, delta: 1e-6 });
   * while (search.advance()) console.log(search.progress.fraction);
   * const ranges = search.result();
   * search.dispose();
   * console.log(ranges.matrices().encoder.length, ranges.labels().length);
   * ranges.dispose();
   * ```
   */
  querySearch(options: QueriesOptions): QuerySearch;
  /**
   * Returns the index of a candidate of about the highest utility: the exponential mechanism, with
   * utilities of your own. Candidate i has a probability exactly proportional to exp(epsilon
   * utilities[i] / (2 sensitivity)), without the 2 if `monotone`: epsilon-differentially private.
   * The running time depends on the utilities: do not let anyone measure it.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const satisfied = [4210, 4350, 3900]; // users by price; one user moves each by at most 1
   * console.log(dp.choose({ utilities: satisfied, sensitivity: 1, monotone: true, epsilon: 1 }));
   * ```
   */
  choose(options: ChooseOptions): number;
  /**
   * Returns the value with about the most records: the exponential mechanism,
   * epsilon-differentially private. The running time depends on the counts: do not let anyone
   * measure it.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * console.log(dp.winner({ histogram: [120, 310, 70], epsilon: 0.5 })); // 1, nearly always
   * ```
   */
  winner(options: WinnerOptions): number;
  /**
   * Returns a value at about a quantile of the records, as `winner` does.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const histogram = [20, 90, 300, 80, 10];
   * console.log(dp.quantile({ histogram, quantile: [1, 2], epsilon: 0.5 })); // 2, nearly always
   * ```
   */
  quantile(options: QuantileOptions): number;
  /**
   * Returns the mu of Gaussian differential privacy that epsilon-differential privacy implies, to
   * add it up with other releases: root of the sum of squares. Rounded up.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * console.log(dp.pureMu(1)); // 1.232...
   * ```
   */
  pureMu(epsilon: number): number;
  /**
   * Returns the rho of zero-concentrated differential privacy that epsilon-differential privacy
   * implies, to add it up with other releases: epsilon tanh(epsilon / 2). Rounded up.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * console.log(dp.pureRho(1)); // 0.4621...
   * ```
   */
  pureRho(epsilon: number): number;
  /**
   * Adds up what releases spend together, each of them chosen in the light of those before: a
   * privacy filter accepts the next one while `fits`.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const limit = { epsilon: 1, delta: 1e-6 };
   * const costs = [dp.calibrate({ epsilon: 0.5, delta: 1e-6 }).mu, dp.pureMu(0.1)];
   * console.log(dp.compose({ account: 'mu', costs, ...limit }).fits); // true
   * ```
   */
  compose(options: CompositionOptions): Composition;
  /** Number of handles not yet disposed of, for leak tests. */
  readonly liveHandles: number;
}
