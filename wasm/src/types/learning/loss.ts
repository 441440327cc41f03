// SPDX-License-Identifier: Apache-2.0

// Losses, constraint sets and update rules of learners.

/** Losses of a prediction and a label; the first two want labels 0 and 1, or -1 and +1. */
export type LossName = 'logistic' | 'hinge' | 'squared' | 'huber' | 'absolute' | 'quantile';

/** Constraint sets of the weights: see `radius`. */
export type DomainName = 'ball' | 'whole-space' | 'box' | 'simplex' | 'simplex-entropic';

/** Loss, constraint set and update rule of a learner. */
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
   * Radius of the ball; largest entry in the box; sum of the simplex, whose entries are not
   * negative. In the whole space it bounds only the comparators of the regret theorem. Default 1.
   */
  radius?: number;
  /**
   * Regularisation strength, of the mean gradient of a step: weights follow sums of gradients over
   * `lambda` times the batch size. Default: the value of the regret theorem.
   */
  lambda?: number;
  /** Gradient descent on the noisy gradients instead of FTRL: with 'independent' it is DP-SGD. */
  descent?: DescentOptions;
}

/**
 * Penalty of the weights, added to the mean loss of every step, which makes weights exactly 0: the sum
 * of their absolute values (L1), or of the norms of groups of them, times `strength`. The privacy is
 * that without it: weights follow from the same releases. Zeros are in `lastWeights`; an average of
 * weights is 0 only where all of them were.
 */
export interface PenaltyOptions {
  /** At least 0; 0 is no penalty. */
  strength: number;
  /**
   * Sizes of groups of consecutive features, which are 0 together: the columns that one category
   * became, say. The weights of all classes of a feature are in its group. Default: each weight is
   * by itself.
   */
  groups?: ArrayLike<number>;
  /** Number of last features that are not penalised, such as an intercept. Default 0. */
  numUnpenalised?: number;
}

/** Projected gradient descent: everything here is post-processing of the releases. */
export interface DescentOptions {
  /**
   * Learning rate of each step, in units of 1 / lambda; the last one stays in force. Default: 1.
   */
  rates?: ArrayLike<number>;
  /** From 0 to below 1. Default 0. */
  momentum?: number;
  /**
   * 'workload': the encoder is made for sums with these rates and this momentum. Momentum takes a
   * mechanism that has an encoder for every Toeplitz workload ('square-root', its relatives,
   * 'independent'); rates take 'optimal' (with `objective: 'mean'`, the default then; together with
   * momentum, or for momentum alone, up to 2048 steps, by matrices). 'post-processing', the
   * default: the encoder is made for prefix sums.
   */
  through?: 'post-processing' | 'workload';
}

/**
 * A loss given by the caller, for several examples at once: the derivative of each with respect to
 * its prediction, and, for `losses`, its value. It must not keep the arrays it is given. The slope
 * of an example must be a function of its own prediction and label, and of nothing else that was
 * learned from: with means over the batch, or anything kept from earlier calls, one example moves
 * others and the learner is NOT private. Comparisons of such a run (regret, `comparator`, `twin`)
 * exist only in C++, whose `FunctionLoss` states the bounds that they need; here both refuse it.
 */
export type BatchLoss = (
  predictions: Float64Array,
  labels: Float64Array,
) => { slopes: ArrayLike<number>; values?: ArrayLike<number> };
