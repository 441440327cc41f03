// SPDX-License-Identifier: Apache-2.0

import { wrongType } from '../../core/check.js';
import type { CorePrefixSum } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import type { PeopleSum } from '../../types/all.js';
import { makeTotals, NoisyTotals, type CompleteOptions } from './totals.js';

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
export const ALL_TAKES = { contribute: 'peopleSumContribute', releaseEach: 'peopleSumReleaseEach' } as const;
export const FIRST_TAKES = {
  contribute: 'peopleSumContributeFirst',
  releaseEach: 'peopleSumReleaseFirsts',
} as const;

type Takes = typeof ALL_TAKES | typeof FIRST_TAKES;

/** Reads the names of the people, one per record. */
export function readPeople(where: string, people: unknown, numRecords: number): string[] {
  const list = typeof people === 'string' ? [people] : (people as ArrayLike<unknown> | null);
  if (typeof list !== 'object' || list === null || typeof list.length !== 'number') {
    throw wrongType(where, 'people', 'a string or an array of strings', people);
  }
  if (list.length !== numRecords) {
    const constraint = `must have one string for each of ${numRecords} {records}`;
    const value = String(list.length);
    throw makeError('wrong_length', where, { parameter: 'people', constraint, value });
  }
  return Array.from({ length: numRecords }, (_, i) => {
    const name = list[i];
    if (typeof name !== 'string') throw wrongType(where, `people[${i}]`, 'a string', name);
    return name;
  });
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
    private readonly takes: Takes,
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
      this.core.call(this.takes.contribute, this.id, numbers, values);
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
      this.core.call(this.takes.releaseEach, this.id, numbers, values);
    } catch (error) {
      throw this.nameReleased('releaseEach', error, values, out);
    }
    return this.handOut(values, out);
  }

  /**
   * Returns a number for each record's person. The names are kept, so that no two share a number.
   */
  private numbersOf(where: string, people: unknown, numRecords: number): Float64Array {
    const names = readPeople(where, people, numRecords);
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
  takes: Takes = ALL_TAKES,
  make = (given: CompleteOptions) => instance.core.call('peopleSumCreate', given),
): PeopleSum {
  requirePattern(where, complete);
  const made = make(complete);
  const { dimension, insecureSeed } = complete;
  const insecure = insecureSeed !== undefined;
  return new CorePeopleSum(instance, made, { dimension, insecure, names: NAMES }, takes);
}

export function makePeopleSum(instance: Instance, options: unknown): PeopleSum {
  return makeTotals('peopleSum', instance, options, (it) => peopleSumOf('peopleSum', instance, it));
}
