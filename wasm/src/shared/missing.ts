// SPDX-License-Identifier: Apache-2.0

// Finds the missing cells of a table, for the command and the page: empty cells, and cells with a
// text that the user listed. Texts that often stand for a missing value are suggested, never
// assumed.

import { listed } from './listed.js';
import { nameOf } from './name.js';
import { canonicalNumber } from './number.js';

/** Suggested list if the user gave none. */
export const SUGGESTED = ['NA', 'NaN', 'null', '-'];
/** Texts that often stand for a missing value, in lower case. */
const MARKS: ReadonlySet<string> = new Set(
  'na n/a nan null none nil nat <na> #n/a (null) \\n - -- ? .'.split(' '),
);
const LONGEST = Math.max(...Array.from(MARKS, ({ length }) => length));

/** True if a cell holds a text that often stands for a missing value. */
export function isMark(cell: string): boolean {
  const text = cell.trim();
  return text.length <= LONGEST && MARKS.has(text.toLowerCase());
}

/** Extends the user's list, or the suggested one, by the texts of cells that look missing. */
export function listWith(cells: Iterable<string>, given: readonly string[] = []): string[] {
  const texts = Array.from(cells, (cell) => cell.trim());
  return [...new Set([...(given.length > 0 ? given : SUGGESTED), ...texts])];
}

/** Warns that some ids of a column look missing: each is one person, however many rows have it. */
export function markedIdsText(column: string, marks: readonly string[]): string {
  const texts = listed(
    marks.map((text) => JSON.stringify(text)),
    'and',
  );
  const are =
    marks.length === 1
      ? `the id ${texts}, which often stands for a missing one, is one person`
      : `the ids ${texts}, which often stand for missing ones, are one person each`;
  return `column ${JSON.stringify(column)}: ${are}`;
}

/** Ways to treat a row with a missing cell; the first is the default. */
export const POLICIES = ['refuse', 'zero', 'skip'] as const;
export type MissingPolicy = (typeof POLICIES)[number];

/** Describes the list of texts in messages. */
export const MARKS_WANTED = `texts separated by commas, such as ${SUGGESTED.join(',')}`;

/** Splits a list at commas; undefined if a text in it is empty. */
export function marksOf(list: string): string[] | undefined {
  const texts = list.split(',').map(nameOf);
  return texts.includes('') ? undefined : texts;
}

/** True if a cell holds one of the texts, or the same number: pandas turns -999 into -999.0. */
function isListed(cell: string, texts: readonly string[]): boolean {
  const name = nameOf(cell);
  if (texts.includes(name)) return true;
  const numbers = texts.filter((text) => /\d/.test(text)).map(canonicalNumber);
  if (numbers.length === 0) return false;
  const number = canonicalNumber(name);
  return number !== undefined && numbers.includes(number);
}

/** True if a cell is empty or holds one of the texts. */
export function isMissing(cell: string, texts: readonly string[] = []): boolean {
  return cell.trim() === '' || (texts.length > 0 && isListed(cell, texts));
}
