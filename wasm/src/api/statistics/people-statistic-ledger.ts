// SPDX-License-Identifier: Apache-2.0

// Statistics of people that survive restarts: a ledger of people whose memo describes the
// statistic.

import { asErrorsOf } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import type { PeopleHistogramLedger, PeopleStatisticLedger } from '../../types/all.js';
import type { PeopleSumsLedger } from '../../types/all.js';
import { joined } from '../../shared/joined.js';
import { readOptions } from '../options.js';
import { openTotals } from '../sums/ledger.js';
import { CorePeopleLedger, DURABLE } from '../sums/people-ledger.js';
import { PEOPLE_OPTIONS, PeopleNames } from '../sums/people-names.js';
import { requirePattern } from '../sums/people-sum.js';
import { STORE_OPTIONS } from '../../stores/stored.js';
import { headOf } from './about.js';
import { StatisticHandle } from './columns.js';
import { inGiven, readStatistic, statisticOptions } from './kinds.js';
import { requireAbout } from './statistic-ledger.js';

class CorePeopleStatisticLedger<Reading> extends StatisticHandle<CorePeopleLedger, Reading> {
  get identity(): string {
    return this.sums.identity;
  }

  get numContributions(): number {
    return this.sums.numContributions;
  }

  get numDropped(): number {
    return this.sums.numDropped;
  }

  async contribute(people: string | ArrayLike<string>, records: unknown): Promise<void> {
    const columns = this.columns.many('contribute', 'records', records);
    return this.sums.contribute(people, columns);
  }

  async release(step?: number): Promise<Reading> {
    const total = await this.sums.release(step);
    return this.readingsOf(total, total.step)[0]!;
  }

  async releaseMany(
    ...args: [numSteps: number] | [firstStep: number | undefined, numSteps: number]
  ): Promise<Reading[]> {
    return this.readings(await this.sums.releaseMany(...args));
  }
}

type Every = PeopleStatisticLedger & PeopleHistogramLedger & PeopleSumsLedger;

export async function makePeopleStatisticLedger(
  instance: Instance,
  options: unknown,
): Promise<Every> {
  const where = 'peopleStatisticLedger';
  const reader = readOptions(where, options, [
    ...statisticOptions(),
    ...PEOPLE_OPTIONS,
    ...STORE_OPTIONS,
    'durable',
  ]);
  const { columns, complete } = readStatistic(instance, reader);
  const { about } = columns;
  const head = headOf(about);
  try {
    requirePattern(where, complete);
    const how = { durable: reader.oneOfOr('durable', DURABLE), names: new PeopleNames(reader) };
    const memo = joined([head, how.names.memo ?? new Uint8Array()]);
    const sums = await openTotals(reader, complete, (given, made) => {
      // Checked before the core reads a state of other sums, which it takes for one of another
      // mechanism.
      if (made.state) {
        requireAbout(where, head, made.memo);
        how.names.requireSame(where, made.memo?.subarray(head.length));
      }
      return asErrorsOf(where, () => {
        const own = { ...given, about };
        const of = columns.peopleLedger?.(own) ?? instance.core.call('peopleLedgerOfFirsts', own);
        return new CorePeopleLedger(instance, { ...made, memo, sums: of }, how);
      });
    });
    // Its records and readings are of the kind that the options name.
    return new CorePeopleStatisticLedger(instance, columns, sums) as unknown as Every;
  } catch (error) {
    columns.drop();
    throw inGiven(error, complete);
  }
}
