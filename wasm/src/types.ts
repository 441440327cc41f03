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
  | 'blt-normalized'
  | 'optimal';

/** Parameters of mechanisms that have some; the catalogue tells which takes which. */
export interface MechanismParameters {
  /** Non-zero diagonals, the main one included. */
  bands?: number;
  /** Buffers; of `optimal` 8 by default, 0 for full accuracy. */
  buffers?: number;
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
  /** It cannot be made with defaults alone. */
  needsParameters: boolean;
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
  rho: number;
  mu: number;
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

export interface ErrorOptions extends MechanismParameters {
  mechanism: MechanismName;
  /** Horizon, 1 .. 2^40. */
  numSteps: number;
  /** Default 'prefix'. */
  workload?: Workload;
  /** Default 'single'. */
  participation?: Participation;
}

export interface UnitError {
  mechanism: MechanismName;
  numSteps: number;
  /** In words: 'prefix', 'momentum=0.9,decay=1', 'window=8', 'rates', 'matrix'. */
  workload: string;
  /** 'single', 'fixed-epoch' or 'min-separation'. */
  participation: string;
  neighbours: 'zero-out';
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  /** How it was computed. */
  sensitivityMethod: string;
  /** sensitivity * max_t ||B_t||, unit noise multiplier */
  maxError: number;
  /** sensitivity * ||B||_F / sqrt(numSteps), unit noise multiplier */
  meanError: number;
  /** Certified lower bound on both errors of every factorization; null where none is at hand. */
  lowerBound: number | null;
  decoderResidual: number;
  residualSteps: number;
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
}

export interface ComparedMechanism {
  mechanism: MechanismName;
  /** Those that differ from the defaults. */
  parameters: MechanismParameters;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  maxError: number;
  meanError: number;
  /** Error of the objective / lowerBound; null where no bound is at hand. */
  ratio: number | null;
  stepCost: string;
  memoryCost: string;
  causal: boolean;
}

export interface Comparison {
  numSteps: number;
  workload: string;
  participation: string;
  objective: 'max' | 'mean';
  lowerBound: number | null;
  /** Best first. */
  mechanisms: ComparedMechanism[];
  /** What has no formula at this size, with the reason. */
  leftOut: { mechanism: MechanismName; parameters: MechanismParameters; reason: string }[];
}

export interface MechanismOptions extends ApproximateDp, MechanismParameters {
  /** Default 'square-root'. */
  mechanism?: MechanismName;
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

/** Everything a privacy claim rests on. */
export interface Certificate {
  mechanism: MechanismName;
  workload: string;
  participation: string;
  numSteps: number;
  neighbours: Neighbours;
  epsilon: number;
  delta: number;
  mu: number;
  rho: number;
  clipNorm: number;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  sensitivityMethod: string;
  noiseMultiplier: number;
  noiseStddev: number;
  maxError: number;
  meanError: number;
  /** Certified lower bound on both errors of every factorization; null where none is at hand. */
  lowerBound: number | null;
  decoderResidual: number;
  residualSteps: number;
}

/** Handles own memory of the WebAssembly heap: call `dispose()` or use `using`. */
export interface Handle {
  dispose(): void;
  [Symbol.dispose](): void;
  readonly disposed: boolean;
}

export interface PrefixSumOptions extends MechanismOptions {
  /** Entries of each record. Default 1. */
  dimension?: number;
  /** Spacing of the released values, a power of two. Default: see the README. */
  grid?: number;
  /**
   * Fixed seed: the output is then NOT private, and `insecure` says so. For tests and
   * demonstrations only. Without it the key is 256 bits from the platform.
   */
  insecureSeed?: number | bigint;
}

/** A private running total. */
export interface PrefixSum extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Releases already made. */
  readonly step: number;
  readonly grid: number;
  /** A fixed seed was given: the totals are NOT private, whatever the certificate says. */
  readonly insecure: boolean;
  /** Predicted std of each coordinate of the release at a 0-based step, input units. */
  stddev(step: number): number;
  /** Takes one record, returns the private running total. */
  release(record: ArrayLike<number>): Float64Array;
  /**
   * Takes `records.length / dimension` records, row after row, and returns as many totals. If a
   * record is refused, the error's `released` holds the totals of the records before it.
   */
  releaseMany(records: ArrayLike<number>, out?: Float64Array): Float64Array;
}

export type LossName = 'logistic' | 'squared';
export type StreamName = 'stationary' | 'drifting' | 'switching';

/** Numeric table, row after row. */
export interface Table {
  numRows: number;
  numColumns: number;
  /** numRows * numColumns entries, row-major. */
  values: Float64Array;
  /** Labels for learning, numRows entries. Logistic loss: 0/1 or -1/+1. */
  labels?: Float64Array;
}

export interface SimulationOptions extends MechanismOptions {
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
  /** Default 'logistic'. */
  loss?: LossName;
  /** Constraint set of the learner. Default 'ball'. */
  domain?: 'ball' | 'whole-space';
  /** Radius of the ball and of the comparators. Default 1. */
  radius?: number;
  /** Regularisation strength; default: the value of the regret theorem. */
  lambda?: number;
  /** The mechanism's parameter that is called lambda elsewhere. */
  mechanismLambda?: number;
  /** Prefixes at which regret is measured; 0 turns it off. Default 64. */
  numRegretPrefixes?: number;
}

/** What happened in some consecutive steps; k = numSteps, d = dimension. */
export interface SimulationChunk {
  firstStep: number;
  numSteps: number;
  /** k*d, row-major. SECRET in a real deployment. */
  trueSums: Float64Array;
  /** k*d, row-major: what would be released. */
  noisySums: Float64Array;
  /** k: predicted std of each coordinate of the release. */
  stddev: Float64Array;
  /** k: loss of the prediction made before learning; empty without a learner. */
  privateLoss: Float64Array;
  twinLoss: Float64Array;
  /** k entries 0 or 1, classification only; else empty. */
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
  /** Bound of the regret theorem on the expected average regret; null without a learner. */
  readonly regretBound: { private: number; twin: number } | null;
  /** Runs at most `maxSteps` steps. Past the end: an empty chunk. */
  advance(maxSteps: number): SimulationChunk;
}

/** The library. Functions exist only here: `const dp = await load()`. */
export interface DpFtrl {
  readonly version: string;
  mechanisms(): CatalogueEntry[];
  calibrate(options: CalibrateOptions): Calibration;
  error(options: ErrorOptions): UnitError;
  /** sensitivity * ||B_t|| for every step. */
  errorPerStep(options: ErrorOptions): Float64Array;
  /** B, C and the covariance of the noise, for at most 512 steps. */
  matrices(options: ErrorOptions): Matrices;
  /** All mechanisms side by side, best first. */
  compare(options: CompareOptions): Comparison;
  certificate(options: MechanismOptions): Certificate;
  prefixSum(options: PrefixSumOptions): PrefixSum;
  simulation(options: SimulationOptions): Simulation;
  /** Handles not yet disposed, for leak tests. */
  readonly liveHandles: number;
}
