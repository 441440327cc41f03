// SPDX-License-Identifier: Apache-2.0

// Searches for the parameters of a mechanism.

import type { MechanismName } from './mechanism.js';
import type { Problem } from './problem.js';
import type { StrategyParameters } from './streams/options.js';

/**
 * 'blt', 'banded-toeplitz' and 'banded' are optimised for any participation, 'optimal' for epochs up
 * to 1024 steps, or up to 2048 for the mean of prefix sums and decay. If a strategy is optimised for
 * another participation instead, its status is 'infeasible'.
 */
export interface OptimizeOptions extends Problem {
  /** Strategy whose parameters are optimised, with those that are fixed. Default 'optimal'. */
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
   * and below 1. Default 1e-7, with dense matrices 1e-4; for the mean, dense matrices use at most
   * 5e-7.
   */
  gap?: number;
  /**
   * Weights w, one per step, 2^-40 to 2^40, for 'optimal' with objective 'mean' and one
   * participation, over sums, decay and positive rates. `error` and `lowerBound` are then
   * sqrt(sum_i w_i e_i^2 / n), with e_i the error of step i of n; `dp.error` of the result returns
   * the unweighted errors.
   */
  queryWeights?: ArrayLike<number>;
}
