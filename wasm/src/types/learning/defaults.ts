// SPDX-License-Identifier: Apache-2.0

// Default settings of a learner.

import type { MechanismOptions } from '../mechanism.js';
import type { LearnerOptions } from './linear-learner.js';
import type { LossName } from './loss.js';

export interface LearnerDefaultsOptions
  extends Required<Pick<MechanismOptions, 'epsilon' | 'delta'>>,
    Pick<MechanismOptions, 'neighbours'>,
    Pick<LearnerOptions, 'numClasses' | 'quantile' | 'huberThreshold' | 'batchSize'> {
  /** A loss with bounded slopes. Default 'logistic'. */
  loss?: LossName | 'softmax';
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
  numRows: number;
  /**
   * Number of entries of an example, each in [-1, 1], including one that is always 1 for an
   * intercept.
   */
  dimension: number;
}
