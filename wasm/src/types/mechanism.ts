// SPDX-License-Identifier: Apache-2.0

// Mechanisms, and the problems they solve.

import type { ApproximateDp, Neighbours } from './privacy.js';

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

/** Parameters of mechanisms; `StrategyInfo.parameters` lists those of each mechanism. */
export interface MechanismParameters {
  /** Number of non-zero diagonals, the main one included. */
  bands?: number;
  /** Number of buffers; for `optimal` 8 by default, 'exact' (or 0) for full accuracy. */
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
 * in which a record k steps ago has weight decay^k, 0 < decay <= 1; an exponentially averaged sum
 * (momentum, with weight decay); sums of the last `window` records; sums weighted by learning
 * rates; or any lower-triangular matrix, steps * steps entries, row-major.
 */
export type Workload =
  | 'prefix'
  | { decay: number }
  | { momentum: number; decay?: number }
  | { window: number }
  | { rates: ArrayLike<number>; momentum?: number }
  | { matrix: ArrayLike<number> };

/**
 * Steps to which one user may contribute: a single one; one in each of `epochs` epochs, always at
 * the same position; or at most `participations`, at least `minSeparation` (j - i) apart.
 */
export type Participation =
  | 'single'
  | { epochs: number }
  | { participations: number; minSeparation: number };

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
  version: 1;
  mechanism: MechanismName;
  /** The only horizon it can be used for. */
  numSteps: number;
  workload: Workload;
  /** Participation it was optimised for, which is also the default if none is given. */
  participation: Participation;
  objective: 'max' | 'mean';
  /** Weights of the steps in `error` and `lowerBound`, if they were not all equal. */
  queryWeights?: number[];
  /** The minimised error, evaluated for this mechanism as it will run, at unit noise multiplier. */
  error: number;
  /** As in `CertifiedBound`, at the end of the search. */
  lowerBound: number | null;
  boundMethod: BoundMethod | null;
  /**
   * As in `CertifiedBound`; missing if it is 1, and in files of older versions. For those it is the
   * least d with (d + 1) (d + 2) / 2 above the number of participations: 2 from 3 participations
   * on, 3 from 6 on.
   */
  lowerBoundMinDimension?: number;
  /** As in `CertifiedBound`; missing if `lowerBoundMinDimension` is. */
  lowerBoundEveryDimension?: number;
  /** error / lowerBound */
  ratio: number | null;
  /**
   * Outcome of the search. 'converged': for `optimal`, proved to within the requested `gap`; for
   * the others, at a stationary point. 'stopped': stopped before its end. 'not converged': ran out
   * of iterations. 'infeasible': there is no search for the requested workload and participation,
   * and this is the optimum for prefix sums, or for one participation; or no proof is as tight as
   * requested.
   */
  status: 'converged' | 'stopped' | 'not converged' | 'infeasible';
  iterations: number;
  /** All numbers that define the strategy, by name. */
  parameters: Record<string, number[]>;
}

/**
 * Parameters a mechanism was built with, whether given or chosen automatically, under the names of
 * `MechanismParameters`. Optimised mechanisms also have short lists (`coefficients`, `shifts`).
 * Lists as long as the horizon are found only in a `SavedStrategy`.
 */
export type EffectiveParameters = Record<string, number | boolean | number[]>;

/**
 * Longest horizons at which `optimal` is optimised for the given problem; beyond, the optimum of
 * another problem is used.
 */
export interface SearchLimits {
  /** For momentum, windows, learning rates and matrices. */
  denseSteps: number;
  /** For one participation per epoch. */
  epochSteps: number;
  /**
   * For one participation per epoch of prefix sums, with or without decay, and objective 'mean';
   * beyond `epochSteps`, at most 64 epochs.
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
  /** True if its measurements read no step later than the one at which they are used. */
  readonly causal: boolean;
  /**
   * Whether pure differential privacy (delta = 0) would follow if Gaussian noise were replaced by
   * Laplace noise, even for records chosen adaptively from releases. Totals with `pure`, `queries`
   * and the exponential mechanism serve delta = 0; everything else draws Gaussian noise.
   */
  readonly pureDp: boolean;
  /** Present for 'optimal': the longest horizons of its searches for problems with no quick one. */
  readonly limits?: Readonly<SearchLimits>;
}

export interface MechanismOptions extends ApproximateDp, MechanismParameters {
  /**
   * Default 'optimal'; for windows, momentum, rates and matrices beyond 128 steps
   * 'normalized-square-root', and beyond 65,536 'square-root'. A saved strategy supplies its
   * horizon and workload, and takes no parameters.
   */
  mechanism?: MechanismName | SavedStrategy;
  /** Horizon: the number of releases the noise is calibrated for. */
  numSteps: number;
  /** l2-norm to which each record is clipped, in input units. Default 1. */
  clipNorm?: number;
  /** Default 'zero-out'. */
  neighbours?: Neighbours;
  /** Default 'single'. */
  participation?: Participation;
  /** Default 'prefix', the only one that `study.simulation` takes. */
  workload?: Workload;
}
