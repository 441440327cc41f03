// SPDX-License-Identifier: Apache-2.0

// Weighted sums of a table with the interface of a simulation; simulations themselves have only
// running totals.

import type { AdvanceOptions, Async, CounterOptions, PrivacyTarget, Row } from 'dp-ftrl';
import type { SimulationChunk, Stream, Totals } from 'dp-ftrl';
import type { StepRecords } from '../data/contributions.ts';
import type { Engine, RemoteSimulation, SimulationInfo } from '../base/engine.ts';

/** Options of a weighted run. */
export interface WeightedOptions {
  options: CounterOptions & PrivacyTarget & { clip: number; insecureSeed: number };
  records: StepRecords;
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
  readonly steps: number;
  readonly grid: number;
  private step = 0;
  private partSteps = 16;
  private readonly records: StepRecords;

  private constructor(
    private readonly sums: Async<Stream<[record: Row], Totals>>,
    records: StepRecords,
  ) {
    this.certificate = sums.certificate;
    this.dimension = records.table.numColumns;
    this.grid = sums.grid;
    this.steps = Math.min(sums.steps, records.numSteps);
    this.records = records;
  }

  static async create(engine: Engine, wanted: WeightedOptions): Promise<RemoteSimulation> {
    const { options, records } = wanted;
    const dimension = records.table.numColumns;
    const sums = await engine.totals({ ...options, dimension, showNonprivate: true });
    return new WeightedRun(sums, records);
  }

  /** Advances like a simulation; checks the clock every few milliseconds. */
  async advance(
    maxSteps: number,
    { maxMilliseconds = Infinity }: AdvanceOptions = {},
  ): Promise<SimulationChunk> {
    const firstStep = this.step;
    const end = Math.min(this.steps, firstStep + maxSteps);
    const start = performance.now();
    const entries = (steps: number): number => steps * this.dimension;
    const noisySums = new Float64Array(entries(end - firstStep));
    const trueSums = new Float64Array(noisySums.length);
    const stddev = new Float64Array(end - firstStep);
    do {
      const began = performance.now();
      const to = Math.min(end, this.step + this.partSteps);
      for (const reading of await this.release(to)) {
        noisySums.set(reading.values, entries(reading.step - firstStep));
        trueSums.set(reading.nonprivate!.values, entries(reading.step - firstStep));
        stddev[reading.step - firstStep] = reading.stddev;
      }
      this.step = to;
      const took = performance.now() - began;
      this.partSteps = took < longestPart ? 2 * this.partSteps : Math.max(1, this.partSteps >> 1);
    } while (this.step < end && !this.sums.disposed && performance.now() - start < maxMilliseconds);
    return {
      firstStep,
      steps: this.step - firstStep,
      trueSums: trueSums.slice(0, entries(this.step - firstStep)),
      noisySums: noisySums.slice(0, entries(this.step - firstStep)),
      stddev: stddev.slice(0, this.step - firstStep),
      privateLoss: none,
      twinLoss: none,
      privateCorrect: new Uint8Array(),
      twinCorrect: new Uint8Array(),
      regret: { steps: none, private: none, twin: none, gap: none },
    };
  }

  dispose(): Promise<void> {
    return this.sums.dispose();
  }

  /** Releases the steps up to `to`, which is excluded; sends all requests before awaiting any. */
  private release(to: number): Promise<Totals[]> {
    const { sums, records } = this;
    const { table, batchSize } = records;
    const width = batchSize * this.dimension;
    const valuesOf = (from: number, end: number): Float64Array =>
      table.values.slice(from * width, end * width);
    if (batchSize === 1) return sums.releaseMany(valuesOf(this.step, to));
    const steps = Array.from({ length: to - this.step }, (_, i) => this.step + i);
    return Promise.all(steps.map((step) => sums.releaseBatch(valuesOf(step, step + 1))));
  }
}
