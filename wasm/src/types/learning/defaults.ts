// SPDX-License-Identifier: Apache-2.0

// Settings of a learner that nobody chose.

import type { MechanismOptions } from '../mechanism.js';
import type { LearnerOptions } from './linear-learner.js';
import type { LossName } from './loss.js';

export interface LearnerDefaultsOptions
  extends Required<Pick<MechanismOptions, 'epsilon' | 'delta'>>,
    Pick<MechanismOptions, 'neighbours'>,
    Pick<LearnerOptions, 'numClasses' | 'quantile' | 'huberThreshold' | 'batchSize'> {
  /** One with slopes that have a bound. Default 'logistic'. */
  loss?: LossName | 'softmax';
  /**
   * 'stream', the default: each row comes once. 'table': all rows are learned from in every step.
   * 'unclipped': the clip norm alone, the longest gradient there can be.
   */
  setup?: 'stream' | 'table' | 'unclipped';
  /** Rates of a 'table', as for `learn`. 'linear', the default, has the latest weights as its model. */
  rates?: 'linear' | 'constant';
  /** Rows of the table, or of the horizon: public, like everything else here. */
  numRows: number;
  /** Entries of an example, each in [-1, 1], and one that is always 1 for an intercept. */
  dimension: number;
}
