// SPDX-License-Identifier: Apache-2.0

// Losses of predictions, measured on the data, hence NOT private.

import { classifies } from '../../../api/learning/loss.js';
import { isRight } from '../../../api/learning/model.js';
import type { LearnedModel } from '../../../types/all.js';
import type { LossSettings } from '../../options/learner.js';

const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);

/** Computes the losses of scores. */
export interface ProgressiveLosses {
  loss: LearnedModel['loss'];
  /** Scores of an example. */
  numScores: number;
  losses(scores: Float64Array, labels: Float64Array): Float64Array | Promise<Float64Array>;
}

export function lossesOf(
  { loss, numClasses = 1 }: LossSettings,
  learner: Pick<ProgressiveLosses, 'losses'>,
): ProgressiveLosses {
  return { loss, numScores: numClasses, losses: (...given) => learner.losses(...given) };
}

/** Progressive validation: sums the losses of predictions made before the label was seen. */
export class Progressive {
  private loss = 0;
  private zeroLoss = 0;
  private numCorrect = 0;
  private numExamples = 0;
  private lossOfAll = 0;
  private numOfAll = 0;

  constructor(private readonly of: ProgressiveLosses) {}

  /**
   * Adds predictions; `scores` has `numScores` entries for each label. Examples that are not new
   * count only towards the mean loss.
   */
  async add(scores: Float64Array, labels: Float64Array, areNew = true): Promise<void> {
    const loss = sum(await this.of.losses(scores, labels));
    this.lossOfAll += loss;
    this.numOfAll += labels.length;
    if (!areNew) return;
    this.loss += loss;
    this.zeroLoss += sum(await this.of.losses(new Float64Array(scores.length), labels));
    const width = this.of.numScores;
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
      progressiveAccuracy: classifies(this.of.loss) ? mean(this.numCorrect) : null,
    };
  }
}
