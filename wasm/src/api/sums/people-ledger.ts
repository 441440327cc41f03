// SPDX-License-Identifier: Apache-2.0

// Totals of people that outlive the process, including contributions to the open step.

import { float64s, outOfRange, requireCount } from '../../core/check.js';
import type { Instance } from '../../core/handle.js';
import type { PeopleLedger } from '../../types/all.js';
import { countRecords, readOptions } from '../options.js';
import { LEDGER_OPTIONS, LedgerHandle, openTotals, type Made } from './ledger.js';
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
    return this.inTurn(() => this.take(names, values));
  }

  async release(step: number): Promise<Float64Array> {
    return this.ended('release', step, 1, 'step');
  }

  async releaseMany(firstStep: number, numSteps: number): Promise<Float64Array> {
    const where = 'releaseMany';
    requireCount(where, 'firstStep', firstStep, this.numSteps - 1);
    requireCount(where, 'numSteps', numSteps, this.numSteps - firstStep);
    return this.ended(where, firstStep, numSteps);
  }

  private ended(where: string, firstStep: number, numSteps: number, name?: string): Promise<Float64Array> {
    const decide = (): void => {
      this.core.call('peopleLedgerDecide', this.id, firstStep, numSteps);
    };
    return this.releases(where, { firstStep, numSteps, decide, memo: undefined }, name);
  }

  private async take(names: string[], values: Float64Array): Promise<void> {
    // A release that could not be stored is stored before others contribute.
    if (this.hasUnstoredSteps()) await this.write();
    this.core.call('peopleLedgerContribute', this.id, names, values);
    this.waits ||= names.length > 0;
    if (this.waits && this.how.durable === 'contribution') await this.write();
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
