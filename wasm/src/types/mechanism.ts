// SPDX-License-Identifier: Apache-2.0

// Mechanisms, and the problems they are made for.

import type { ApproximateDp, Neighbours } from './privacy.js';

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
 * The linear queries answered at every step: sums of all records; exponentially decaying sums, where
 * a record of k steps ago counts decay^k, above 0 and up to 1; an exponentially averaged sum
 * (momentum, with weight decay); sums of the last `window` records; sums weighted by learning
 * rates; or any lower-triangular matrix, numSteps * numSteps entries, row-major.
 */
export type Workload =
  | 'prefix'
  | { decay: number }
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
 * Method by which a lower bound was found: from dual variables of the optimum, in linear time or
 * with dense matrices, or as the Schatten-1 norm of the workload.
 */
export type BoundMethod = 'dual' | 'dense dual' | 'schatten';

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

export interface MechanismOptions extends ApproximateDp, MechanismParameters {
  /**
   * Default 'optimal'; for windows, momentum, rates and matrices beyond 128 steps
   * 'normalized-square-root', and beyond 65,536 'square-root'. A saved strategy brings its horizon and workload, and takes no parameters.
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
  /**
   * Default 'prefix'. `prefixSum`, `peopleSum` and their ledgers release all of them, in mode 'grid'.
   * Learners and `simulation` take 'prefix' alone.
   */
  workload?: Workload;
}
