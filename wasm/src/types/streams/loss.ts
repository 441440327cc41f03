// SPDX-License-Identifier: Apache-2.0

// Losses, constraint sets and update rules of learners.

/** Losses of a prediction and a label; the first two take labels 0 and 1, or -1 and +1. */
export type LossName = 'logistic' | 'hinge' | 'squared' | 'huber' | 'absolute' | 'quantile';

/**
 * A loss, with its parameter if it has one: the level of `quantile`, between 0 and 1; the distance
 * from the label, in its units, at which `huber` becomes linear; the number of classes of `softmax`,
 * whose labels are 0, 1, ...
 */
export type LinearLoss =
  | 'logistic'
  | 'hinge'
  | 'squared'
  | 'absolute'
  | { quantile: number }
  | { huber: number }
  | { softmax: number };

/** Constraint sets of the weights; `radius` sets their size. */
export type DomainName = 'ball' | 'whole-space' | 'box' | 'simplex' | 'simplex-entropic';

/** Loss, constraint set and update rule of the learners in a simulation. */
export interface LossOptions {
  /** Default 'logistic'. */
  loss?: LossName;
  /** Level of the `quantile` loss, between 0 and 1. Default 0.5. */
  quantile?: number;
  /** Distance from the label, in its units, at which the `huber` loss becomes linear. Default 1. */
  huberThreshold?: number;
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
  /** Gradient descent on the noisy gradients instead of FTRL: with 'independent' it is DP-SGD. */
  descent?: DescentOptions;
}

/**
 * Penalty of the weights, added to the mean loss of every step, which can make weights exactly 0:
 * `strength` times the sum of their absolute values (L1), or of the norms of groups of them.
 * Privacy is the same as without it, because weights follow from the same releases. Zeros are found
 * in `lastWeights`; an average of weights is 0 only where all of them were.
 */
export interface PenaltyOptions {
  /** At least 0; 0 means no penalty. */
  strength: number;
  /**
   * Sizes of groups of consecutive features whose weights become 0 together, such as the columns
   * that encode one category. The weights of all classes of a feature are in its group. Default:
   * each weight is a separate group.
   */
  groups?: ArrayLike<number>;
  /** Number of trailing features that are not penalised, such as an intercept. Default 0. */
  numUnpenalised?: number;
}

/** Projected gradient descent: everything here is post-processing of the releases. */
export interface DescentOptions {
  /**
   * Learning rate of each step, in units of 1 / lambda; the last one is used for all later steps.
   * Default: 1.
   */
  rates?: ArrayLike<number>;
  /** At least 0 and below 1. Default 0. */
  momentum?: number;
  /**
   * 'post-processing' (default): the encoder is built for prefix sums. 'workload': the encoder is
   * built for sums with these rates and this momentum. Momentum requires a mechanism with an
   * encoder for every Toeplitz workload ('square-root', its relatives, 'independent'); rates
   * require 'optimal' (with `objective: 'mean'`, then the default; with momentum, or for momentum
   * alone, up to 2048 steps, by dense matrices).
   */
  through?: 'post-processing' | 'workload';
}

/**
 * A loss given by the caller, evaluated for several examples at once. Returns the derivative of
 * each loss with respect to its prediction and, for `losses`, its value. It must not keep the
 * arrays it is given. The slope of an example must depend on that example's prediction and label,
 * and on nothing else that was learned from: with means over the batch, or anything kept from
 * earlier calls, one example affects others and the learner is NOT private. Comparisons of these
 * learners (regret, `study.comparator`, `study.twin`) are available only in C++, where `FunctionLoss` states
 * the bounds they need; here both refuse the loss.
 */
export type BatchLoss = (
  predictions: Float64Array,
  labels: Float64Array,
) => { slopes: ArrayLike<number>; values?: ArrayLike<number> };
