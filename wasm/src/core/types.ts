// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />

// Types of the host by name, so that these declarations also compile where the DOM library or
// Node's types are absent.
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

/** Parameters of mechanisms that have some; the catalogue tells which takes which. */
export interface MechanismParameters {
  /** Non-zero diagonals, the main one included. */
  bands?: number;
  /** Buffers; of `optimal` 8 by default, 'exact' (or 0) for full accuracy. */
  buffers?: number | 'exact';
  /** What the optimised mechanisms minimise. Default 'max'. */
  objective?: 'max' | 'mean';
  /** BLT: theta, each in [0, 1). */
  decays?: ArrayLike<number>;
  /** BLT: omega, as many as decays. */
  weights?: ArrayLike<number>;
  /** Children of a node. */
  arity?: number;
  /** Trees of odd arity: nodes are also subtracted. */
  subtractive?: boolean;
  /** Smooth tree: bits of a leaf. */
  height?: number;
  /** Smooth tree: ones of a leaf. */
  weight?: number;
  nu?: number;
  lambda?: number;
  /** Log-perturbed: the error grows like log^(1 + alpha). */
  alpha?: number;
  /** Log-perturbed: power of the log log factor. */
  loglogPower?: number;
  /** Log-perturbed: steps the noise is scaled for, at least numSteps. */
  horizonCap?: number;
  /** Any mechanism for prefix sums: start afresh every so many steps. */
  epochLength?: number;
  /** Trees with epochLength: complete a finished epoch to a power of two. */
  completeEpochs?: boolean;
  /** Any mechanism: scale the columns of C to norm 1. */
  normalizeColumns?: boolean;
}

/**
 * What is answered at every step: sums of all records; an exponentially averaged sum (momentum,
 * with weight decay); sums of the last `window` records; sums weighted by learning rates; or any
 * lower-triangular matrix, numSteps * numSteps entries, row-major.
 */
export type Workload =
  | 'prefix'
  | { momentum: number; decay?: number }
  | { window: number }
  | { rates: ArrayLike<number>; momentum?: number }
  | { matrix: ArrayLike<number> };

/**
 * To which steps one user may contribute: one; one in each of so many epochs, always at the same
 * place; or at most so many, at least `minSeparation` (j - i) apart.
 */
export type Participation =
  | 'single'
  | { epochs: number }
  | { participations: number; minSeparation: number };

/**
 * An optimised mechanism as plain data: JSON keeps it, and from its numbers on there is only
 * + - * / and sqrt, so that it gives the same noise, bit for bit, wherever it is used. It stands
 * wherever a mechanism is named. Sensitivity and errors are computed again from the numbers: a
 * damaged strategy costs accuracy, never privacy.
 */
export interface SavedStrategy {
  format: 'dp-ftrl strategy';
  version: 1;
  mechanism: MechanismName;
  /** Horizon, the only one it serves. */
  numSteps: number;
  workload: Workload;
  /** What it was optimised for, and what it is used for where no participation is given. */
  participation: Participation;
  objective: 'max' | 'mean';
  /** What the steps counted in `error` and `lowerBound`, where that was not all the same. */
  queryWeights?: number[];
  /** The error that was minimised, of this mechanism as it is run, at unit noise multiplier. */
  error: number;
  /** As in `CertifiedBound`, when the search ended. */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /**
   * As in `CertifiedBound`; missing where it is 1, and from files of before. There it is the least d
   * with (d + 1) (d + 2) / 2 above the participations: 2 from 3 on, 3 from 6 on.
   */
  lowerBoundMinDimension?: number;
  /** As in `CertifiedBound`; missing where `lowerBoundMinDimension` is. */
  lowerBoundEveryDimension?: number;
  /** error / lowerBound */
  ratio: number | null;
  /**
   * Of the search: converged, as far as can be proved for `optimal` and to a stationary point for
   * the others; stopped before; the iterations were used up; or infeasible: there is no search for
   * the workload and participation that were asked for, and this is what is best for prefix sums,
   * or for one participation; or no proof as close as was asked for.
   */
  status: 'converged' | 'stopped' | 'not converged' | 'infeasible';
  iterations: number;
  /** All that defines it, by name. */
  parameters: Record<string, number[]>;
}

/**
 * The parameters a mechanism was made with, those that were chosen for it among them, by the names
 * of `MechanismParameters`, and short lists that the optimised ones have besides (`coefficients`,
 * `shifts`). What is as long as the horizon is not here but in a `SavedStrategy`.
 */
export type EffectiveParameters = Record<string, number | boolean | number[]>;

/**
 * How a lower bound was found: from dual variables of the optimum, in linear time or with dense
 * matrices, or as the Schatten-1 norm of the workload.
 */
export type BoundMethod = 'dual' | 'dense dual' | 'schatten';

/** Proved bounds on the least error that a factorization can have; null where none is known. */
export interface CertifiedBound {
  /**
   * Certified lower bound on that error of every factorization whose Gaussian noise is scaled to
   * its sensitivity, for records of `lowerBoundMinDimension` numbers or more. Mechanisms that are
   * no factorizations with Gaussian noise can have smaller errors.
   */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /** 1 up to 2 participations: fewer numbers a record can be moved less by more contributions. */
  lowerBoundMinDimension: number | null;
  /** The same for records of every dimension, one number too: at most `lowerBound`. */
  lowerBoundEveryDimension: number | null;
}

