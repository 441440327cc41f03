// SPDX-License-Identifier: Apache-2.0

// The people of records, identified by name.

import { outOfRange, wrongType } from '../../core/check.js';
import type { CorePeople } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import { counted } from '../../shared/counted.js';
import { personOfId, sizeOfPerson } from '../../shared/person.js';

export class PeopleNames {
  private readonly encoder = new TextEncoder();

  /** @param areNumbers  whether names are decimal numbers. */
  constructor(private readonly areNumbers: boolean) {}

  one(where: string, person: unknown): CorePeople {
    const { name, numBytes } = this.nameOf(where, person);
    return { bytes: this.encoder.encode(name), ends: Float64Array.of(numBytes) };
  }

  many(where: string, people: unknown, numRecords: number): CorePeople {
    const list = people as ArrayLike<unknown> | null;
    if (typeof list !== 'object' || list === null || typeof list.length !== 'number') {
      throw wrongType(where, 'people', 'an array of strings', people);
    }
    if (list.length !== numRecords) {
      const constraint = `must have ${counted(numRecords, 'string')}, one for each record`;
      const value = String(list.length);
      throw makeError('wrong_length', where, { parameter: 'people', constraint, value });
    }
    const ends = new Float64Array(numRecords);
    let all = '';
    let end = 0;
    for (let i = 0; i < numRecords; ++i) {
      const { name, numBytes } = this.nameOf(where, list[i], i);
      all += name;
      ends[i] = end += numBytes;
    }
    return { bytes: this.encoder.encode(all), ends };
  }

  /**
   * The one text for all spellings of a name, and its length in UTF-8.
   *
   * @param index  index of the name in a list.
   */
  private nameOf(
    where: string,
    given: unknown,
    index?: number,
  ): { name: string; numBytes: number } {
    const parameter = () => (index === undefined ? 'person' : `people[${index}]`);
    if (typeof given !== 'string') throw wrongType(where, parameter(), 'a string', given);
    const name = personOfId(given, this.areNumbers);
    if (name === undefined) {
      throw outOfRange(where, parameter(), 'a decimal number, as with {numericNames}', given);
    }
    if (name === '') throw outOfRange(where, parameter(), 'a name, not an empty text', given);
    const numBytes = sizeOfPerson(name);
    if (typeof numBytes === 'string') throw outOfRange(where, parameter(), numBytes, given);
    return { name, numBytes };
  }
}
