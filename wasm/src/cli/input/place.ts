// SPDX-License-Identifier: Apache-2.0

// Identifies rows of the input in messages by row and line, both 1-based.

import { Misuse } from '../base/failure.js';

export interface RowPlace {
  /** The header is not counted. */
  row: number;
  line: number;
}

/** Positions of the rows of a batch: the number of the first row, and the line of each row. */
export interface Places {
  firstRow: number;
  lines: readonly number[];
}

/** The place of row `i` of a batch. */
export function placeOf({ firstRow, lines }: Places, i: number): RowPlace {
  return { row: firstRow + i, line: lines[i]! };
}

/** A place in words, with the column if one is given. */
export function placeText({ row, line }: RowPlace, column?: string): string {
  const cell = column === undefined ? '' : `, column ${JSON.stringify(column)}`;
  return `row ${row} (line ${line})${cell}`;
}

/** Error for a row, or for one of its cells. */
export function faultAt(
  { row, line }: RowPlace,
  { code, what, column }: { code: string; what: string; column?: string },
  value?: string,
): Misuse {
  const fault = { code, row, line, ...(column !== undefined && { column }) };
  return new Misuse(`${placeText({ row, line }, column)} ${what}`, fault, value);
}
