// SPDX-License-Identifier: Apache-2.0

// Totals of people that outlive the process, including contributions to the open step.

import { float64s, outOfRange, requireCount } from '../../core/check.js';
import type { Instance } from '../../core/handle.js';
import type { PeopleLedger, Release, Releases } from '../../types/all.js';
import { countRecords, readOptions } from '../options.js';
import { indexed, LEDGER_OPTIONS, LedgerHandle, openTotals, SLICE_ENTRIES } from './ledger.js';
import type { Made, Task } from './ledger.js';
import { PEOPLE_OPTIONS, PeopleNames } from './people-names.js';
import { requirePattern } from './people-sum.js';
import { readTotals } from './totals.js';

/** When contributions are stored; the first is the default. */
export const DURABLE = ['contribution', 'release'] as const;

/** The core's names are UTF-8, in which all lone surrogates would be the same. */
const HALF_OF_A_CHARACTER = /\p{Surrogate}/u;

export class CorePeopleLedger extends LedgerHandle implements PeopleLedger {
  constructor(
    instance: Instance,
    made: Made,
    private readonly how: { durable: (typeof DURABLE)[number]; names: PeopleNames },
  ) {
    super(instance, made, 'people ledger');
  }

  get numContributions(): number {
    return this.core.call('peopleLedgerCounts', this.id).contributions;
  }

  get numDropped(): number {
    return this.core.call('peopleLedgerCounts', this.id).dropped;
  }

  async contribute(people: string | ArrayLike<string>, records: ArrayLike<number>): Promise<void> {
    const where = 'contribute';
    const values = float64s(where, 'records', records);
    countRecords(where, values, this.dimension);
    const names = this.how.names.read(where, people, values.length / this.dimension);
    const bad = names.findIndex((name) => HALF_OF_A_CHARACTER.test(name));
    if (bad >= 0) throw outOfRange(where, `people[${bad}]`, 'well-formed text', names[bad]);
    return this.inTurn(async (decided) => {
      this.core.call('peopleLedgerContribute', this.id, names, values);
      if (names.length === 0) return;
      decided(this.step);
      if (this.how.durable === 'contribution') await this.journal.write(undefined);
    });
  }

  async release(step?: number): Promise<Release> {
    return this.releaseOne('release', this.ending(step, 1));
  }

  async releaseMany(
    ...args: [numSteps: number] | [firstStep: number | undefined, numSteps: number]
  ): Promise<Releases> {
    const where = 'releaseMany';
    const [firstStep, numSteps] = indexed<[number]>(args, args.length > 1);
    if (firstStep !== undefined) requireCount(where, 'firstStep', firstStep, this.numSteps - 1);
    requireCount(where, 'numSteps', numSteps, this.numSteps - (firstStep ?? 0));
    return this.releases(where, this.ending(firstStep, numSteps));
  }

  private ending(firstStep: number | undefined, numSteps: number): Task {
    const decide = (first: number, from: number, to: number): void => {
      this.core.call('peopleLedgerDecide', this.id, first + from, to - from);
    };
    const sliceSteps = Math.max(1, Math.floor(SLICE_ENTRIES / this.dimension));
    return { firstStep, numSteps, sliceSteps, decide, memo: undefined };
  }
}

export async function makePeopleLedger(
  instance: Instance,
  options: unknown,
): Promise<PeopleLedger> {
  const where = 'peopleLedger';
  const reader = readOptions(where, options, [...LEDGER_OPTIONS, ...PEOPLE_OPTIONS, 'durable']);
  const complete = readTotals(reader, instance.mechanisms);
  requirePattern(where, complete);
  const how = { durable: reader.oneOfOr('durable', DURABLE), names: new PeopleNames(reader) };
  return openTotals(reader, complete, (given, made) => {
    if (made.state) how.names.requireSame(where, made.memo);
    const sums = instance.core.call('peopleLedgerCreate', given);
    return new CorePeopleLedger(instance, { ...made, memo: how.names.memo, sums }, how);
  });
}
