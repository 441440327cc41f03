// SPDX-License-Identifier: Apache-2.0

// Windows and decaying sums of a table, in the shape of a simulation, which has running totals alone.

import type { PrefixSumOptions, SimulationChunk } from 'dp-ftrl';
import type { RemotePrefixSum, SimulationInfo } from 'dp-ftrl/worker-client';
import type { Records } from '../data/contributions.ts';
import { clippedSteps, weightedSums, type Weights } from '../data/weighted_sums.ts';
import type { Engine, RemoteSimulation } from './engine.ts';

/** Members of a simulation that a run needs. */
export type Simulated = SimulationInfo & Pick<RemoteSimulation, 'advance' | 'dispose'>;

const none = new Float64Array();
/** Longest part between two looks at the clock, in milliseconds. */
const longestPart = 8;

export class WeightedRun {
  readonly learns = false;
  readonly classifies = false;
  readonly clippingImpossible = false;
  readonly lambda = { private: 0, twin: 0 };
  readonly regretBound = null;
  readonly certificate: SimulationInfo['certificate'];
  readonly dimension: number;
  readonly numSteps: number;
  readonly grid: number;
  private step = 0;
  private partSteps = 16;
  private readonly trueSums: Float64Array;

  private constructor(
    private readonly sums: RemotePrefixSum,
    private readonly records: Records,
    clipNorm: number,
    weights: Weights,
  ) {
    this.certificate = sums.certificate;
    this.dimension = sums.dimension;
    this.grid = sums.grid;
    this.numSteps = Math.min(sums.numSteps, records.numSteps);
    this.trueSums = weightedSums(clippedSteps(records, clipNorm), sums.dimension, weights);
  }

  static async create(
    engine: Engine,
    options: Omit<PrefixSumOptions, 'dimension'> & { clipNorm: number },
    records: Records,
    weights: Weights,
  ): Promise<Simulated> {
    const dimension = records.table.numColumns;
    const sums = await engine.prefixSum({ ...options, dimension });
    return new WeightedRun(sums, records, options.clipNorm, weights);
  }

  /** As a simulation does; it looks at the clock between parts of some milliseconds. */
  async advance(
    maxSteps: number,
    { maxMilliseconds = Infinity }: { maxMilliseconds?: number } = {},
  ): Promise<SimulationChunk> {
    const firstStep = this.step;
    const end = Math.min(this.numSteps, firstStep + maxSteps);
    const start = performance.now();
    const noisySums: number[] = [];
    const stddev: number[] = [];
    do {
      const began = performance.now();
      const to = Math.min(end, this.step + this.partSteps);
      for (const [row, std] of await this.release(to)) {
        noisySums.push(...row);
        stddev.push(std);
      }
      this.step = to;
      const took = performance.now() - began;
      this.partSteps = took < longestPart ? 2 * this.partSteps : Math.max(1, this.partSteps >> 1);
    } while (this.step < end && !this.sums.disposed && performance.now() - start < maxMilliseconds);
    const entries = (steps: number): number => steps * this.dimension;
    return {
      firstStep,
      numSteps: this.step - firstStep,
      trueSums: this.trueSums.slice(entries(firstStep), entries(this.step)),
      noisySums: Float64Array.from(noisySums),
      stddev: Float64Array.from(stddev),
      privateLoss: none,
      twinLoss: none,
      privateCorrect: new Uint8Array(),
      twinCorrect: new Uint8Array(),
      regret: { steps: none, private: none, twin: none, gap: none },
    };
  }

  dispose(): void {
    this.sums.dispose();
  }

  /** Releases the steps before `to`, and says the deviation of each. Asks for all before it waits. */
  private release(to: number): Promise<[Float64Array, number][]> {
    const { sums, records } = this;
    const { table, batchSize } = records;
    const width = batchSize * this.dimension;
    const releaseOf = (step: number): Promise<Float64Array> => {
      const values = table.values.slice(step * width, (step + 1) * width);
      if (batchSize === 1) return sums.releaseMany(values);
      return Promise.all([sums.contribute(values), sums.endSteps()]).then(([, totals]) => totals);
    };
    const steps = Array.from({ length: to - this.step }, (_, i) => this.step + i);
    return Promise.all(steps.map((step) => Promise.all([releaseOf(step), sums.stddev(step)])));
  }
}
