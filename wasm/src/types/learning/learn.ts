// SPDX-License-Identifier: Apache-2.0

// Private learning from a whole table.

import type { MechanismOptions } from '../mechanism.js';
import type { ModelInput } from './model.js';

export interface LearnOptions extends Pick<MechanismOptions, 'epsilon' | 'delta' | 'neighbours'> {
  /** Features of the examples, row after row. */
  features: ArrayLike<number>;
  /** One class a row: 0 or 1, or -1 and +1; of 'softmax' 0, 1, ... */
  labels: ArrayLike<number>;
  /** Default 'logistic'. */
  loss?: 'logistic' | 'hinge' | 'softmax';
  /** Number of classes, for 'softmax'. */
  numClasses?: number;
  /**
   * Names and public ranges of the features. Values outside their range are moved to its edge; the
   * range of one that has none is [-1, 1]. Default: no names, and such ranges.
   */
  inputs?: readonly ModelInput[];
  /** Whether the model has a weight for a feature that is always 1. Default true. */
  intercept?: boolean;
  /**
   * How the rate goes over the steps: 'linear', the default, down to 0 on a line, with the latest
   * weights, or 'constant', with the mean of the later weights.
   */
  rates?: 'linear' | 'constant';
  /**
   * Whether to release second moments of the features first, with a tenth of the squared mu, and to
   * learn in coordinates in which they are equal: better where features are correlated, worse where
   * there are too few rows for the number of features. At most 512 features, the intercept included.
   * Default: yes where sigma sqrt(2) d^(3/2) / n <= 1/2, with sigma the standard deviation of the
   * moments of rows of length 1, d the features and the intercept, and n the rows; data have no part
   * in it. `preconditioningCost` tells what follows.
   */
  precondition?: boolean;
  /** As of `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

export interface PreconditioningCostOptions
  extends Required<Pick<MechanismOptions, 'epsilon' | 'delta'>>,
    Pick<MechanismOptions, 'neighbours'> {
  /** Number of features, the intercept included. */
  dimension: number;
  numRows: number;
}

/** Budgets of second moments and of the learner after them. */
export interface PreconditioningCost {
  /** Epsilon of the moments, at the same delta; 0 where delta is too large for two parts. */
  momentsEpsilon: number;
  /** Epsilon of the learner, at the same delta. */
  learnerEpsilon: number;
  /** Gaussian DP of both together, for `compose`. */
  mu: number;
  /** zCDP of both together. */
  rho: number;
  /** Whether `learn` releases second moments where nobody says so. */
  isDefault: boolean;
}
