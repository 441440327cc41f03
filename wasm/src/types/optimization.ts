// SPDX-License-Identifier: Apache-2.0

// Searches for the parameters of a mechanism.

import type { Handle } from './instance.js';
import type { MechanismName, MechanismParameters, Participation } from './mechanism.js';
import type { SavedStrategy, Workload } from './mechanism.js';

/** Longest horizons at which `optimal` is made for the problem; beyond, another optimum stands in. */
export interface SearchLimits {
  /** For momentum, windows, learning rates and matrices. */
  denseSteps: number;
  /** For one participation an epoch. */
  epochSteps: number;
  /**
   * For the same of prefix sums, with or without decay, and objective 'mean': at most 64 epochs beyond
   * `epochSteps`.
   */
  epochSumSteps: number;
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
   * epochs up to 1024 steps, for the mean of prefix sums and decay up to 2048. A mechanism optimised for another participation instead has status
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
   * small, above 0 and below 1. Default 1e-7, with dense matrices 1e-4; for the mean they take
   * 5e-7 at most.
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
