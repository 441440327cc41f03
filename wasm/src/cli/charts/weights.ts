// SPDX-License-Identifier: Apache-2.0

// The figure of dp-ftrl learn: the weights over the steps. The weights are functions of private
// sums. They are drawn without a band, because the effect of noise on them depends on gradients.

import { rowsPerLook } from '../../api/learning/tail-average.js';
import type { LearnedModel } from '../../types/all.js';
import { STEP_AXIS } from '../../plot/picture.js';
import { drawnOf, type Figure } from './figure.js';

/** Maximum number of curves; the largest weights are drawn. */
const MOST_CURVES = 12;

/** A learner in memory or in a file. */
interface ObservedLearner {
  readonly steps: number;
  readonly step: number;
  weights(): Float64Array | Promise<Float64Array>;
}

export class WeightsChart {
  readonly pieceSize: number;
  private readonly steps: number[] = [];
  private readonly weights: Float64Array[] = [];

  constructor(
    private readonly learner: ObservedLearner,
    private readonly batchSize: number,
  ) {
    this.pieceSize = rowsPerLook(learner.steps, batchSize);
  }

  /** Records the current weights, unless already recorded. */
  async look(): Promise<void> {
    const { step } = this.learner;
    if (step <= (this.steps.at(-1) ?? 0)) return;
    this.steps.push(step);
    this.weights.push(await this.learner.weights());
  }

  figure({ weights }: Pick<LearnedModel, 'weights'>, names: readonly string[]): Figure {
    const places = [...weights.keys()]
      .sort((i, j) => Math.abs(weights[j]!) - Math.abs(weights[i]!))
      .slice(0, MOST_CURVES)
      .sort((i, j) => i - j);
    const last = this.learner.step;
    const shown = places.map((place) => names[place]!);
    const left =
      names.length > places.length ? `; the ${places.length} largest of ${names.length}` : '';
    const notes = left === '' ? [] : [`Drawn are${left.slice(1)} weights.`];
    return {
      title: 'Private weights',
      picture: {
        notes: [...drawnOf(this.pieceSize / this.batchSize, 'steps'), ...notes],
        panels: [
          {
            title: 'Dots: weights of the model',
            x: STEP_AXIS,
            y: { label: 'weight', log: false },
            series: places.flatMap((place, i) => [
              { name: shown[i]!, x: this.steps, y: this.weights.map((row) => row[place]!) },
              { name: '', of: shown[i]!, x: [last], y: [weights[place]!], look: 'marks' as const },
            ]),
          },
        ],
      },
      numbers: {
        caption: `Weights after some steps, and those of the model${left}`,
        header: ['step', ...shown],
        rows: [
          ...this.steps.map((step, i) => [
            step,
            ...places.map((place) => this.weights[i]![place]!),
          ]),
          ['model', ...places.map((place) => weights[place]!)],
        ],
      },
    };
  }
}
