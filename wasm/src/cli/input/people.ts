// SPDX-License-Identifier: Apache-2.0

// Options that say which person each row belongs to, and how many rows of each person count.

import type { Participation } from '../../types/all.js';
import { personOfId, sizeOfPerson } from '../../shared/person.js';
import { Misuse } from '../base/failure.js';
import { warn } from '../output/notices.js';
import type { Args } from '../options/args.js';
import { COUNT } from '../options/numbers.js';
import { under } from '../options/option.js';
import type { Missing } from './missing.js';
import { DECIMALS, notationFault, withPoint, type DecimalMark } from './format.js';
import { faultAt, placeOf } from './place.js';
import type { RowBatch } from './rows.js';

export const PEOPLE_OPTIONS = under('Persons', {
  'user-column': {
    value: 'ID',
    isName: true,
    meaning:
      'protects persons instead of rows: column ID says whose row it is. The first row of ' +
      'each person counts, then each at least --min-separation steps after the last that ' +
      'counted, up to --max-contributions rows. Memory grows with the number of persons',
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
      'ids are decimal numbers: 7, 7.0 and 007 are one person. Default: texts, without the ' +
      'spaces around them and in any form of Unicode; 7 and 007 are two persons, and so are ' +
      'Ann and ann',
  },
});

export interface PersonColumn {
  /** Column that identifies the person of each row. */
  column: string;
  /** Whether its cells are numbers, so that 7, 7.0 and 007 are one person. */
  areNumbers: boolean;
  decimal: DecimalMark;
  /** Infinity if all rows of a person count. */
  maxContributions: number;
  /** Minimum separation j - i of two contributions, in steps. */
  minSeparation: number;
}

export function readPeople(args: Args): PersonColumn | undefined {
  const column = args.text('user-column');
  const maxContributions = args.number('max-contributions');
  if (column === undefined) {
    const stray = ['max-contributions', 'user-numbers'].find((name) => args.has(name));
    if (stray !== undefined) throw new Misuse(`--${stray} needs --user-column`);
    return undefined;
  }
  const isBounded = 'max-contributions' in args.options;
  if (isBounded && maxContributions === undefined) {
    const what = 'of each person at most K rows (or buckets) count';
    const why = 'a small K leaves rows out, a large K adds noise, about in proportion';
    throw new Misuse(`--user-column needs --max-contributions K: ${what}; ${why}`);
  }
  const other = ['epochs', 'participations'].find((name) => args.has(name));
  if (other !== undefined) throw new Misuse(`give --user-column or --${other}, not both`);
  const minSeparation = args.number('min-separation') ?? 1;
  const areNumbers = args.has('user-numbers');
  const decimal = args.oneOf('decimal', DECIMALS);
  return {
    ...{ column, areNumbers, decimal, minSeparation },
    maxContributions: maxContributions ?? Infinity,
  };
}

/** Privacy unit. It says how ids are read, because ids read in another way denote other persons. */
export function unitOf({ column, areNumbers }: PersonColumn): string {
  return `one person (column ${JSON.stringify(column)}${areNumbers ? ', read as numbers' : ''})`;
}

/**
 * Warns of ids that look like missing values, because all rows with such an id would become one
 * person. Like a message about a bad row, the warning depends on the data.
 */
export function warnOfMarks(
  command: string,
  people: PersonColumn | undefined,
  { marks, missing }: { marks: Iterable<string>; missing: Missing },
): void {
  const texts = [...marks];
  if (people && texts.length > 0) warn(command, missing.markedIdsNotice(people.column, texts));
}

/** The participation pattern that the bound enforces. */
export function participationOf({ maxContributions, minSeparation }: PersonColumn): Participation {
  return maxContributions === 1 ? 'once' : { times: maxContributions, apart: minSeparation };
}

/** The person that a row names; throws if the cell, which is not missing, names no person. */
export function personOf(
  batch: RowBatch,
  i: number,
  { column, areNumbers, decimal }: Pick<PersonColumn, 'column' | 'areNumbers' | 'decimal'>,
  ids: readonly string[],
): string {
  const cell = ids[i]!;
  const fault = (code: string, what: string) =>
    faultAt(placeOf(batch, i), { code, what, column }, cell);
  const written = areNumbers ? withPoint(cell, decimal) : cell;
  const person = written === undefined ? undefined : personOfId(written, areNumbers);
  if (person === undefined) {
    const hint = batch.missing.hint(cell);
    const other = `is not a number, despite --user-numbers${hint}`;
    const what = notationFault(cell.trim(), decimal) ?? other;
    throw fault('not_a_number', what);
  }
  const size = sizeOfPerson(person);
  if (typeof size === 'string') throw fault('not_a_name', `must be ${size}`);
  return person;
}
