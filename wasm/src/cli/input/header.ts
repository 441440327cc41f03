// SPDX-License-Identifier: Apache-2.0

// The first row names the columns. In a file without a header, the first row is a person's data,
// which must not appear in a log.

import { parseNumber } from '../../shared/number.js';
import { Misuse, unknownName } from '../base/failure.js';
import { shortName } from '../base/short-name.js';

const NO_HEADER = 'the first row does not look like a header that names the columns';

/**
 * True if a cell begins with a letter and contains neither an email address nor a separator of
 * other formats.
 */
function isName(cell: string): boolean {
  return /^\p{L}[^@;\t|]*$/u.test(cell);
}

/** Maximum number of names shown in a message. */
const MOST_NAMES = 20;

/** Advice on columns named by years, which look like numbers; otherwise ''. */
function yearHint(header: readonly string[]): string {
  const areYears = header.some((cell) => /^(1[89]|20)\d\d$/.test(cell));
  return areYears ? '; if years name columns, write them with a letter, such as y2019' : '';
}

/** Whether a cell cannot be part of a header because it is a number, a date or an address. */
function isData(cell: string): boolean {
  return parseNumber(cell) !== undefined || /@|^\d+[-/.:]\d/.test(cell);
}

/** The name of a column, if the first row looks like a header. */
export function columnName(header: readonly string[], index: number): string | undefined {
  const name = header[index]!;
  return isName(name) && !header.some(isData) ? name : undefined;
}

/** Describes a column in a message by its name, or else by its 1-based number. */
export function columnText(header: readonly string[], index: number): string {
  const name = columnName(header, index);
  return `column ${name === undefined ? index + 1 : JSON.stringify(shortName(name))}`;
}

/** Lists the first names of a header, or undefined if the row does not look like one. */
export function namesText(header: readonly string[]): string | undefined {
  const known = header.filter(isName);
  if (known.length === 0 || header.some(isData)) return undefined;
  const more = known.length - MOST_NAMES;
  const list = known.slice(0, MOST_NAMES).map(shortName).join(', ');
  return more > 0 ? `${list} and ${more} more` : list;
}

/** Error for an unknown column; if there is a header, suggests close names or lists all. */
export function unknownColumn(what: string, name: string, header: readonly string[]): Misuse {
  const names = namesText(header);
  if (names !== undefined) {
    return unknownName(what, name, header.filter(isName).map(shortName), `known are ${names}`);
  }
  const separator = header.length === 1 ? /[;\t|]/.exec(header[0]!) : null;
  const got = separator && JSON.stringify(separator[0]);
  const hint = got ? `: cells must be separated as --delimiter says, not by ${got}` : '';
  return new Misuse(
    `there is no ${what} ${JSON.stringify(name)}, and ${NO_HEADER}${hint || yearHint(header)}`,
  );
}

/** Lists the names of columns if they look like names. */
export function columnList(names: readonly string[]): string {
  const areNames = names.every(isName) && !names.some(isData);
  return areNames
    ? names.map((name) => JSON.stringify(shortName(name))).join(', ')
    : `others: ${NO_HEADER}`;
}

/** @throws Misuse for a column whose name is a number. */
export function requireName(header: readonly string[], index: number): void {
  if (parseNumber(header[index]!) === undefined) return;
  throw new Misuse(`${NO_HEADER}: its cell ${index + 1} is a number${yearHint(header)}`);
}
