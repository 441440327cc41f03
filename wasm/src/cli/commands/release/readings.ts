// SPDX-License-Identifier: Apache-2.0

// Adapts readings of statistics to rows of numbers, which steppers treat like totals.

import type { Estimate, PeopleStatistic, Statistic } from '../../../types/all.js';
import type { StatisticLedger, StatisticOptions, Totals } from '../../../types/all.js';
import type { PeopleTotals, RowTotals } from '../../input/steps.js';
import { ESTIMATE } from '../../output/estimates.js';
import type { StepLedger } from '../../state/state.js';
import type { OtherTotals } from './sums.js';

/** Conversions of table rows to records, and of readings to estimates. */
interface How<Many, Reading> {
  records(rows: ArrayLike<number>): Many;
  /** Returns all estimates of a reading, in the order of its row. */
  estimates(reading: Reading): Estimate[];
}

/** Members common to all kinds of statistics. */
type Common = Pick<
  Totals,
  'certificate' | 'dimension' | 'numSteps' | 'step' | 'stddev' | 'dispose'
>;
type Open<Reading> = Common & { endSteps(numSteps?: number): Reading[] };
type Lasting<Many, Reading> = StatisticLedger<never, Many, Reading>;

/** Adapts a statistic so that its readings are rows of numbers. */
abstract class Readings<Many, Reading, S extends Common> {
  constructor(
    protected readonly statistic: S,
    protected readonly how: How<Many, Reading>,
  ) {}

  get certificate() {
    return this.statistic.certificate;
  }
  /** Numbers in a row of the table, unlike those in a row of a reading. */
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
  dispose(): void {
    this.statistic.dispose();
  }

  protected rowsOf(readings: readonly Reading[]): Float64Array {
    const all = readings.flatMap((reading) => this.how.estimates(reading));
    return Float64Array.from(all.flatMap((estimate) => ESTIMATE.map((name) => estimate[name])));
  }
}

abstract class OpenReadings<Many, Reading, S extends Open<Reading>> extends Readings<
  Many,
  Reading,
  S
> {
  endSteps(numSteps?: number): Float64Array {
    return this.rowsOf(this.statistic.endSteps(numSteps));
  }
}

class RowReadings<Many, Reading>
  extends OpenReadings<Many, Reading, Statistic<never, Many, Reading>>
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
  extends OpenReadings<Many, Reading, PeopleStatistic<Many, Reading>>
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

class LedgerReadings<Many, Reading>
  extends Readings<Many, Reading, Lasting<Many, Reading>>
  implements StepLedger
{
  get identity(): string {
    return this.statistic.identity;
  }

  async releaseSteps(
    firstStep: number,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array,
  ): Promise<Float64Array> {
    const records = steps.map((rows) => this.how.records(rows));
    return this.rowsOf(await this.statistic.releaseSteps(firstStep, records, memo));
  }
}

interface Asked<Many, Reading>
  extends How<Many, Reading>,
    Pick<OtherTotals, 'kind' | 'fixed' | 'takesFirst'> {
  /** Returns options of the statistic, in addition to those of its mechanism. */
  what(asked: Parameters<OtherTotals['sums']>[1] | Parameters<OtherTotals['open']>[1]): object;
  /** Receives the statistic once it is made. */
  made?(statistic: unknown): void;
}

/** Makes totals that are readings of a statistic instead of sums of rows. */
export function readingsOf<Many, Reading>(asked: Asked<Many, Reading>): OtherTotals {
  const { kind, fixed, takesFirst, what, made, ...how } = asked;
  const optionsOf: typeof what = (given) => {
    const { clipNorm: _norm, dimension: _length, ...others } = given.how;
    return { ...others, statistic: kind, ...what(given) };
  };
  // The options determine the types of records and readings.
  const known = <S>(statistic: unknown): S => {
    made?.(statistic);
    return statistic as S;
  };
  return {
    kind,
    fixed,
    takesFirst,
    sums(dp, given) {
      const { people } = given;
      const options = optionsOf(given) as StatisticOptions;
      if (people) {
        const own = known<PeopleStatistic<Many, Reading>>(dp.peopleStatistic(options));
        return { people, totals: new PeopleReadings(own, how) };
      }
      const own = known<Statistic<never, Many, Reading>>(dp.statistic(options));
      return { people, totals: new RowReadings(own, how) };
    },
    async open(dp, given) {
      const { store } = given;
      const options = optionsOf(given) as StatisticOptions;
      const own = await dp.statisticLedger({ ...options, store });
      return new LedgerReadings(known<Lasting<Many, Reading>>(own), how);
    },
  };
}