/** Neighbouring relation: one user's contribution set to zero, or replaced by any other one. */
export type Neighbours = 'zero-out' | 'replace-one';

/** Where the WebAssembly bytes come from; not needed for the `.` entry, which carries them. */
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
  /** Its own parameters. Each mechanism takes epochLength and normalizeColumns besides. */
  parameters: (keyof MechanismParameters)[];
  /**
   * 'adapted': Toeplitz workloads get an encoder of their own; 'decoded': the encoder is that for
   * prefix sums, and those are decoded further.
   */
  workloads: 'adapted' | 'decoded';
  /** Longest horizon of its formulas. */
  maxSteps: number;
  /** Its measurements read no later step than the one at which they are used. */
  causal: boolean;
  /**
   * Laplace noise in place of the Gaussian would give pure differential privacy (delta = 0), for
   * records chosen in the light of releases, too. Sums of this package draw Gaussian noise;
   * `queries` and the exponential mechanism serve delta = 0.
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
  /** Zero-concentrated DP: as given, or that of the Gaussian mechanism, mu^2 / 2. */
  rho: number;
  /**
   * Gaussian DP. null where rho was given: a rho-zCDP mechanism need not be a Gaussian one, and
   * epsilon is then an upper bound for all of them.
   */
  mu: number | null;
  /** Which theorem the numbers come from. */
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
   * mu or rho of each release, > 0: of certificates and `calibrate`, or `pureMu(epsilon)` and
   * `pureRho(epsilon)` of a pure release.
   */
  costs: readonly number[] | Float64Array;
}

export interface Composition {
  /** mu or rho of all together, rounded up; 0 of none. */
  total: number;
  /** The largest total that stays within (epsilon, delta), rounded down. */
  limit: number;
  /** Epsilon of the total at delta, rounded up; 0 of none. */
  epsilon: number;
  /** total <= limit. */
  fits: boolean;
}

export interface ErrorOptions extends MechanismParameters {
  /** A saved one has its horizon and its workload, and takes no parameters. */
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
  /** Most steps of a user: 1 where `participation` is 'single'. */
  maxParticipations: number;
  /** j - i of two steps of a user: exactly, or at least, as `participation` says. */
  separation: number;
  neighbours: Neighbours;
  /** Distance of the measurements of neighbours, in clip norms. */
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  /** How it was computed. */
  sensitivityMethod: string;
  /** sensitivity * max_t ||B_t||, unit noise multiplier */
  maxError: number;
  /** sensitivity * ||B||_F / sqrt(numSteps), unit noise multiplier */
  meanError: number;
  /** Which error the bound, ratio and gap are about: the mechanism's `objective`, or 'max'. */
  objective: 'max' | 'mean';
  /** That error / lowerBound. */
  ratio: number | null;
  /** ratio - 1: no factorization that is bounded is better by more than this share of the bound. */
  gap: number | null;
  /** With `normalizeColumns`: whether the error of the objective is larger than without. */
  raisedByNormalizing?: boolean;
  decoderResidual: number;
  residualSteps: number;
  effectiveParameters: EffectiveParameters;
}

export interface OptimizeOptions extends MechanismParameters {
  /** One whose parameters are searched for. Default 'optimal'. */
  mechanism?: MechanismName;
  /** Horizon. */
  numSteps: number;
  /** Default 'prefix'. */
  workload?: Workload;
  /**
   * Default 'single'. 'blt', 'banded-toeplitz' and 'banded' are optimised for it, 'optimal' for
   * epochs up to 1024 steps. What is optimised for another one has status 'infeasible'.
   */
  participation?: Participation;
  /**
   * Of 'optimal', for prefix sums: 'none' takes weights in closed form, at once and a little worse;
   * the status is 'stopped'.
   */
  solver?: 'exact' | 'none';
  /** Gives up after so many in all, over all starts and rounds: `status` then says so. */
  maxIterations?: number;
  /**
   * Of 'optimal': the search ends when the bounds on the optimum are this close, relative, above 0
   * and below 1. Default 1e-7, with dense matrices 1e-4.
   */
  gap?: number;
  /**
   * Of 'optimal', objective 'mean', one participation, for sums, decay and positive rates: weights
   * w, 2^-40 to 2^40, one a step. `error` and `lowerBound` are then sqrt(sum_i w_i e_i^2 / n), e_i
   * the error of step i of n; `dp.error` of what was found tells the errors without weights.
   */
  queryWeights?: ArrayLike<number>;
}

export interface OptimizeProgress {
  iterations: number;
  /** Part of the way, 0 to 1: to the certified gap; of families a guess; of comparisons the share. */
  fraction: number;
}

/** A search that is made piece by piece. */
export interface Optimization extends Handle {
  readonly progress: OptimizeProgress;
  readonly finished: boolean;
  /**
   * One piece: an iteration of `optimal`, some of the others. False when nothing is left.
   */
  advance(): boolean;
  /** The best so far. Before the end its status is 'stopped'. */
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
  /** sensitivity^2 B B^T, numSteps x numSteps: the noise at unit noise multiplier. */
  noiseCovariance: Float64Array;
}

