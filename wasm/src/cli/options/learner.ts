// SPDX-License-Identifier: Apache-2.0

// The options of dp-ftrl learn, as options of the package.

import type { LinearLoss, LossName } from '../../types/all.js';
import type { LearnerOptions } from '../../types/all.js';

/** Options of a learner, complete except for its store. */
export type LearnerSettings = LearnerOptions & { epsilon: number; delta: number };

/** A loss and its parameters, each in an option of its own. */
export interface LossSettings {
  loss: LossName | 'softmax';
  quantile?: number | undefined;
  huberThreshold?: number | undefined;
  numClasses?: number | undefined;
}

export function lossOf({
  loss,
  quantile = 0.5,
  huberThreshold = 1,
  numClasses,
}: LossSettings): LinearLoss {
  switch (loss) {
    case 'quantile':
      return { quantile };
    case 'huber':
      return { huber: huberThreshold };
    case 'softmax':
      return { softmax: numClasses! };
    default:
      return loss;
  }
}
