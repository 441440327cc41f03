// SPDX-License-Identifier: Apache-2.0

// Losses of predictions, measured on the data, hence NOT private.

import { classifies } from '../../../api/learning/loss.js';
import { isRight } from '../../../api/learning/model.js';
import type { LearnedModel, Learner } from '../../../types/all.js';

const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);

/** Members of a learner that compute losses. */
export type Losses = Pick<Learner, 'loss' | 'losses' | 'numScores'>;

/** Progressive validation: sums the losses of predictions made before the label was seen. */
export class Progressive {
  private loss = 0;
  private zeroLoss = 0;
  private numCorrect = 0;
  private numExamples = 0;
  private lossOfAll = 0;
  private numOfAll = 0;

  constructor(private readonly learner: Losses) {}

  /**
   * Adds predictions; `scores` has `numScores` entries for each label. Examples that are not new
   * only count for the mean loss.
   */
  add(scores: Float64Array, labels: Float64Array, areNew = true): void {
    const loss = sum(this.learner.losses(scores, labels));
    this.lossOfAll += loss;
    this.numOfAll += labels.length;
    if (!areNew) return;
    this.loss += loss;
    this.zeroLoss += sum(this.learner.losses(new Float64Array(scores.length), labels));
    const width = this.learner.numScores;
    labels.forEach((label, i) => {
      this.numCorrect += Number(isRight(scores.subarray(i * width, (i + 1) * width), label));
    });
    this.numExamples += labels.length;
  }

  /** Mean loss of the predictions for all examples, including repeated ones. */
  get meanLoss(): number {
    return this.lossOfAll / this.numOfAll;
  }

  get numSeen(): number {
    return this.numExamples;
  }

  result(): Pick<
    NonNullable<LearnedModel['nonprivate']>,
    'progressiveLoss' | 'zeroLoss' | 'progressiveAccuracy'
  > {
    const mean = (total: number) => (this.numExamples === 0 ? 0 : total / this.numExamples);
    return {
      progressiveLoss: mean(this.loss),
      zeroLoss: mean(this.zeroLoss),
      progressiveAccuracy: classifies(this.learner.loss) ? mean(this.numCorrect) : null,
    };
  }
}