export interface CompareOptions {
  /** Horizon, 1 .. 2^40. */
  numSteps: number;
  workload?: Workload;
  participation?: Participation;
  /** What the table is sorted by. Default 'max'. */
  objective?: 'max' | 'mean';
  /** Saved strategies that are compared, too. */
  strategies?: readonly SavedStrategy[];
}

export interface ComparedMechanism {
  mechanism: MechanismName;
  /** Those that differ from the defaults. */
  parameters: MechanismParameters;
  /** One of the saved strategies that were given. */
  saved: boolean;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  maxError: number;
  meanError: number;
  /** Error of the objective / lowerBound; null where no bound is at hand. */
  ratio: number | null;
  stepCost: string;
  memoryCost: string;
  causal: boolean;
  /** As in the catalogue. */
  pureDp: boolean;
}

export interface Comparison extends CertifiedBound {
  numSteps: number;
  workload: string;
  participation: string;
  objective: 'max' | 'mean';
  /** Best first. */
  mechanisms: ComparedMechanism[];
  /** What has no formula at this size or takes too long, with the reason. */
  leftOut: { mechanism: MechanismName; parameters: MechanismParameters; reason: string }[];
  /** Whose error of the objective normalised columns would raise: tried up to 256 steps. */
  raisedByNormalizing: MechanismName[];
}

export interface MechanismOptions extends ApproximateDp, MechanismParameters {
  /** Default 'optimal'. A saved one has its horizon and its workload, and takes no parameters. */
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

/** A comparison that is made mechanism by mechanism. */
export interface PiecewiseComparison {
  /** Its iterations are rows of the table, those that will be left out among them. */
  readonly progress: OptimizeProgress;
  readonly finished: boolean;
  /** One piece. False when nothing is left. */
  advance(): boolean;
  /** At the end; before it a DpError of code 'bad_state'. */
  result(): Comparison;
}

/** A bound from the literature, and whether it was found to hold at this horizon. */
export interface PublishedBound {
  value: number;
  /** False where it fails, and beyond `checkedTo` steps, where nobody looked. */
  holds: boolean;
  /** Found to hold from so many steps to `checkedTo`; null: it fails wherever it was looked at. */
  holdsFrom: number | null;
  checkedTo: number;
}

/** On errors of factorizations of the prefix sums, unit noise, one participation. */
export interface ErrorBounds {
  numSteps: number;
  /** Certified: no factorization has a smaller largest error. */
  max: number;
  /** Certified: no factorization has a smaller root mean squared error. */
  mean: number;
  /** Schatten-1 norm of the prefix sums over n, below both; a bound of that beyond 2^22 steps. */
  schatten: number;
  /** Upper bounds on the errors of the square root. */
  squareRoot: { max: number; mean: number };
  /**
   * As printed by Henzinger, Upadhyay and Upadhyay (2023): upper bounds on the errors of the square
   * root, and a lower bound on the mean error of every factorization.
   */
  published: { max: PublishedBound; mean: PublishedBound; lower: PublishedBound };
}

/** Everything a privacy claim rests on. */
export interface Certificate {
  mechanism: MechanismName;
  workload: string;
  participation: string;
  /** Most steps of a user, and their distance, as in `UnitError`. */
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
  /** The error that the mechanism is made for; 'max' where it has no objective. */
  objective: 'max' | 'mean';
  effectiveParameters: EffectiveParameters;
  /** Of releases in mode 'lattice', whose sensitivity and noise are those of the integers. */
  lattice?: LatticeClaim;
}

/** With how good the mechanism is, and that its factors belong together. */
export interface CheckedCertificate extends Certificate, CertifiedBound {
  /** That error / lowerBound: both are at noise multiplier 1, whoever the neighbours are. */
  ratio: number | null;
  /** ratio - 1: no factorization that is bounded is better by more than this share of the bound. */
  gap: number | null;
  /** max |A - B C| over the leading `residualSteps` steps, of the strategy for those. */
  decoderResidual: number;
  residualSteps: number;
}

/** Handles own memory of the WebAssembly heap: call `dispose()` or use `using`. */
export interface Handle {
  dispose(): void;
  [Symbol.dispose](): void;
  readonly disposed: boolean;
}

/**
 * Of mode 'lattice': discrete Gaussians, which are zCDP with the certificate's `rho` (some 7 % more
 * noise at epsilon 1, delta 1e-6), or exactly rounded ones, which are GDP with its `mu`.
 */
export type LatticeNoise = 'discrete-gaussian' | 'rounded-gaussian';

/** What mode 'lattice' claims beside the certificate. Lengths in units of a measurement. */
export interface LatticeClaim {
  noise: LatticeNoise;
  /** Bits after the point of the encoder's coefficients. */
  precisionBits: number;
  /** What a measurement counts, input units. */
  measurementUnit: number;
  /** Of the integer noise. */
  noiseVariance: number;
  /** Upper bound on how far a user moves all measurements, l2. */
  distance: number;
  /** Upper bound on what the roundings of integer buffers add to a measurement; 0 elsewhere. */
  roundingDeviation: number;
  /** To one step. */
  maxContributions: number;
}

export interface PrefixSumOptions extends MechanismOptions {
  /** Entries of each record. Default 1. */
  dimension?: number;
  /**
   * How a release is made. 'grid' (default): integer sums plus exactly rounded noise. 'lattice':
   * noisy integer measurements, decoded afterwards; only with mechanisms that have an integer
   * encoder (trees 'tree' and 'honaker', buffers 'blt' and 'blt-rational', and others with a
   * Toeplitz encoder), not with the default one: the rest is refused by name.
   */
  mode?: 'grid' | 'lattice';
  /** Mode 'lattice': law of the integer noise. Default 'discrete-gaussian'. */
  latticeNoise?: LatticeNoise;
  /** Mode 'lattice': bits after the point of the encoder's coefficients, up to 30. */
  precisionBits?: number;
  /** Spacing of the released values, a power of two. Default: see docs/guide/counters.md. */
  grid?: number;
  /**
   * Fixed seed: the output is then NOT private, and `insecure` says so. For tests and
   * demonstrations only. Without it the key is 256 bits from the platform.
   */
  insecureSeed?: number | bigint;
}

/** As of `prefixSum`. */
export type PeopleSumOptions = PrefixSumOptions;

/** Private running totals, of records or of people's contributions. */
export interface Totals extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Releases already made. */
  readonly step: number;
  readonly grid: number;
  /** A fixed seed was given: the totals are NOT private, whatever the certificate says. */
  readonly insecure: boolean;
  /**
   * Predicted std of the noise of each coordinate of the release at a 0-based step, input units, with
   * its rounding to the grid. What clipping and the grid take of records is a bias that no std tells.
   */
  stddev(step: number): number;
  /**
   * Ends the open step with what was contributed to it, and `numSteps - 1` more to which nobody
   * did, and returns their totals. Default: one step. If it fails on the way, the error's
   * `released` holds the totals of the steps before.
   */
  endSteps(numSteps?: number, out?: Float64Array): Float64Array;
}

