// SPDX-License-Identifier: Apache-2.0

// Losses, constraint sets and update rules of learners.

/** Losses of a prediction and a label; the first two take labels 0 and 1, or -1 and +1. */
export type LossName = 'logistic' | 'hinge' | 'squared' | 'huber' | 'absolute' | 'quantile';

/**
 * A loss, with its parameter if it has one: the level of `quantile`, between 0 and 1; the distance
 * from the label, in its units, at which `huber` becomes linear; the number of classes of
 * `softmax`, whose labels are 0, 1, ...
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

/**
 * Penalty on the weights, added to the mean loss of every step, which can make weights exactly 0:
 * `strength` times the sum of their absolute values (L1), or of the norms of groups of them. The
 * penalty does not affect privacy, because the weights follow from the same releases. Zeros are
 * found in `lastWeights`; an average of weights is 0 only where all averaged weights are.
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
  /** Trailing features that are not penalised, such as an intercept. Default 0. */
  numUnpenalised?: number;
}

/**
 * The algorithm of a learner: 'dp-ftrl' follows the regularized leader, 'dp-gd' is gradient descent
 * on the noisy gradients.
 */
export type Algorithm = 'auto' | 'dp-ftrl' | 'dp-gd';

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
   * built for sums with these rates and this momentum. For momentum alone, this requires a
   * mechanism with an encoder for every Toeplitz workload, such as 'square-root' or 'independent',
   * or 'optimal' up to 2048 steps. For rates, it requires 'optimal' with `objective: 'mean'`, which
   * is then the default; rates with momentum have up to 2048 steps.
   */
  through?: 'post-processing' | 'workload';
}

/**
 * A loss given by the caller, evaluated for several examples at once. Returns the derivative of
 * each loss with respect to its prediction and, for `losses`, its value. It must not keep the
 * arrays it is given. The slope of an example must depend on that example's prediction and label,
 * and on no other data that was learned from: with means over the batch, or anything kept from
 * earlier calls, one example affects others and the learner is NOT private. Comparisons of these
 * learners (regret, `study.comparator`, `study.twin`) are available only in C++, where
 * `FunctionLoss` states the bounds they need; here `study.comparator` and `study.twin` refuse the
 * loss.
 */
export type BatchLoss = (
  predictions: Float64Array,
  labels: Float64Array,
) => { slopes: ArrayLike<number>; values?: ArrayLike<number> };
