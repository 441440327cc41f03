// SPDX-License-Identifier: Apache-2.0

// Mechanisms, and the problems they solve.

/** Names of the mechanisms in this version. */
export type MechanismName =
  | 'independent'
  | 'output'
  | 'tree'
  | 'tree-k'
  | 'honaker'
  | 'honaker-full'
  | 'haar'
  | 'square-root'
  | 'banded-square-root'
  | 'banded-inverse-square-root'
  | 'nu'
  | 'lambda-cgd'
  | 'blt'
  | 'blt-rational'
  | 'normalized-square-root'
  | 'log-perturbed'
  | 'banded-toeplitz'
  | 'banded'
  | 'blt-normalized'
  | 'blt-scaled'
  | 'optimal';

/** Parameters of mechanisms; `StrategyInfo.parameters` lists the parameters of each mechanism. */
export interface MechanismParameters {
  /** Number of non-zero diagonals, the main one included. */
  bands?: number;
  /** Number of buffers; 'exact' (or 0) for full accuracy. The default for `optimal` is 8. */
  buffers?: number | 'exact';
  /** Error that the optimised mechanisms minimise. Default 'max'. */
  objective?: 'max' | 'mean';
  /** Decays theta of a BLT, each in [0, 1). */
  decays?: ArrayLike<number>;
  /** Weights omega of a BLT, one per decay. */
  weights?: ArrayLike<number>;
  /** Number of children of a node. */
  arity?: number;
  /** Trees of odd arity: whether nodes are also subtracted. */
  subtractive?: boolean;
  nu?: number;
  lambda?: number;
  /** Log-perturbed: the error grows like log^(1 + alpha). */
  alpha?: number;
  /** Log-perturbed: power of the log log factor. */
  loglogPower?: number;
  /** Log-perturbed: number of steps the noise is scaled for, at least `steps`. */
  horizonCap?: number;
  /** Any mechanism for prefix sums: number of steps after which it restarts. */
  epochLength?: number;
  /** Trees with epochLength: whether a finished epoch is completed to a power of two. */
  completeEpochs?: boolean;
  /** Any mechanism: whether the columns of C are scaled to norm 1. */
  normalizeColumns?: boolean;
}

/**
 * Linear queries answered at every step: sums of all records so far; exponentially decaying sums,
 * in which a record k steps ago has weight decay^k, 0 < decay <= 1; sums with momentum, in which a
 * step adds its records and `momentum` times what the previous step added, optionally with decay;
 * sums over the last `window` steps; sums weighted by learning rates; or any lower-triangular
 * matrix, steps * steps entries, row-major.
 */
export type Workload =
  | 'prefix'
  | { decay: number }
  | { momentum: number; decay?: number }
  | { window: number }
  | { rates: ArrayLike<number>; momentum?: number }
  | { matrix: ArrayLike<number> };

/** Participation in one step only; or in at most `times` steps, at least `apart` steps apart. */
export type Bound = 'once' | { times: number; apart: number };

/**
 * Steps to which one user may contribute: within a bound, or one in each of `epochs` epochs, always
 * at the same position.
 */
export type Participation = Bound | { epochs: number };

/**
 * Method used to compute a lower bound: dual variables of the optimum, in linear time or with dense
 * matrices, or the Schatten-1 norm of the workload.
 */
export type BoundMethod = 'dual' | 'dense dual' | 'schatten';

/**
 * An optimised mechanism as plain, JSON-serialisable data, accepted wherever a mechanism is named.
 * Only + - * / and sqrt are applied to its numbers, so it produces the same noise, bit for bit, on
 * every platform. Sensitivity and errors are recomputed from the numbers: a corrupted strategy
 * costs accuracy, never privacy.
 */