/** A private running total of a stream of records. */
export interface PrefixSum extends Totals {
  /** Takes one record as a step, returns the private running total. */
  release(record: ArrayLike<number>, out?: Float64Array): Float64Array;
  /**
   * Takes `records.length / dimension` records, row after row, and returns as many totals. If a
   * record is refused, the error's `released` holds the totals of the records before it.
   */
  releaseMany(records: ArrayLike<number>, out?: Float64Array): Float64Array;
  /**
   * Adds `records.length / dimension` contributions to the open step, which `endSteps` ends. Each
   * is clipped by itself. Protected is who contributes no more than once to a step, and to steps
   * that `participation` allows: that is up to the caller here, and `peopleSum` makes sure of it.
   * If one is refused, the error's `contributed` says how many there were before it.
   */
  contribute(records: ArrayLike<number>): void;
}

/**
 * A private running total of what people contribute. Of each the earliest contributions count that
 * keep `participation`, which must be 'single' or `participations` with `minSeparation`; those of
 * one person to one step are added up and clipped together. So a person is protected, not a record.
 */
export interface PeopleSum extends Totals {
  /** Contributions that did not count so far. It depends on the data: NOT private. */
  readonly numDropped: number;
  /**
   * Adds to the open step, which `endSteps` ends: for each record of `dimension` entries the
   * person it is from. If one is refused, the error's `contributed` says how many there were
   * before it.
   */
  contribute(people: string | ArrayLike<string>, records: ArrayLike<number>): void;
  /** As many steps as records, each with one contribution; the totals as of `releaseMany`. */
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
   * Where the row begins in that of the whole: shards that share a key together have the numbers of
   * the whole. Default 0.
   */
  firstCoordinate?: number;
  /**
   * Rows of what a step adds to the noise of its sum, for those who add noise to each gradient; their
   * sums are the noise of sums, up to rounding. For `independent`, `banded-inverse-square-root` and
   * `lambda-cgd` over prefix sums. Nothing is kept from step to step: seeking costs nothing, and a
   * row as many normals as the inverse encoder has bands. Default false.
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

/** Rows of a mechanism's noise, one a step, for those who add it to integers themselves. */
export interface Noise extends Handle {
  readonly dimension: number;
  readonly numSteps: number;
  /** The step of the next row. */
  readonly step: number;
  /** The row of `step`, 0 .. numSteps, is the next one, with the numbers that it always has. */
  seek(step: number): void;
  /**
   * The next rows, one after the other: floor(scale * entry + 1/2) of the ideal entries, exactly.
   * Unit noise: `scale` is the noise std in units of the integers that it is added to, up to 2^40.
   */
  rounded(options: { numRows: number; scale: number }): Float64Array;
  /** Bytes from which `restore` goes on, here or natively. Without the key; as secret as it. */
  checkpoint(): Uint8Array;
  /** Repeats noise if rows were used since: only for the newest checkpoint. See `ledger`. */
  restore(bytes: Uint8Array): void;
}

/** What is asked of a histogram over values 0 .. m - 1. */
export type QueryWorkload =
  /** The count of every one of so many values. */
  | { identity: number }
  /** Of every v, how many have a value of at most v. */
  | { prefix: number }
  /** How many have a value from i to j, for all i <= j: up to 2048 values; objective 'max': 361. */
  | { ranges: number }
  /** All tables of counts of `order` attributes, of which these are the sizes. */
  | { marginals: ArrayLike<number>; order: number }
  /** Parities of `order` of so many bits: sums of 1 and -1. */
  | { parities: number; order: number; withLowerOrders?: boolean }
  /** Any queries, one a row. */
  | { matrix: readonly ArrayLike<number>[] }
  /**
   * Every query of one on its attribute and of the next on the next; of a value with several
   * attributes the first counts slowest. At most three parts.
   */
  | { product: readonly QueryWorkload[] }
  /** The queries of all, about the same values. */
  | { union: readonly QueryWorkload[] };

export interface QueriesOptions {
  workload: QueryWorkload;
  /** > 0. */
  epsilon: number;
  /** Below 1. 0: pure differential privacy, by Laplace noise. */
  delta: number;
  /**
   * Default 'zero-out': one record more or less. 'replace-one': one record of another value; their
   * number is public then, answers tell it exactly, and the others are better for it.
   */
  neighbours?: Neighbours;
  /**
   * How many records of one person a histogram may have: then that person is protected. See to it
   * that nobody has more. Default 1, and with 'replace-one' always 1: persons can have different
   * numbers of records, and the number of all records is public there.
   */
  maxContributions?: number;
  /**
   * What is measured. Default 'optimal': what gives the least error, for Gaussian noise with a
   * proof; for Laplace noise (delta 0) the best of several that are known to be good.
   */
  strategy?: 'optimal' | 'identity' | 'queries';
  /**
   * Least root mean square error ('mean', the default; certified to 1e-6) or least worst error
   * ('max', to 1e-4); with 'replace-one' both to 1e-4.
   */
  objective?: 'mean' | 'max';
}

export interface QueryReleaseOptions {
  /** Answers of the nearest histogram without negative counts: post-processing. Default false. */
  consistent?: boolean;
  /** With `consistent`: of whole numbers. */
  integer?: boolean;
  /**
   * With `consistent` and 'replace-one': what the counts sum to. By default what the measurements
   * tell.
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
 * The factorization mechanism F = R M: measurements M h get integer noise, answers are made of
 * them by R.
 */
export interface Queries extends Handle {
  readonly numQueries: number;
  readonly numValues: number;
  readonly numMeasurements: number;
  readonly neighbours: Neighbours;
  readonly noise: 'gaussian' | 'laplace';
  /** Of Gaussian differential privacy; of Laplace noise `pureMu(epsilon)`. */
  readonly mu: number;
  /**
   * Error at unit noise (std / distance by one record, l2 for Gaussian, l1 for Laplace noise), by
   * the objective.
   */
  readonly unitError: number;
  /** Certified: that of ANY factorization is at least this. */
  readonly lowerBound: number;
  /**
   * unitError / lowerBound: hardly above 1 for what is 'optimal'. With Laplace noise the bound is
   * that of the l2 norm; with 'replace-one' and more than 512 values it is not tight (1.05 to 2).
   */
  readonly ratio: number;
  /** Textbook bound of the sensitivity / that used here. */
  readonly textbookRatio: number;
  /** Of the answers, one a query, before `consistent`. 0 for what is public. */
  readonly standardErrors: Float64Array;
  /** What query number `query` asks. */
  label(query: number): string;
  /** What each of them asks. */
  labels(): string[];
  /** F, R and M, up to 2^25 entries each. */
  matrices(): QueryMatrices;
  /** Each call is a release of its own, with noise of its own: privacy losses add up. */
  release(histogram: ArrayLike<number>, options?: QueryReleaseOptions): QueryAnswers;
}

/** F = R M, row-major, so scaled that a record moves what is measured by at most 1. */
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

/** The search for what is best measured, piece by piece. */
export interface QuerySearch extends Handle {
  readonly progress: OptimizeProgress;
  readonly finished: boolean;
  /** One piece: an eigendecomposition or a few. False when nothing is left. */
  advance(): boolean;
  /** Does what is left, and makes a new handle. */
  result(): Queries;
}

export interface ChooseOptions {
  /** How good each candidate is: integers below 2^53 in magnitude, up to 2^24 of them. */
  utilities: ArrayLike<number>;
  /**
   * By how much one utility can differ between neighbouring data sets, at most: below 2^31. The
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
   * How many records of one person a histogram may have: then that person is protected. See to it
   * that nobody has more. Default 1.
   */
  maxContributions?: number;
  /** Fixed noise, for tests and demonstrations: NOT private. */
  insecureSeed?: number | bigint;
}

export interface QuantileOptions extends WinnerOptions {
  /** As a fraction: [1, 2] is the median. */
  quantile: readonly [numerator: number, denominator: number];
}

/**
 * Where a ledger keeps its bytes. `FileStore` (dp-ftrl/file-store) and `IndexedDbStore`
 * (dp-ftrl/indexed-db) are such stores. The bytes hold the key and the true sums: as secret as the
 * records. A ledger has its store to itself until it is disposed of; another one is refused with
 * `store_in_use`. It is known by the object: do not wrap one store in two.
 */
export interface ReleaseStore {
  /** The bytes that were saved last, or undefined (or null) where there never were any. */
  load(): Promise<Uint8Array | null | undefined>;
  /**
   * Replaces the bytes, all or nothing. Resolves when they would outlive a crash; rejects, and
   * replaces nothing, where others have saved since `load`.
   */
  save(bytes: Uint8Array): Promise<void>;
  /** Lets go when what is being saved is saved or has failed; `save` rejects from then on. */
  close(): Promise<void>;
}

export interface LedgerOptions extends PrefixSumOptions {
  store: ReleaseStore;
}

/**
 * A private running total that survives restarts: a step is released for one record, ever. What is
 * handed out has been stored before.
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
   * The private running total after a 0-based step, up to `step`. Asked again with the same record
   * it gives the same total; with another one it rejects with code `already_released`.
   */
  release(step: number, record: ArrayLike<number>): Promise<Float64Array>;
  /** The same for `records.length / dimension` steps from `firstStep` on, stored once. */
  releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Float64Array>;
  /**
   * The same for steps that several contribute to: of each step all contributions, one after the
   * other, `dimension` entries each, or none. Each is clipped by itself: add up before what one
   * person contributes to a step. `memo` is stored with them, all or nothing; without steps it is
   * stored alone, with the key.
   */
  releaseSteps(
    firstStep: number,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array,
  ): Promise<Float64Array>;
  /** What was stored last with `releaseSteps`: as secret as the rest. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that tell the key from others, and say nothing of it. */
  readonly identity: string;
}

/** Of a prediction and a label; the first two want labels 0 and 1, or -1 and +1. */
export type LossName = 'logistic' | 'hinge' | 'squared' | 'huber' | 'absolute' | 'quantile';
/**
 * `heavy-tailed` has features of infinite variance, so that clipping matters; `sparse` has zeros in 7
 * of 8; `adversarial` answers the private learner's weights with the example that costs it most.
 */
export type StreamName =
  | 'stationary'
  | 'drifting'
  | 'switching'
  | 'heavy-tailed'
  | 'sparse'
  | 'adversarial';
/** Where the weights stay: see `radius`. */
export type DomainName = 'ball' | 'whole-space' | 'box' | 'simplex' | 'simplex-entropic';

/** What a learner optimises, and where. */
export interface LossOptions {
  /** Default 'logistic'. */
  loss?: LossName;
  /** Level of the `quantile` loss, between 0 and 1. Default 0.5. */
  quantile?: number;
  /** Where the `huber` loss goes over from a parabola to lines, in units of the label. Default 1. */
  huberThreshold?: number;
  /** Constraint set of the weights. Default 'ball'. */
  domain?: DomainName;
  /**
   * Of the ball; largest entry in the box; sum of the simplex, whose entries are not negative. In the
   * whole space, of the comparators of the regret theorem alone. Default 1.
   */
  radius?: number;
  /** Regularisation strength; default: the value of the regret theorem. */
  lambda?: number;
  /** Gradient descent on the noisy gradients instead of FTRL: with 'independent' it is DP-SGD. */
  descent?: DescentOptions;
}

/** Projected gradient descent: everything here is post-processing of the releases. */
export interface DescentOptions {
  /** Of each step, in units of 1 / lambda; from the last one on always that. Default: 1. */
  rates?: ArrayLike<number>;
  /** From 0 to below 1. Default 0. */
  momentum?: number;
  /**
   * 'workload': the encoder is made for sums with these rates and this momentum: for momentum of
   * mechanisms that have one for every Toeplitz workload ('square-root', its relatives,
   * 'independent'), for rates of 'optimal' (with `objective: 'mean'`, the default then; together
   * with momentum, or for momentum alone, up to 2048 steps, by matrices).
   * 'post-processing', the default: for prefix sums.
   */
  through?: 'post-processing' | 'workload';
}

/**
 * A loss of the caller's for some examples at once: the derivative of each in its prediction, and,
 * for `losses`, its value. It must not keep the arrays it is given. The slope of an example must be a
 * function of its own prediction and label, and of nothing else that was learned from: with means
 * over the batch, or anything kept from earlier calls, one example moves others and the learner is
 * NOT private. What such a run is compared with (regret, `comparator`, `twin`) is for C++, whose
 * `FunctionLoss` states the bounds that they need; here both refuse it.
 */
export type BatchLoss = (
  predictions: Float64Array,
  labels: Float64Array,
) => { slopes: ArrayLike<number>; values?: ArrayLike<number> };

export interface LearnerOptions extends MechanismOptions, Omit<LossOptions, 'loss'> {
  /**
   * Default 'logistic'. 'softmax' has a score for each of `numClasses` classes, labels 0, 1, ... A
   * function is asked once for all examples that meet the same weights.
   */
  loss?: LossName | 'softmax' | BatchLoss;
  /** Of 'softmax'. */
  numClasses?: number;
  /** Entries of each example (features). Default 1. */
  dimension?: number;
  /**
   * `lambda` is that of the first step, and grows with the square root of the steps, by doubling.
   * Default false.
   */
  doubling?: boolean;
  /** Examples of one step, each with its own clipped gradient. Default 1. */
  batchSize?: number;
  /** As of `prefixSum`, like the two that follow. */
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
 * into a private prefix sum, and the weights follow from its releases alone. So are they, and all
 * made from them, as private as those: an example is a record, or one of a batch's contributions,
 * of which one person makes at most one.
 */
export interface Learner extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Batches learned from; of one example if nothing else was asked for. */
  readonly step: number;
  readonly batchSize: number;
  /** Examples in the batch that is not full yet: not in the weights so far. */
  readonly numWaiting: number;
  readonly grid: number;
  readonly loss: LossName | 'softmax' | 'function';
  /** Predictions of an example: the classes of 'softmax', else 1. */
  readonly numScores: number;
  /** Of the next step; of descent the inverse of its rate. */
  readonly lambda: number;
  /** A fixed seed was given: the model is NOT private, whatever the certificate says. */
  readonly insecure: boolean;
  /**
   * Learns from `labels.length` examples, features row after row. Labels of classes are 0 or 1, or
   * -1 or +1. `predictions` gets for each the `numScores` scores from before its label was
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
  /** The loss of each prediction: reads the labels, and is NOT private. */
  losses(predictions: ArrayLike<number>, labels: ArrayLike<number>): Float64Array;
  /** The model so far, private as a whole. */
  model(): LearnedModel;
}

export interface LearnerLedgerOptions extends LearnerOptions {
  store: ReleaseStore;
  /**
   * Kept with a new state: what its features are, say. A state that goes on keeps its own, which the
   * ledger has as `memo`.
   */
  memo?: Uint8Array;
}

/**
 * A learner that survives restarts: what it shows has been stored before, so no step is ever made
 * for two batches. Its counts are those of the examples learned from, stored or not: `numExamples`
 * says which one comes next, after a restart and after an error. Calls are made one after the other.
 * A loss given as a function must be the same one in every life.
 */
export interface LearnerLedger
  extends Omit<Learner, 'learn' | 'endBatch' | 'model'> {
  /** Examples learned from in all lives: offer none of them again. */
  readonly numExamples: number;
  /**
   * As of a learner; stored once a call. `predictions` are written when that is done. Where storing
   * fails the examples count all the same, and the next call, whichever it is, stores them first.
   */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): Promise<void>;
  endBatch(): Promise<void>;
  model(): Promise<LearnedModel>;
  /** What the first life gave as `memo`: as secret as the rest. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that tell the key from others, and say nothing of it. */
  readonly identity: string;
}

