// SPDX-License-Identifier: Apache-2.0

// The average of the later weights of a run; post-processing of private weights.

import type { Learner } from '../../types/all.js';
import type { Stream } from '../../types/streams/stream.js';

/** Approximate maximum number of samples of the weights in a run. */
const NUM_LOOKS = 256;

type LearnerView = Pick<Stream<never, unknown>, 'steps' | 'step'> & Pick<Learner, 'weights'>;

/** Rows between two samples, a whole number of full batches. */
export function rowsPerLook(steps: number, batchSize: number): number {
  return Math.ceil(steps / NUM_LOOKS) * batchSize;
}

/** The mean of the weights after steps in the second half of the horizon. */
export class TailAverage {
  private sum: Float64Array | undefined;
  private numLooks = 0;
  private lastStep = 0;

  constructor(private readonly learner: LearnerView) {}

  /** Samples the current weights; ignored in the first half of the run. */
  look(): void {
    const { step, steps } = this.learner;
    if (step <= this.lastStep || 2 * step <= steps) return;
    this.lastStep = step;
    const lastWeights = this.learner.weights();
    this.sum ??= new Float64Array(lastWeights.length);
    lastWeights.forEach((weight, i) => (this.sum![i]! += weight));
    this.numLooks += 1;
  }

  /** Undefined before the second half. */
  weights(): number[] | undefined {
    return this.sum && Array.from(this.sum, (sum) => sum / this.numLooks);
  }
}
