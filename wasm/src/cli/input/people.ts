// SPDX-License-Identifier: Apache-2.0

// Options for the person of each row, and for how many rows of a person count.

import type { Participation } from '../../types/all.js';
import { beyondText } from '../../shared/number.js';
import { personOfId } from '../../shared/person.js';
import { Misuse } from '../base/failure.js';
import { warn } from '../output/notices.js';
import type { Args } from '../options/args.js';
import { COUNT } from '../options/numbers.js';
import { under } from '../options/option.js';
import type { Missing } from './missing.js';
import { faultAt, placeOf } from './place.js';
import type { Batch } from './rows.js';

export const PEOPLE_OPTIONS = under('Persons', {
  'user-column': {
    value: 'ID',
    isName: true,
    meaning:
      'protects persons instead of rows: column ID says whose row it is. The first row of each ' +
      'person counts, then each row at least --min-separation steps after the last that counted, ' +
      'up to --max-contributions rows. Memory grows with the number of persons, not of rows',
    brief: 'protects a person instead of a row: ID says whose row it is',
  },
  'max-contributions': {
    value: 'K',
    number: COUNT,
    meaning:
      'rows of a person that count. A small K leaves out later rows, a large K adds noise, about ' +
      'in proportion',
    brief: 'only the first K rows (or buckets) of a person count',
  },
  'user-numbers': {
    meaning:
      'ids of persons are decimal numbers: 7, 7.0 and 007 are one person. Default: they are ' +
      'texts: spaces around them do not count, nor how Unicode writes their letters (NFC or NFD), ' +
      'but 7 and 007 are two persons, and so are Ann and ann. All runs of a --state read them alike',
  },
});

export interface People {
  /** Column that identifies the person of each row. */
  column: string;
  /** Whether its cells are numbers, so that 7, 7.0 and 007 are one person. */
  areNumbers: boolean;
  maxContributions: number;
  /** Least number of steps between two contributions, j - i. */
  minSeparation: number;
}

export function readPeople(args: Args): People | undefined {
  const column = args.text('user-column');
  const maxContributions = args.number('max-contributions');
  if (column === undefined) {
    const stray = ['max-contributions', 'user-numbers'].find((name) => args.has(name));
    if (stray !== undefined) throw new Misuse(`--${stray} needs --user-column`);
    return undefined;
  }
  if (maxContributions === undefined) {
    const what = 'of each person at most K rows (or buckets) count';
    const why = 'a small K leaves rows out, a large K adds noise, about in proportion';
    throw new Misuse(`--user-column needs --max-contributions K: ${what}; ${why}`);
  }
  const other = ['epochs', 'participations'].find((name) => args.has(name));
  if (other !== undefined) throw new Misuse(`give --user-column or --${other}, not both`);
  const minSeparation = args.number('min-separation') ?? 1;
  return { column, areNumbers: args.has('user-numbers'), maxContributions, minSeparation };
}

/** Privacy unit; ids read in another way are other persons. */
export function unitOf({ column, areNumbers }: People): string {
  return `one person (column ${JSON.stringify(column)}${areNumbers ? ', read as numbers' : ''})`;
}

/**
 * Warns of ids that look missing, as all their rows would be those of one person. Like a message
 * about a bad row, it depends on the data.
 */
export function warnOfMarks(
  command: string,
  people: People | undefined,
  { marks, missing }: { marks: Iterable<string>; missing: Missing },
): void {
  const texts = [...marks];
  if (people && texts.length > 0) warn(command, missing.markedIdsNotice(people.column, texts));
}

/** The participation pattern that the bound enforces. */
export function participationOf({ maxContributions, minSeparation }: People): Participation {
  return maxContributions === 1 ? 'single' : { participations: maxContributions, minSeparation };
}

/** Returns the person of a row; throws if the cell, which is not missing, must be a number and is not. */
export function personOf(
  batch: Batch,
  i: number,
  { column, areNumbers }: Pick<People, 'column' | 'areNumbers'>,
  ids: readonly string[],
): string {
  const person = personOfId(ids[i]!, areNumbers);
  if (person !== undefined) return person;
  const cell = ids[i]!;
  const what =
    beyondText(cell.trim()) ?? `is not a number, despite --user-numbers${batch.missing.hint(cell)}`;
  throw faultAt(placeOf(batch, i), { code: 'not_a_number', what, column }, cell);
}