/** What twin and comparator have to know of a learner, as its options say it. */
export interface HindsightOptions extends Omit<LossOptions, 'loss'> {
  /** Default 'logistic'. */
  loss?: LossName | 'softmax';
  numClasses?: number;
  dimension?: number;
}

export interface TwinOptions extends HindsightOptions {
  /** Of the learner; for the default of `lambda`, which is that of the theorem without noise. */
  numSteps: number;
  clipNorm?: number;
  doubling?: boolean;
  batchSize?: number;
}

/** A learner without noise, on exact sums of its own clipped gradients: NOT private. */
export interface Twin extends Handle {
  readonly dimension: number;
  readonly numScores: number;
  /** As of a learner. */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): void;
  endBatch(): void;
}

export interface ComparatorOptions extends Omit<HindsightOptions, 'lambda' | 'descent'> {
  /** What `gap` should be at most, in units of the mean loss. Default 1e-6. */
  gap?: number;
}

/** The fixed weights with the least mean loss: NOT private. */
export interface BestFixed {
  /** A point of the domain. */
  weights: Float64Array;
  /** Its mean loss. */
  loss: number;
  /** The least mean loss is at most so much below `loss`: proved for this very point. */
  gap: number;
  /** `gap` is at most what was asked for. */
  certified: boolean;
}

