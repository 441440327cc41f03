// SPDX-License-Identifier: Apache-2.0

// Private learning from a whole table.

import type { NamedRecord, PrivacyTarget, StreamOptions } from '../streams/options.js';

export interface LearnOptions extends PrivacyTarget, Pick<StreamOptions, 'neighbours'> {
  /** Features of the examples, row after row. */
  features: ArrayLike<number>;
  /** One class per row: 0 and 1, or -1 and +1; for `softmax`, 0, 1, ... */
  labels: ArrayLike<number>;
  /** Default 'logistic'. */
  loss?: 'logistic' | 'hinge' | { softmax: number };
  /**
   * Names and public ranges of the features, in the order of `features`. Values outside a range are
   * clamped to it. Names must not be integers, because objects list integer keys first. Default:
   * x1, x2, ..., with ranges [-1, 1].
   */
  columns?: NamedRecord<string, readonly [low: number, high: number]>;
  /** Whether the model has an intercept, the weight of a feature that is always 1. Default true. */
  intercept?: boolean;
  /**
   * Schedule of the learning rate: 'linear' (default) decreases linearly to 0, and the model has
   * the latest weights; with 'constant' it has the mean of the later weights.
   */
  rates?: 'linear' | 'constant';
  /**
   * Whether to release second moments of the features first, with a tenth of the squared mu, and to
   * learn in coordinates in which they are equal. This helps if features are correlated, and hurts
   * if there are too few rows for the number of features. At most 512 features, including the
   * intercept. Default: true if sigma sqrt(2) d^(3/2) / n <= 1/2, with sigma the standard deviation
   * of the moments of rows of length 1, d the number of features including the intercept, and n the
   * number of rows; the data play no part in it. `learnPlan` returns the outcome.
   */
  precondition?: boolean;
  /** Fixed seed, for tests and demonstrations only: NOT private. */
  insecureSeed?: number | bigint;
}
