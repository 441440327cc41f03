// SPDX-License-Identifier: Apache-2.0

// The people of records, by their names.

import { outOfRange, wrongType, type Reader } from '../../core/check.js';
import { makeError, type Where } from '../../core/errors.js';
import { personOfId } from '../../shared/person.js';

export const PEOPLE_OPTIONS = ['userNumbers'];

/** Stored by a ledger whose ids are numbers; others store nothing about ids. */
const NUMBERS = new TextEncoder().encode('user numbers');

/** How people are told apart. */
export class PeopleNames {
  private readonly areNumbers: boolean;

  constructor(reader: Reader) {
    this.areNumbers = reader.flagOr('userNumbers', false);
  }

  /** Returns the names of the people, one per record, equal for all spellings of an id. */
  read(where: string, people: unknown, numRecords: number): string[] {
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
      const id = list[i];
      if (typeof id !== 'string') throw wrongType(where, `people[${i}]`, 'a string', id);
      const name = personOfId(id, this.areNumbers);
      if (name) return name;
      const wanted =
        name === '' ? 'a name, not an empty text' : 'a decimal number, as with {userNumbers}';
      throw outOfRange(where, `people[${i}]`, wanted, id);
    });
  }

  /** Bytes that a ledger stores about ids. */
  get memo(): Uint8Array | undefined {
    return this.areNumbers ? NUMBERS : undefined;
  }

  /** Refuses the state of a ledger that tells people apart in another way. */
  requireSame(where: Where, stored: Uint8Array | undefined): void {
    const wereNumbers = stored?.length === NUMBERS.length;
    if (wereNumbers === this.areNumbers) return;
    throw makeError('bad_state', where, {
      parameter: 'store.userNumbers',
      constraint: `must be ${this.areNumbers}: the ledger was begun with userNumbers ${wereNumbers}`,
    });
  }
}