/**
 * Looks for the best fixed weights of the domain in hindsight, of the whole space for those of norm
 * at most `radius`. Keeps all examples, and is NOT private.
 */
export interface Comparator extends Handle {
  readonly dimension: number;
  readonly numScores: number;
  append(features: ArrayLike<number>, labels: ArrayLike<number>): void;
  /** For the examples so far, of which there must be one. */
  best(): BestFixed;
}

/** What the regret theorems are told of a learner, as its options say it. */
export interface RegretBoundsOptions {
  /** Weights of the model: `dimension` times the classes of softmax. Default 1. */
  dimension?: number;
  domain?: DomainName;
  radius?: number;
  lambda?: number;
  descent?: DescentOptions;
  doubling?: boolean;
  batchSize?: number;
  /** Of `highProbability`, between 0 and 1. Default 0.05. */
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

/** Upper bounds; null where no theorem of ours gives one. */
export interface RegretBounds {
  /** The one they are for; where none was given, the default of the learner. */
  lambda: number;
  /** On the expected average regret; of descent only with independent noise on each gradient. */
  expected: RegretTerms | null;
  /** The average regret itself exceeds it with probability `failureProbability` at most. */
  highProbability: RegretTerms | null;
  /** In the shape of Henzinger, Upadhyay and Upadhyay: stability four times as large. */
  hazan: RegretTerms | null;
}

/** Of one feature, what a model does with it. */
export interface ModelInput {
  name: string;
  /** Public range that is mapped to [-1, 1]; what lies outside is moved to its edge. */
  low?: number;
  high?: number;
}

/** A linear model as plain data: JSON keeps it, and `predict` uses it. */
export interface LearnedModel {
  format: 'dp-ftrl model';
  version: 1;
  loss: LossName | 'softmax' | 'function';
  /** Of 'softmax': the weights of one class follow those of another. */
  numClasses?: number;
  inputs: ModelInput[];
  /** The last of the weights belongs to a feature that is always 1. */
  intercept: boolean;
  /** Average of the weights that were played: what the regret theorem is about. */
  weights: number[];
  /** The latest ones, which follow a change sooner. */
  lastWeights: number[];
  numExamples: number;
  /** False: made with a fixed seed, or with something else that was read from the data. */
  private: boolean;
  certificate: Certificate;
  /** Whom the certificate is about, in words. */
  protects?: string;
  /** Measured on the data: NOT private. */
  nonprivate?: {
    /** Mean loss of the predictions that were made before each label was known: of one pass. */
    progressiveLoss: number;
    /** Of predicting 0 always. */
    zeroLoss: number;
    /** Share of right classes; null where there are none. */
    progressiveAccuracy: number | null;
    /** The same of the learner without noise. */
    twin?: { progressiveLoss: number; progressiveAccuracy: number | null };
    /**
     * What the mean losses of learner and twin, of all passes, are above `bestLoss`, that of the
     * best fixed weights in hindsight (of the domain; of the whole space, of those of norm at most
     * `radius`); the regrets are at most `gap` more. Null where the rows are too many to keep.
     */
    regret?: { private: number; twin: number; bestLoss: number; gap: number } | null;
    /** Mean loss of the weights, and of the latest ones, on rows that were not learned from. */
    heldOutLoss?: { average: number; last: number };
  };
}

/** Numeric table, row after row. */
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
  /** As of `learner`: both learners' `lambda` grows. Default false. */
  doubling?: boolean;
  /**
   * Examples of a step, or records of a table without labels. A batch that the table does not fill is
   * left out. Default 1.
   */
  batchSize?: number;
  /** Prefixes at which regret is measured; 0 turns it off. Default 64. */
  numRegretPrefixes?: number;
}

