// SPDX-License-Identifier: Apache-2.0

// Statistics that live in one process, of records or of people.

import type { Reader } from '../../core/check.js';
import { asErrorsOf } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import type { HistogramStatistic, PrefixSum, Statistic, SumsStatistic } from '../../types/all.js';
import type {
  PeopleHistogram,
  PeopleStatistic,
  PeopleSum,
  PeopleStackedSums,
} from '../../types/all.js';
import { readOptions } from '../options.js';
import { PEOPLE_OPTIONS, PeopleNames } from '../sums/people-names.js';
import { ALL_TAKES, FIRST_TAKES, peopleSumOf } from '../sums/people-sum.js';
import { prefixSumOf } from '../sums/prefix-sum.js';
import type { CompleteOptions } from '../sums/totals.js';
import { OpenStatistic, type Columns } from './columns.js';
import { inGiven, readStatistic, statisticOptions } from './kinds.js';

class CoreStatistic<Reading> extends OpenStatistic<PrefixSum, Reading> {
  release(record: unknown): Reading {
    const columns = this.columns.one('release', record);
    const { step } = this;
    return this.readingsOf(this.sums.release(columns), step)[0]!;
  }

  releaseMany(records: unknown): Reading[] {
    const columns = this.columns.many('releaseMany', 'records', records);
    return this.several(() => this.sums.releaseMany(columns));
  }

  contribute(records: unknown): void {
    const { columns, sums } = this;
    for (const piece of columns.parts('contribute', 'records', records).pieces)
      sums.contribute(piece);
  }
}

class CorePeopleStatistic<Reading> extends OpenStatistic<PeopleSum, Reading> {
  constructor(
    instance: Instance,
    columns: Columns<Reading>,
    sums: PeopleSum,
    private readonly names: PeopleNames,
  ) {
    super(instance, columns, sums);
  }

  get numDropped(): number {
    return this.sums.numDropped;
  }

  contribute(people: unknown, records: unknown): void {
    const { columns, sums } = this;
    const { numRecords, pieces } = columns.parts('contribute', 'records', records);
    const names = this.names.read('contribute', people, numRecords);
    for (const piece of pieces)
      sums.contribute(names.splice(0, piece.length / columns.made.dimension), piece);
  }

  releaseEach(people: ArrayLike<string>, records: unknown): Reading[] {
    const columns = this.columns.many('releaseEach', 'records', records);
    return this.several(() => this.sums.releaseEach(people, columns));
  }
}

/** Makes the columns of the options and their sums, and a statistic of both. */
function makeOf<S, T>(
  instance: Instance,
  reader: Reader,
  sumsOf: (complete: CompleteOptions, columns: Columns) => S,
  make: (columns: Columns, sums: S) => T,
): T {
  const { where } = reader;
  const { columns, complete } = readStatistic(instance, reader);
  try {
    const sums = withKey(where, complete, (given) =>
      asErrorsOf(where, () => sumsOf(given, columns)),
    );
    return make(columns, sums);
  } catch (error) {
    columns.drop();
    throw inGiven(error, complete);
  }
}

/** Makes a statistic whose records and readings are of the kind that the options name. */
export function makeStatistic(
  instance: Instance,
  options: unknown,
): Statistic & HistogramStatistic & SumsStatistic {
  return makeOf(
    instance,
    readOptions('statistic', options, statisticOptions()),
    (complete, { prefixSum }) => prefixSumOf(instance, complete, prefixSum),
    (columns, sums) => new CoreStatistic(instance, columns, sums),
  ) as unknown as Statistic & HistogramStatistic & SumsStatistic;
}

/** The same for people. */
export function makePeopleStatistic(
  instance: Instance,
  options: unknown,
): PeopleStatistic & PeopleHistogram & PeopleStackedSums {
  const where = 'peopleStatistic';
  const reader = readOptions(where, options, [...statisticOptions(), ...PEOPLE_OPTIONS]);
  const names = new PeopleNames(reader);
  return makeOf(
    instance,
    reader,
    (complete, { peopleSum }) => {
      // A person's records are added up for sums. For other statistics only the first counts,
      // because a sum would not be the columns of any record.
      const how = { names, takes: peopleSum ? ALL_TAKES : FIRST_TAKES };
      return peopleSumOf(where, instance, complete, how, peopleSum);
    },
    (columns, sums) => new CorePeopleStatistic(instance, columns, sums, names),
  ) as unknown as PeopleStatistic & PeopleHistogram & PeopleStackedSums;
}
