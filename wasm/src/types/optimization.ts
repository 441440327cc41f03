// SPDX-License-Identifier: Apache-2.0

// Searches for the parameters of a mechanism.

import type { MechanismName } from './mechanism.js';
import type { Problem } from './problem.js';
import type { StrategyParameters } from './streams/options.js';

/**
 * 'blt' and 'banded-toeplitz' are optimised for any participation; 'banded' for any, if it has no
 * more bands than there are steps from one participation to the next; and 'optimal' for epochs at
 * horizons up to 1024 steps, or up to 2048 for prefix sums, with or without decay, and objective
 * 'mean'. Strategies other than 'optimal' are optimised for prefix sums only. If a strategy is
 * optimised for another participation or workload than the requested one, its status is
 * 'infeasible'.
 */
export interface OptimizeOptions extends Problem {
  /**
   * Strategy whose parameters are optimised, with the parameters that are fixed. Default 'optimal'.
   */
  strategy?: MechanismName | StrategyParameters;
  /**
   * For 'optimal' and prefix sums: 'none' skips the search and uses closed-form weights, which is
   * immediate and slightly less accurate; the status is then 'stopped'.
   */
  solver?: 'exact' | 'none';
  /**
   * Maximum number of iterations over all starts and rounds, after which the search gives up and
   * reports so in `status`.
   */
  maxIterations?: number;
  /**
   * For 'optimal': relative gap between the bounds on the optimum at which the search ends, above 0
   * and below 1. Default 1e-7, or 1e-4 with dense matrices; for objective 'mean', dense matrices
   * use at most 5e-7.
   */
  gap?: number;
  /**
   * Weights w, one per step, 2^-40 to 2^40, for 'optimal' with objective 'mean', one
   * participation, and a workload of prefix sums, decaying sums or positive rates. `error` and
   * `lowerBound` are then sqrt(sum_i w_i e_i^2 / n), with e_i the error of step i of n; `dp.error`
   * of the result returns the unweighted errors.
   */
  queryWeights?: ArrayLike<number>;
}
