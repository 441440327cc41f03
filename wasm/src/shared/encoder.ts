// SPDX-License-Identifier: Apache-2.0

// The caller's own factorization: an encoder C as rows of numbers, for the package, the command and
// the page. The decoder is B = A C^-1, which may be given as well, to be checked.

import { counted } from './counted.js';
import { parseNumber } from './number.js';

/**
 * Maximum number of steps of a caller's own encoder; larger ones take minutes, and gigabytes of
 * text.
 */
export const MAX_ENCODER_STEPS = 2048;

/** The first fault that keeps rows from being the required matrix, and its 0-based position. */
export interface MatrixFault {
  row?: number;
  column?: number;
  constraint: string;
  value?: string;
}

/** @param measure  the option that accepts matrices of any shape, in the words of the interface. */
export function faultText(
  { row, column, constraint, value }: MatrixFault,
  measure: string,
): string {
  const places = [
    row === undefined ? [] : `row ${row + 1}`,
    column === undefined ? [] : `column ${column + 1}`,
  ];
  const place = places.flat().join(', ') || 'it';
  const got = value === undefined ? '' : `, got ${value}`;
  return `${place} ${constraint.replace('{measure}', measure)}${got}`;
}

const SEPARATOR = /\s*[,;\t]\s*|\s+/;

/**
 * Parses rows of numbers without a header, separated by commas, semicolons or spaces. The first
 * cell that holds no number is the fault.
 */
export function parseRows(text: string): { rows: number[][]; fault: MatrixFault | undefined } {
  let fault: MatrixFault | undefined;
  const read = (cell: string, row: number, column: number): number => {
    const value = parseNumber(cell);
    if (value !== undefined) return value;
    const what = `is not a number: ${JSON.stringify(cell.slice(0, 40))}`;
    fault ??= { row, column, constraint: cell === '' ? 'is empty' : what };
    return NaN;
  };
  const lines = text
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split(/\r\n?|\n/);
  const rows = lines.map((line, i) =>
    line
      .trim()
      .split(SEPARATOR)
      .map((cell, j) => read(cell, i, j)),
  );
  return { rows, fault };
}

type EntryFault = (entry: number, row: number, column: number) => string | undefined;

const decoderEntryFault: EntryFault = (entry, row, column) => {
  if (!Number.isFinite(entry)) return 'must be finite';
  if (column <= row || entry === 0) return undefined;
  return 'must be 0, as it is above the diagonal of a stream';
};

const encoderEntryFault: EntryFault = (entry, row, column) => {
  const fault = decoderEntryFault(entry, row, column);
  if (fault !== undefined || column !== row || entry > 0) return fault;
  const otherwise = entry < 0 ? '; change the signs of its whole row' : '';
  return `must be positive, as it is on the diagonal${otherwise}`;
};

/** Checks rows that end at the diagonal, or have as many numbers as there are rows. */
function rowsFault(
  rows: readonly ArrayLike<number>[],
  { why, entryFault }: { why: string; entryFault: EntryFault },
): MatrixFault | undefined {
  const size = rows.length;
  for (const [row, { length }] of rows.entries()) {
    if (length === size || length === row + 1) continue;
    const short = row + 1 < size ? `${row + 1} or ` : '';
    const constraint = `must have ${short}${counted(size, 'number')}, as ${why}`;
    return { row, constraint, value: String(length) };
  }
  for (const [row, entries] of rows.entries()) {
    for (let column = 0; column < entries.length; ++column) {
      const constraint = entryFault(entries[column]!, row, column);
      if (constraint) return { row, column, constraint, value: String(entries[column]) };
    }
  }
  return undefined;
}

/**
 * Finds the fault that keeps rows from being an encoder of a stream: lower triangular, with a
 * positive diagonal. Row i has i + 1 numbers, or as many as there are rows.
 */
export function encoderFault(rows: readonly ArrayLike<number>[]): MatrixFault | undefined {
  const size = rows.length;
  if (size < 1 || size > MAX_ENCODER_STEPS) {
    const constraint = `must have 1 to ${MAX_ENCODER_STEPS} rows`;
    return { constraint, value: counted(size, 'row') };
  }
  const why = 'C is square for streams; linear queries take any shape, as {measure}';
  return rowsFault(rows, { why, entryFault: encoderEntryFault });
}

/** Finds the fault that keeps rows from being a lower-triangular decoder of this many steps. */
export function decoderShapeFault(
  rows: readonly ArrayLike<number>[],
  numSteps: number,
): MatrixFault | undefined {
  if (rows.length !== numSteps) {
    const constraint = `must have ${counted(numSteps, 'row')}, as C has`;
    return { constraint, value: String(rows.length) };
  }
  return rowsFault(rows, { why: 'B is square, as C is', entryFault: decoderEntryFault });
}

/** Returns C column after column, each from its diagonal down, padded with zeros. */
export function columnsOf(rows: readonly ArrayLike<number>[]): Float64Array {
  const size = rows.length;
  const columns = new Float64Array(size * size);
  for (const [row, entries] of rows.entries()) {
    for (let column = 0; column <= row; ++column) {
      columns[column * size + row - column] = entries[column]!;
    }
  }
  return columns;
}
