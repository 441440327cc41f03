// SPDX-License-Identifier: Apache-2.0

// The people of records, by their names.

import { outOfRange, wrongType } from '../../core/check.js';
import type { CorePeople } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import { personOfId } from '../../shared/person.js';

const MOST_BYTES = 1000;
/** In UTF-8 all halves of a character would be the same. */
const HALF_OF_A_CHARACTER = /\p{Surrogate}/u;

/** How people are told apart. */
export class PeopleNames {
  private readonly encoder = new TextEncoder();

  /** @param areNumbers  whether names are decimal numbers. */
  constructor(private readonly areNumbers: boolean) {}

  one(where: string, person: unknown): CorePeople {
    const bytes = this.bytesOf(where, 'person', person);
    return { bytes, ends: Float64Array.of(bytes.length) };
  }

  many(where: string, people: unknown, numRecords: number): CorePeople {
    const list = people as ArrayLike<unknown> | null;
    if (typeof list !== 'object' || list === null || typeof list.length !== 'number') {
      throw wrongType(where, 'people', 'an array of strings', people);
    }
    if (list.length !== numRecords) {
      const constraint = `must have one string for each of ${numRecords} records`;
      const value = String(list.length);
      throw makeError('wrong_length', where, { parameter: 'people', constraint, value });
    }
    const ends = new Float64Array(numRecords);
    let all = new Uint8Array(16 * numRecords);
    let end = 0;
    for (let i = 0; i < numRecords; ++i) {
      const bytes = this.bytesOf(where, `people[${i}]`, list[i]);
      if (end + bytes.length > all.length) {
        const wider = new Uint8Array(2 * all.length + bytes.length);
        wider.set(all.subarray(0, end));
        all = wider;
      }
      all.set(bytes, end);
      ends[i] = end += bytes.length;
    }
    return { bytes: all.slice(0, end), ends };
  }

  /** Returns bytes that are equal for all spellings of a name, and for no others. */
  private bytesOf(where: string, parameter: string, given: unknown): Uint8Array {
    if (typeof given !== 'string') throw wrongType(where, parameter, 'a string', given);
    const name = personOfId(given, this.areNumbers);
    if (name === undefined) {
      throw outOfRange(where, parameter, 'a decimal number, as with {numericNames}', given);
    }
    if (name === '') throw outOfRange(where, parameter, 'a name, not an empty text', given);
    if (HALF_OF_A_CHARACTER.test(name)) {
      throw outOfRange(where, parameter, 'well-formed text', given);
    }
    const bytes = this.encoder.encode(name);
    if (bytes.length <= MOST_BYTES) return bytes;
    const constraint = `must have at most ${MOST_BYTES} bytes`;
    const value = String(bytes.length);
    throw makeError('wrong_length', where, { parameter, constraint, value });
  }
}
