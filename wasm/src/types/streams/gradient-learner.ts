// SPDX-License-Identifier: Apache-2.0

// Private learning from gradients of any model.

import type { Row, StreamOptions } from './options.js';

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

export interface GradientLearnerOptions extends StreamOptions {
  /** Number of weights of the model, and entries of each gradient. */
  dimension: number;
  /** Learning rate. */
  rate: number;
  /**
   * Norm to which each gradient, or the sum of a person's gradients of a step, is clipped. Default
   * 1.
   */
  clip?: number;
  /**
   * Divisor of the sums of gradients, however many there are, and the number of gradients with which
   * `releaseMany` ends a step. Default 1.
   */
  batchSize?: number;
  /**
   * Initial weights, which must not depend on the data. Default: zeros. A stream that is reopened
   * from its store has those it was begun with.
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

/** Members of a learner beside those of all streams. */
export interface GradientLearner {
  /** Returns the weights at which to compute the next gradients. */
  weights(): Float64Array;
}
