// SPDX-License-Identifier: Apache-2.0

// Private learning from gradients of any model.

import type { ClippedByCaller, Row, StreamOptions } from './options.js';

/** Parameters of Adam. */
export interface AdamParameters {
  /** Decay of the first moment. Default 0.9. */
  beta1?: number;
  /** Decay of the second moment. Default 0.999. */
  beta2?: number;
  /**
   * Lower limit of the corrected second moment, a squared gradient. Default: one standard deviation
   * of its noise for zero gradients.
   */
  floor?: number;
}

export interface GradientLearnerOptions extends StreamOptions, ClippedByCaller {
  /** Number of weights of the model, and of entries of each gradient. */
  dimension: number;
  /** Learning rate. */
  rate: number;
  /**
   * Norm to which each gradient, or the sum of a person's gradients in a step, is clipped. Default
   * 1.
   */
  clip?: number;
  /**
   * Divisor of the sum of gradients of each step, however many gradients it has, and the number of
   * gradients after which `releaseMany` ends a step. Default 1.
   */
  batchSize?: number;
  /**
   * Initial weights, which must not depend on the data. Default: zeros. A stream that is reopened
   * from its store keeps the initial weights with which it began.
   */
  start?: Row;
  /**
   * 'descent' (default): gradient descent, with `momentum`. 'ftrl': start - rate * (sum of all
   * gradients). `{ adam: {} }`: Adam, with the variance of the noise subtracted from its second
   * moment.
   */
  rule?: 'descent' | 'ftrl' | { adam: AdamParameters };
  /** Momentum, for 'descent'. Default 0. */
  momentum?: number;
  /** Largest distance of the weights from `start`, for 'descent' and 'ftrl'. Default: unlimited. */
  radius?: number;
  /** Spacing of the sums of gradients, a power of two. */
  grid?: number;
}

/** Members that a gradient learner adds to the members of every stream. */
export interface GradientLearner {
  /** Weights at which to compute the next gradients. */
  weights(): Float64Array;
}
