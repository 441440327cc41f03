// SPDX-License-Identifier: Apache-2.0

// Private online learning of linear models.

import type {
  Algorithm,
  BatchLoss,
  DescentOptions,
  DomainName,
  LinearLoss,
  PenaltyOptions,
} from './loss.js';
import type { LearnedModel } from './model.js';
import type { CounterOptions, StreamOptions } from './options.js';

export interface LearnerOptions extends StreamOptions, Pick<CounterOptions, 'grid' | 'lattice'> {
  /** Entries (features) of each example. */
  dimension: number;
  /** Norm to which the gradient of each example is clipped. Default 1. */
  clip?: number;
  /**
   * Divisor of the sum of gradients of each step, however many examples it has, and the number of
   * examples after which `releaseMany` and `learn` end a step. Default 1.
   */
  batchSize?: number;
  /**
   * Default 'logistic'. A function is called with all examples of a call that are evaluated at the
   * same weights; a store cannot keep a function, so it must be given again, and a worker does not
   * accept one.
   */
  loss?: LinearLoss | BatchLoss;
  /** Constraint set of the weights. Default 'ball'. */
  domain?: DomainName;
  /**
   * Radius of the ball, largest absolute value of an entry of the box, or sum of the non-negative
   * entries of the simplex. In the whole space it only bounds the comparators of the regret
   * theorem. Default 1.
   */
  radius?: number;
  /**
   * Regularisation strength relative to the mean gradient of a step: weights follow sums of
   * gradients divided by `lambda` times the batch size. Default: the value of the regret theorem.
   */
  lambda?: number;
  /**
   * Makes `lambda` grow with the square root of the number of steps, by doubling. A given `lambda`
   * is the one of the first step; the default grows to about its value without doubling. Default
   * false.
   */
  doubling?: boolean;
  /**
   * 'auto' (default): DP-FTRL, or gradient descent if `descent` is given. The certificate names it.
   */
  algorithm?: Algorithm;
  /**
   * Gradient descent on the noisy gradients instead of FTRL; with 'independent' it is DP-SGD
   * without sampling.
   */
  descent?: DescentOptions;
  /**
   * Penalty on the weights. Not available with `descent`, and only in domains 'whole-space', 'ball'
   * and, without groups, 'box'. Default: none.
   */
  penalty?: PenaltyOptions;
}

/** Members that a learner adds to the members of every stream. */
export interface Learner {
  /** Weights at which the next step computes its gradients: one row per class, concatenated. */
  weights(): Float64Array;
  /** `releaseMany` without its readings. */
  learn(features: ArrayLike<number>, labels: ArrayLike<number>): void;
  /** The current model, all of which is private. */
  model(): LearnedModel;
  /**
   * Regularisation strength of the next step, or for descent the inverse of its rate; both relative
   * to the mean gradient of a step, like the option `lambda`.
   */
  lambda(): number;
  /**
   * Scores of examples at the current weights, one for each class. They are no more private than
   * the examples: NOT private.
   */
  scores(features: ArrayLike<number>): Float64Array;
  /** Loss of each example from its scores. It depends on the labels: NOT private. */
  losses(scores: ArrayLike<number>, labels: ArrayLike<number>): Float64Array;
}
