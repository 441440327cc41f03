// SPDX-License-Identifier: Apache-2.0

// Private online learning of linear models.

import type { BatchLoss, DescentOptions, DomainName, LinearLoss, PenaltyOptions } from './loss.js';
import type { LearnedModel } from './model.js';
import type { CounterOptions, StreamOptions } from './options.js';

export interface LearnerOptions extends StreamOptions, Pick<CounterOptions, 'grid' | 'lattice'> {
  /** Number of entries (features) of each example. */
  dimension: number;
  /** Norm to which the gradient of each example is clipped. Default 1. */
  clip?: number;
  /**
   * Divisor of the sums of gradients, however many examples a step has, and the number of examples
   * with which `releaseMany` and `learn` end a step. Default 1.
   */
  batchSize?: number;
  /**
   * Default 'logistic'. A function is called once for all examples that are evaluated at the same
   * weights; a store cannot keep it, so that it must be given again, and a worker has none.
   */
  loss?: LinearLoss | BatchLoss;
  /** Constraint set of the weights. Default 'ball'. */
  domain?: DomainName;
  /**
   * Radius of the ball, largest entry of the box, or sum of the non-negative entries of the
   * simplex. In the whole space it only bounds the comparators of the regret theorem. Default 1.
   */
  radius?: number;
  /**
   * Regularisation strength relative to the mean gradient of a step: weights follow sums of
   * gradients divided by `lambda` times the batch size. Default: the value of the regret theorem.
   */
  lambda?: number;
  /**
   * Makes `lambda` grow, from its value at the first step, with the square root of the number of
   * steps, by doubling. Default false.
   */
  doubling?: boolean;
  /** Gradient descent on the noisy gradients instead of FTRL: with 'independent' it is DP-SGD. */
  descent?: DescentOptions;
  /**
   * Penalty of the weights. Not available with `descent`, and only in domains 'whole-space', 'ball'
   * and, without groups, 'box'. Default: none.
   */
  penalty?: PenaltyOptions;
}

/** Members of a learner beside those of all streams. */
export interface Learner {
  /** Returns the weights at which the next step learns: a row for each class, one after the other. */
  weights(): Float64Array;
  /** `releaseMany` without its readings. */
  learn(features: ArrayLike<number>, labels: ArrayLike<number>): void;
  /** Returns the current model, all of which is private. */
  model(): LearnedModel;
  /**
   * Returns the regularisation strength of the next step, or for descent the inverse of its rate;
   * both relative to the mean gradient of a step, as the option `lambda`.
   */
  lambda(): number;
  /**
   * Returns the scores of examples at the current weights, one for each class. They are as public
   * as the examples: NOT private.
   */
  scores(features: ArrayLike<number>): Float64Array;
  /** Returns the loss of each example from its scores. It depends on the labels: NOT private. */
  losses(scores: ArrayLike<number>, labels: ArrayLike<number>): Float64Array;
}
