// SPDX-License-Identifier: Apache-2.0

// Weighted sums of a table behind the interface of a simulation, which has running totals only.

import type { ErrorOptions, PrefixSumOptions, SimulationChunk } from 'dp-ftrl';
import type { RemotePrefixSum, SimulationInfo } from 'dp-ftrl/worker-client';
import type { Records } from '../data/contributions.ts';
import { clippedSteps, weightedSums, type Weights } from '../data/weighted-sums.ts';
import type { Engine, RemoteSimulation } from '../base/engine.ts';

/** Members of a simulation that a run uses. */
export type Simulated = SimulationInfo & Pick<RemoteSimulation, 'advance' | 'dispose'>;

/** Options of a weighted run. */
export interface WeightedOptions {
  options: Omit<PrefixSumOptions, 'dimension'> & { clipNorm: number };
  /** Options that the errors depend on. */
  problem: ErrorOptions;
  records: Records;
  weights: Weights;
}

const none = new Float64Array();
/** Target time between two checks of the clock, in milliseconds. */
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
  private readonly records: Records;
  private readonly trueSums: Float64Array;

  private constructor(
    private readonly sums: RemotePrefixSum,
    private readonly unitErrors: Float64Array,
    { records, options, weights }: WeightedOptions,
  ) {
    this.certificate = sums.certificate;
    this.dimension = sums.dimension;
    this.grid = sums.grid;
    this.numSteps = Math.min(sums.numSteps, records.numSteps);
    this.records = records;
    this.trueSums = weightedSums(clippedSteps(records, options.clipNorm), sums.dimension, weights);
  }

  static async create(engine: Engine, wanted: WeightedOptions): Promise<Simulated> {
    const { options, problem, records } = wanted;
    const dimension = records.table.numColumns;
    const sums = await engine.prefixSum({ ...options, dimension });
    try {
      return new WeightedRun(sums, await engine.errorPerStep(problem), wanted);
    } catch (error) {
      sums.dispose();
      throw error;
    }
  }

  /** Advances like a simulation; checks the clock every few milliseconds. */
  async advance(
    maxSteps: number,
    { maxMilliseconds = Infinity }: { maxMilliseconds?: number } = {},
  ): Promise<SimulationChunk> {
    const firstStep = this.step;
    const end = Math.min(this.numSteps, firstStep + maxSteps);
    const start = performance.now();
    const entries = (steps: number): number => steps * this.dimension;
    const noisySums = new Float64Array(entries(end - firstStep));
    do {
      const began = performance.now();
      const to = Math.min(end, this.step + this.partSteps);
      let at = entries(this.step - firstStep);
      for (const totals of await this.release(to)) {
        noisySums.set(totals, at);
        at += totals.length;
      }
      this.step = to;
      const took = performance.now() - began;
      this.partSteps = took < longestPart ? 2 * this.partSteps : Math.max(1, this.partSteps >> 1);
    } while (this.step < end && !this.sums.disposed && performance.now() - start < maxMilliseconds);
    return {
      firstStep,
      numSteps: this.step - firstStep,
      trueSums: this.trueSums.slice(entries(firstStep), entries(this.step)),
      noisySums: noisySums.slice(0, entries(this.step - firstStep)),
      stddev: this.unitErrors.slice(firstStep, this.step).map((error) => this.stddevOf(error)),
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

  /** Releases the steps before `to`; sends all requests before awaiting any. */
  private release(to: number): Promise<Float64Array[]> {
    const { sums, records } = this;
    const { table, batchSize } = records;
    const width = batchSize * this.dimension;
    const valuesOf = (from: number, end: number): Float64Array =>
      table.values.slice(from * width, end * width);
    if (batchSize === 1) return Promise.all([sums.releaseMany(valuesOf(this.step, to))]);
    const steps = Array.from({ length: to - this.step }, (_, i) => this.step + i);
    return Promise.all(
      steps.map(async (step) => {
        const asked = [sums.contribute(valuesOf(step, step + 1)), sums.endSteps()] as const;
        const [, totals] = await Promise.all(asked);
        return totals;
      }),
    );
  }

  /**
   * Returns the standard deviation of a release, given its error at noise multiplier and clip norm
   * 1.
   */
  private stddevOf(error: number): number {
    const { noiseStddev, sensitivity } = this.certificate;
    // The default grid is fine relative to the noise, so rounding adds the deviation of a uniform
    // error.
    return Math.hypot((noiseStddev / sensitivity) * error, this.grid / Math.sqrt(12));
  }
}
