// SPDX-License-Identifier: Apache-2.0

// Readings of statistics as rows of numbers, which steppers hand on as they do totals.

import type { Estimate, Statistic } from '../../../types/all.js';
import type { RowTotals } from '../../input/steps.js';

/** Numbers of an estimate. */
export const ESTIMATE = ['value', 'low', 'high', 'stddev'] as const;

/** Estimates of a row of numbers. */
export function estimatesOf(numbers: Float64Array): Estimate[] {
  return Array.from({ length: numbers.length / ESTIMATE.length }, (_, i) => {
    const entries = ESTIMATE.map((name, k) => [name, numbers[i * ESTIMATE.length + k]!]);
    return Object.fromEntries(entries) as unknown as Estimate;
  });
}

interface How<Many, Reading> {
  /** Records of rows of the table. */
  records(rows: ArrayLike<number>): Many;
  /** All estimates of a reading, in the order of its row. */
  estimates(reading: Reading): Estimate[];
}

/** A statistic whose readings are rows of numbers. */
export class ReadingTotals<
  Many,
  Reading,
  S extends Pick<Statistic<never, Many, Reading>, keyof RowTotals>,
> implements RowTotals
{
  constructor(
    readonly statistic: S,
    private readonly how: How<Many, Reading>,
  ) {}

  get certificate() {
    return this.statistic.certificate;
  }
  /** Numbers of a row of the table: a row of a reading has others. */
  get dimension() {
    return this.statistic.dimension;
  }
  get numSteps() {
    return this.statistic.numSteps;
  }
  get step() {
    return this.statistic.step;
  }

  stddev(step: number): number {
    return this.statistic.stddev(step);
  }
  contribute(rows: ArrayLike<number>): void {
    this.statistic.contribute(this.how.records(rows));
  }
  releaseMany(rows: ArrayLike<number>): Float64Array {
    return this.rowsOf(this.statistic.releaseMany(this.how.records(rows)));
  }
  endSteps(numSteps?: number): Float64Array {
    return this.rowsOf(this.statistic.endSteps(numSteps));
  }
  dispose(): void {
    this.statistic.dispose();
  }

  private rowsOf(readings: readonly Reading[]): Float64Array {
    const all = readings.flatMap((reading) => this.how.estimates(reading));
    return Float64Array.from(all.flatMap((estimate) => ESTIMATE.map((name) => estimate[name])));
  }
}
