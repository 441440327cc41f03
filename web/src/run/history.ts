// SPDX-License-Identifier: Apache-2.0

// Everything that one simulation has shown so far, so that other views need no second run.

import type { SimulationChunk } from 'dp-ftrl';
import type { SimulationInfo } from '../base/engine.ts';

export interface Regret {
  steps: number[];
  private: number[];
  twin: number[];
  gap: number[];
}

/** Which part of each chunk is kept. */
export type HistoryScope = 'all' | 'sums' | 'learning';

export class History {
  /** Number of steps recorded. */
  step = 0;
  /** Sums in row-major order, steps x dimension. */
  readonly trueSums: Float64Array;
  readonly noisySums: Float64Array;
  readonly stddev: Float64Array;
  /** Running averages; empty without a learner. */
  readonly privateLoss: Float64Array;
  readonly twinLoss: Float64Array;
  /** Running share of correct predictions; empty unless the learner classifies. */
  readonly privateAccuracy: Float64Array;
  readonly twinAccuracy: Float64Array;
  readonly regret: Regret = { steps: [], private: [], twin: [], gap: [] };

  constructor(
    readonly info: SimulationInfo,
    private readonly kept: HistoryScope = 'all',
  ) {
    const { steps, dimension } = info;
    const learns = info.learns && kept !== 'sums';
    const classifies = info.classifies && kept !== 'sums';
    const numSums = kept === 'learning' ? 0 : steps * dimension;
    this.trueSums = new Float64Array(numSums);
    this.noisySums = new Float64Array(numSums);
    this.stddev = new Float64Array(steps);
    this.privateLoss = new Float64Array(learns ? steps : 0);
    this.twinLoss = new Float64Array(learns ? steps : 0);
    this.privateAccuracy = new Float64Array(classifies ? steps : 0);
    this.twinAccuracy = new Float64Array(classifies ? steps : 0);
  }

  append(chunk: SimulationChunk): void {
    const { firstStep, steps } = chunk;
    if (firstStep !== this.step) {
      throw new Error(`history: step ${this.step} is next, got ${firstStep}`);
    }
    this.stddev.set(chunk.stddev, firstStep);
    if (this.kept !== 'learning') this.appendSums(chunk);
    if (this.kept !== 'sums') this.appendLearning(chunk);
    this.step += steps;
  }

  private appendSums({ firstStep, trueSums, noisySums }: SimulationChunk): void {
    this.trueSums.set(trueSums, firstStep * this.info.dimension);
    this.noisySums.set(noisySums, firstStep * this.info.dimension);
  }

  private appendLearning(chunk: SimulationChunk): void {
    const { firstStep } = chunk;
    average(this.privateLoss, firstStep, chunk.privateLoss);
    average(this.twinLoss, firstStep, chunk.twinLoss);
    average(this.privateAccuracy, firstStep, chunk.privateCorrect);
    average(this.twinAccuracy, firstStep, chunk.twinCorrect);
    for (const key of ['steps', 'private', 'twin', 'gap'] as const) {
      this.regret[key].push(...chunk.regret[key]);
    }
  }
}

/** Continues the running average in `into` with the values of steps `first`, `first` + 1, … */
function average(into: Float64Array, first: number, values: ArrayLike<number>): void {
  let mean = first > 0 ? (into[first - 1] ?? 0) : 0;
  for (let i = 0; i < values.length; ++i) {
    mean += ((values[i] ?? 0) - mean) / (first + i + 1);
    into[first + i] = mean;
  }
}
