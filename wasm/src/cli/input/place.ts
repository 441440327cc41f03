// SPDX-License-Identifier: Apache-2.0

// Rows of the input in messages: each is named by its row and its line, both counted from 1.

import { Misuse } from '../failure.js';

export interface Place {
  /** The header is not counted. */
  row: number;
  line: number;
}

/** The place of row `i` of some rows, whose lines are given. */
export function placeOf(
  { firstRow, lines }: { firstRow: number; lines: readonly number[] },
  i: number,
): Place {
  return { row: firstRow + i, line: lines[i]! };
}

/** A place, and the column that is meant, if it is one. */
export function placeText({ row, line }: Place, column?: string): string {
  const cell = column === undefined ? '' : `, column ${JSON.stringify(column)}`;
  return `row ${row} (line ${line})${cell}`;
}

/** The fault of a row, or of one of its cells. */
export function faultAt(
  { row, line }: Place,
  { code, what, column }: { code: string; what: string; column?: string },
  value?: string,
): Misuse {
  const fault = { code, row, line, ...(column !== undefined && { column }) };
  return new Misuse(`${placeText({ row, line }, column)} ${what}`, fault, value);
}
