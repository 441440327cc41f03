// SPDX-License-Identifier: Apache-2.0

// Settings for learning, chosen from public numbers.

import type { Algorithm, LinearLoss } from '../streams/loss.js';
import type { LearnerOptions } from '../streams/learner.js';
import type { PrivacyTarget } from '../streams/options.js';

export interface LearnPlanOptions
  extends PrivacyTarget,
    Pick<LearnerOptions, 'neighbours' | 'batchSize'> {
  /** A loss with bounded slopes. Default 'logistic'. */
  loss?: LinearLoss;
  /**
   * 'dp-ftrl' implies the setup 'stream', and 'dp-gd' the setup 'table'. 'auto' (default): the
   * setup decides.
   */
  algorithm?: Algorithm;
  /**
   * 'stream' (default): each row comes once. 'table': every step learns from all rows. 'unclipped':
   * chooses the clip norm alone, as the largest norm that a gradient can have.
   */
  setup?: 'stream' | 'table' | 'unclipped';
  /**
   * Learning rates for the setup 'table', as in `learn`. 'linear' (default) uses the latest weights
   * as the model.
   */
  rates?: 'linear' | 'constant';
  /** Rows of the table, or of the whole stream. Public, like all of these options. */
  rows: number;
  /** Entries of an example, each in [-1, 1], including one that is always 1 for an intercept. */
  dimension: number;
}

/** Settings for learning that follow from public numbers. */
export interface LearnPlan {
  /** Options for `learner`, with the target. */
  options: LearnerOptions & PrivacyTarget;
  /** Whether `learn`, by default, first releases the second moments of a table. */
  precondition: boolean;
  /** Epsilon of the second moments, at the same delta; 0 if delta is too large to split. */
  momentsEpsilon: number;
  /** Epsilon of the learner that follows, at the same delta. */
  learnerEpsilon: number;
}