export interface SavedStrategy {
  format: 'dp-ftrl strategy';
  version: 2;
  name: MechanismName;
  /** The only horizon that it can be used for. */
  steps: number;
  workload: Workload;
  /** Participation that it was optimised for, which is also the default if none is given. */
  participation: Participation;
  objective: 'max' | 'mean';
  /** Weights of the steps in `error` and `lowerBound`, if they were not all equal. */
  queryWeights?: number[];
  /** The minimised error, evaluated for this mechanism as it will run, at unit noise multiplier. */
  error: number;
  /** As in `CertifiedBound`, at the end of the search. */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /** As in `CertifiedBound`; 1 if missing. */
  lowerBoundMinDimension?: number;
  /** As in `CertifiedBound`; equal to `lowerBound` if missing. */
  lowerBoundEveryDimension?: number;
  /** error / lowerBound */
  ratio: number | null;
  /**
   * Outcome of the search. 'converged': for `optimal`, the least error is proved to within the
   * requested `gap`; for others, the search ended at a stationary point. 'stopped': stopped before
   * its end. 'not converged': ran out of iterations. 'infeasible': there is no search for the
   * requested workload and participation, and this is the optimum for prefix sums, or for one
   * participation; or no proof is as tight as requested.
   */
  status: 'converged' | 'stopped' | 'not converged' | 'infeasible';
  iterations: number;
  /** All numbers that define the strategy, by name. */
  parameters: Record<string, number[]>;
}

/**
 * Your own factorization B C of the workload A: the rows of C, each up to the diagonal or of full
 * length. C is lower triangular with a positive diagonal, of at most 2048 steps, and B = A C^-1.
 * Certificates call it 'banded', with as many bands as steps.
 */
export interface EncoderStrategy {
  encoder: readonly ArrayLike<number>[];
  /**
   * Rows of B, to check that you and the library mean the same factorization: refused unless every
   * entry agrees with A C^-1 to 10^-6 of the largest entry in its row. They have no other effect,
   * because a square C has no other decoder.
   */
  decoder?: readonly ArrayLike<number>[];
}

/**
 * Parameters a mechanism was built with, whether given or chosen automatically, under the names of
 * `MechanismParameters`. Optimised mechanisms also have short lists (`coefficients`, `shifts`).
 * Lists as long as the horizon are found only in a `SavedStrategy`.
 */
export type EffectiveParameters = Record<string, number | boolean | number[]>;

/**
 * Longest horizons at which `optimal` is optimised for the given problem; beyond them, the optimum
 * of another problem is used.
 */
export interface SearchLimits {
  /** For momentum, windows, learning rates and matrices. */
  denseSteps: number;
  /** For fixed epochs. */
  epochSteps: number;
  /**
   * For fixed epochs of prefix sums, with or without decay, and objective 'mean'; beyond
   * `epochSteps`, at most 64 epochs.
   */
  epochSumSteps: number;
}

export interface StrategyInfo {
  readonly name: MechanismName;
  readonly summary: string;
  readonly stepCost: string;
  readonly memoryCost: string;
  /** Parameters of this mechanism. Every mechanism also takes epochLength and normalizeColumns. */
  readonly parameters: readonly (keyof MechanismParameters)[];
  /**
   * 'adapted': each Toeplitz workload has a dedicated encoder. 'decoded': the encoder is the one
   * for prefix sums, whose releases are decoded further.
   */
  readonly workloads: 'adapted' | 'decoded';
  /** Longest horizon covered by its formulas. */
  readonly maxSteps: number;
  /** True if no measurement reads a step later than the step at which it is used. */
  readonly causal: boolean;
  /**
   * Whether pure differential privacy (delta = 0) would follow if Gaussian noise were replaced by
   * Laplace noise, even if records are chosen adaptively, given earlier releases. Counters, totals
   * and `queries` accept delta 0; everything else draws Gaussian noise.
   */
  readonly pureDp: boolean;
  /**
   * Present for 'optimal': the longest horizons of its searches, for problems without a quick
   * search.
   */
  readonly limits?: Readonly<SearchLimits>;
}
