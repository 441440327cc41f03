// SPDX-License-Identifier: Apache-2.0

import type { CorePrefixSum } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import type { PeopleSum } from '../../types/all.js';
import { readOptions } from '../options.js';
import { PEOPLE_OPTIONS, PeopleNames } from './people-names.js';
import { NoisyTotals, readTotals, TOTALS_OPTIONS, type CompleteOptions } from './totals.js';

const NAMES = {
  kind: 'people sum',
  step: 'peopleSumStep',
  stddev: 'peopleSumStddev',
  halfWidth: 'peopleSumHalfWidth',
  endSteps: 'peopleSumEndSteps',
} as const;

/**
 * Functions of the core that take records: of a person's records to a step, all are added up, or
 * only the first.
 */
export const ALL_TAKES = {
  contribute: 'peopleSumContribute',
  releaseEach: 'peopleSumReleaseEach',
} as const;
export const FIRST_TAKES = {
  contribute: 'peopleSumContributeFirst',
  releaseEach: 'peopleSumReleaseFirsts',
} as const;

/** How records of people are taken. */
export interface PeopleHow {
  names: PeopleNames;
  takes: typeof ALL_TAKES | typeof FIRST_TAKES;
}

/** Refuses the participation pattern that no rule for persons can enforce. */
export function requirePattern(where: string, { participation }: CompleteOptions): void {
  if (participation.kind !== 'fixed-epoch') return;
  const constraint = "must be 'single', or {participations} and {minSeparation}";
  const refusal = { parameter: 'participation', constraint, value: 'epochs' };
  throw makeError('invalid_argument', where, refusal);
}

class CorePeopleSum extends NoisyTotals implements PeopleSum {
  /** Numbers of the people, in order of appearance. */
  private readonly numbers = new Map<string, number>();

  constructor(
    instance: Instance,
    made: CorePrefixSum,
    given: ConstructorParameters<typeof NoisyTotals>[2],
    private readonly how: PeopleHow,
  ) {
    super(instance, made, given);
  }

  get numDropped(): number {
    return this.core.call('peopleSumNumDropped', this.id);
  }

  contribute(people: string | ArrayLike<string>, records: ArrayLike<number>): void {
    const values = this.records('contribute', records, undefined);
    const numbers = this.numbersOf('contribute', people, values.length / this.dimension);
    try {
      this.core.call(this.how.takes.contribute, this.id, numbers, values);
    } catch (error) {
      throw this.nameContributed(error);
    }
  }

  releaseEach(
    people: ArrayLike<string>,
    records: ArrayLike<number>,
    out?: Float64Array,
  ): Float64Array {
    const values = this.records('releaseEach', records, out);
    this.requireOut('releaseEach', out, values.length);
    const numbers = this.numbersOf('releaseEach', people, values.length / this.dimension);
    try {
      this.core.call(this.how.takes.releaseEach, this.id, numbers, values);
    } catch (error) {
      throw this.nameReleased('releaseEach', error, values, out);
    }
    return this.handOut(values, out);
  }

  /**
   * Returns a number for each record's person. The names are kept, so that no two share a number.
   */
  private numbersOf(where: string, people: unknown, numRecords: number): Float64Array {
    const names = this.how.names.read(where, people, numRecords);
    return Float64Array.from(names, (name) => {
      const number = this.numbers.get(name) ?? this.numbers.size;
      this.numbers.set(name, number);
      return number;
    });
  }
}

/** Makes sums of people from complete options with their key. */
export function peopleSumOf(
  where: string,
  instance: Instance,
  complete: CompleteOptions,
  how: PeopleHow,
  make = (given: CompleteOptions) => instance.core.call('peopleSumCreate', given),
): PeopleSum {
  requirePattern(where, complete);
  const made = make(complete);
  const { dimension, insecureSeed } = complete;
  const insecure = insecureSeed !== undefined;
  return new CorePeopleSum(instance, made, { dimension, insecure, names: NAMES }, how);
}

export function makePeopleSum(instance: Instance, options: unknown): PeopleSum {
  const where = 'peopleSum';
  const reader = readOptions(where, options, [...TOTALS_OPTIONS, ...PEOPLE_OPTIONS]);
  const how = { names: new PeopleNames(reader), takes: ALL_TAKES };
  const complete = readTotals(reader, instance.mechanisms);
  return withKey(where, complete, (given) => peopleSumOf(where, instance, given, how));
}
