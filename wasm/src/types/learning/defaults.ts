// SPDX-License-Identifier: Apache-2.0

// Plans of learning, made from public numbers.

import type { MechanismOptions } from '../mechanism.js';
import type { LinearLoss } from '../streams/loss.js';
import type { LearnerOptions } from '../streams/learner.js';

export interface LearnPlanOptions
  extends Required<Pick<MechanismOptions, 'epsilon' | 'delta'>>,
    Pick<MechanismOptions, 'neighbours'>,
    Pick<LearnerOptions, 'batchSize'> {
  /** A loss with bounded slopes. Default 'logistic'. */
  loss?: LinearLoss;
  /**
   * 'stream' (default): each row comes once. 'table': every step learns from all rows. 'unclipped':
   * only the clip norm, which is the largest norm a gradient can have.
   */
  setup?: 'stream' | 'table' | 'unclipped';
  /**
   * Learning rates of a 'table', as for `learn`. 'linear' (default) uses the latest weights as the
   * model.
   */
  rates?: 'linear' | 'constant';
  /** Number of rows of the table, or of the horizon. Public, like all of these options. */
  rows: number;
  /**
   * Number of entries of an example, each in [-1, 1], including one that is always 1 for an
   * intercept.
   */
  dimension: number;
}

/** How to learn, as far as public numbers tell. */
export interface LearnPlan {
  /** Options for `learner`, with the target. */
  options: LearnerOptions & Required<Pick<MechanismOptions, 'epsilon' | 'delta'>>;
  /** Whether `learn` releases second moments of a table first, by default. */
  precondition: boolean;
  /** Epsilon of these moments, at the same delta; 0 if delta is too large for two parts. */
  momentsEpsilon: number;
  /** Epsilon of the learner after them, at the same delta. */
  learnerEpsilon: number;
}
