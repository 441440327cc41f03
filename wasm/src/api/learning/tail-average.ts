// SPDX-License-Identifier: Apache-2.0

// The average of the later weights of a run: a function of what is private already.

import type { Learner } from '../../types/all.js';

/** Number of looks at the weights in a run, at most about. */
const NUM_LOOKS = 256;

type Looked = Pick<Learner, 'numSteps' | 'batchSize' | 'step' | 'model'>;

/** Returns the rows to learn from between two looks: whole steps, where they come in those. */
export function rowsPerLook({ numSteps, batchSize }: Pick<Looked, 'numSteps' | 'batchSize'>): number {
  return Math.ceil(numSteps / NUM_LOOKS) * batchSize;
}

/** The mean of the weights after steps beyond the half of the horizon. */
export class TailAverage {
  readonly pieceSize: number;
  private sum: Float64Array | undefined;
  private numLooks = 0;
  private lastStep = 0;

  constructor(private readonly learner: Looked) {
    this.pieceSize = rowsPerLook(learner);
  }

  /** Takes the weights as they are now, unless they were taken or it is too early. */
  look(): void {
    const { step, numSteps } = this.learner;
    if (step <= this.lastStep || 2 * step <= numSteps) return;
    this.lastStep = step;
    const { lastWeights } = this.learner.model();
    this.sum ??= new Float64Array(lastWeights.length);
    lastWeights.forEach((weight, i) => (this.sum![i]! += weight));
    this.numLooks += 1;
  }

  /** Returns the average, undefined before the second half. */
  weights(): number[] | undefined {
    return this.sum && Array.from(this.sum, (sum) => sum / this.numLooks);
  }
}
