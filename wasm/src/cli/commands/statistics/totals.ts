// SPDX-License-Identifier: Apache-2.0

// Readings of statistics as rows of numbers, which steppers hand on as they do totals.

import type { DpFtrl, Estimate, HistogramOptions, StatisticOptions } from '../../../types/all.js';
import type { PeopleStatistic, Statistic, Totals } from '../../../types/all.js';
import type { People } from '../../input/people.js';
import type { PeopleTotals, RowTotals, Sums } from '../../input/steps.js';

/** Numbers of an estimate. */
export const ESTIMATE = ['value', 'low', 'high', 'stddev'] as const;

/** Estimates of a row of numbers. */
export function estimatesOf(numbers: Float64Array): Estimate[] {
  return Array.from({ length: numbers.length / ESTIMATE.length }, (_, i) => {
    const entries = ESTIMATE.map((name, k) => [name, numbers[i * ESTIMATE.length + k]!]);
    return Object.fromEntries(entries) as unknown as Estimate;
  });
}

/** How rows of a table become records, and readings rows of numbers. */
export interface How<Many, Reading> {
  records(rows: ArrayLike<number>): Many;
  /** All estimates of a reading, in the order of its row. */
  estimates(reading: Reading): Estimate[];
}

/** Members of statistics of either kind. */
type Common<Reading> = Pick<Totals, 'certificate' | 'dimension' | 'numSteps' | 'step' | 'stddev'> &
  Pick<Totals, 'dispose'> & { endSteps(numSteps?: number): Reading[] };

/** A statistic whose readings are rows of numbers. */
abstract class Readings<Many, Reading, S extends Common<Reading>> {
  constructor(
    readonly statistic: S,
    protected readonly how: How<Many, Reading>,
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
  endSteps(numSteps?: number): Float64Array {
    return this.rowsOf(this.statistic.endSteps(numSteps));
  }
  dispose(): void {
    this.statistic.dispose();
  }

  protected rowsOf(readings: readonly Reading[]): Float64Array {
    const all = readings.flatMap((reading) => this.how.estimates(reading));
    return Float64Array.from(all.flatMap((estimate) => ESTIMATE.map((name) => estimate[name])));
  }
}

class RowReadings<Many, Reading>
  extends Readings<Many, Reading, Statistic<never, Many, Reading>>
  implements RowTotals
{
  contribute(rows: ArrayLike<number>): void {
    this.statistic.contribute(this.how.records(rows));
  }
  releaseMany(rows: ArrayLike<number>): Float64Array {
    return this.rowsOf(this.statistic.releaseMany(this.how.records(rows)));
  }
}

class PeopleReadings<Many, Reading>
  extends Readings<Many, Reading, PeopleStatistic<Many, Reading>>
  implements PeopleTotals
{
  get numDropped(): number {
    return this.statistic.numDropped;
  }

  contribute(people: string | ArrayLike<string>, rows: ArrayLike<number>): void {
    this.statistic.contribute(people, this.how.records(rows));
  }
  releaseEach(people: ArrayLike<string>, rows: ArrayLike<number>): Float64Array {
    return this.rowsOf(this.statistic.releaseEach(people, this.how.records(rows)));
  }
}

interface Asked<Many, Reading> extends How<Many, Reading> {
  options: StatisticOptions | HistogramOptions;
  people: People | undefined;
  /** Is given the statistic. */
  made?(statistic: unknown): void;
}

/** Sums of a run that are a statistic, of rows or of people. */
export function readingSums<Many, Reading>(
  dp: DpFtrl,
  { options, people, made, ...how }: Asked<Many, Reading>,
): Sums {
  // The options say which of both it is, and what its readings are.
  if (people) {
    const statistic: unknown = dp.peopleStatistic(options as HistogramOptions);
    made?.(statistic);
    return { people, totals: new PeopleReadings(statistic as PeopleStatistic<Many, Reading>, how) };
  }
  const statistic: unknown = dp.statistic(options as HistogramOptions);
  made?.(statistic);
  return { people, totals: new RowReadings(statistic as Statistic<never, Many, Reading>, how) };
}