/** What happened in some consecutive steps; k = numSteps, d = dimension, b = batchSize. */
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
 * Shows the true and the private side by side. For demonstration and study, NEVER private: the seed
 * of its noise is fixed, and it holds and returns the true sums, which a deployment must keep
 * secret. Its certificate is that of a `prefixSum` with the same options and no seed.
 */
export interface Simulation extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  readonly step: number;
  readonly finished: boolean;
  readonly learns: boolean;
  /** Labels are classes, so there is an accuracy. */
  readonly classifies: boolean;
  /** No gradient can exceed the clip norm. False: `regretBound` is that of the clipped problem. */
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
   * Mean loss on so many examples of the synthetic stream that come after the horizon: of the
   * average of the weights played, whose expected risk exceeds that of any fixed weights by at most
   * the average regret where examples are independent, and of the latest weights.
   */
  heldOutRisk(numExamples: number): HeldOutRisk;
}

/** Of the synthetic stream; the twin's, which learns without noise, is NOT private. */
export interface HeldOutRisk {
  average: { private: number; twin: number };
  last: { private: number; twin: number };
}

/** The library. Functions exist only here: `const dp = await load()`. */
export interface DpFtrl {
  readonly version: string;
  mechanisms(): CatalogueEntry[];
  /**
   * How much noise a privacy target asks for, at unit sensitivity.
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
   * For rho it is the epsilon that holds for every rho-zCDP mechanism, lattice noise included.
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
   * Sensitivity and errors of a mechanism at unit noise multiplier and clip norm 1.
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
   * sensitivity * ||B_t|| for every step.
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
   * B, C and the covariance of the noise, for at most 512 steps.
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
   * All mechanisms side by side, best first.
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
   * What is known of the least error of prefix sums.
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
   * Finds the parameters of an optimised mechanism, to be kept and used.
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
   * Predictions of a model for examples of the inputs it names, row after row: the score, whose
   * sign is the class and whose 1 / (1 + e^-score) the probability of 1, or the value for squared
   * loss; a score for each class of 'softmax'.
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
   * A private running total whose state is kept in a store: goes on where it stopped, and never
   * releases a step for two records.
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
   * A learner whose state is stored before anything of it is shown; a store that holds one is gone on
   * from. The bytes hold the key and the true sums of gradients: as secret as the examples.
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
   * Answers to many counting queries on one histogram, with the noise correlated as is best for
   * them, and a proof of how good that is.
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
   * The index of a candidate of about the highest utility: the exponential mechanism, with
   * utilities of your own. Candidate i has a probability exactly proportional to exp(epsilon
   * utilities[i] / (2 sensitivity)), without the 2 if `monotone`: epsilon-differentially private.
   * How long it takes depends on the utilities: let nobody measure it.
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
   * The value with about the most records: the exponential mechanism, epsilon-differentially
   * private. How long it takes depends on the counts: let nobody measure it.
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
   * A value at about a quantile of the records, as `winner`.
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
   * What epsilon-differential privacy is in Gaussian differential privacy, to add it up with other
   * releases: root of the sum of squares. Rounded up.
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
  /** Handles not yet disposed, for leak tests. */
  readonly liveHandles: number;
}
