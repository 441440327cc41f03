// SPDX-License-Identifier: Apache-2.0

// Captions for the matrices of a mechanism, which say what their entries show.

import { counted, quantity } from '../base/format.ts';
import { shadeOf, type MatrixEntries } from '../data/matrix.ts';

/** Entries of a row, or of the first column, with rounding errors set to 0. */
function entriesOf({ numRows, numColumns, values }: MatrixEntries, at: { row?: number }): number[] {
  const size = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const { row } = at;
  const places =
    row === undefined
      ? Array.from({ length: numRows }, (_, i) => i * numColumns)
      : Array.from({ length: numColumns }, (_, j) => row * numColumns + j);
  return places.map((place) => (shadeOf(values[place]!, size) === 0 ? 0 : values[place]!));
}

const lastRow = (matrix: MatrixEntries): number[] => entriesOf(matrix, { row: matrix.numRows - 1 });

const numOf = (entries: readonly number[], is: (value: number) => boolean): number =>
  entries.filter(is).length;

const rises = (entries: readonly number[]): boolean =>
  entries.every((value, i) => i === 0 || value >= entries[i - 1]! - 1e-12);

/** Says how many measurements a record enters. */
export function encoderText(matrix: MatrixEntries): string {
  const column = entriesOf(matrix, {});
  const num = numOf(column, (value) => value !== 0);
  if (num <= 1) return 'Each record is measured once.';
  if (num < column.length)
    return `The first record is in ${num} of ${counted(column.length, 'measurement')}.`;
  const fades = rises([...column].reverse());
  return `A record is in every measurement from its own on${fades ? ', ever fainter' : ''}.`;
}

/** Says which earlier noise a step takes back. */
export function inverseText(matrix: MatrixEntries): string {
  const row = lastRow(matrix);
  const num = numOf(row, (value) => value < 0);
  if (num === 0) return 'No step takes earlier noise back.';
  if (num === row.length - 1) return 'Each step subtracts a little of everything before.';
  return `The last step takes back noise of ${counted(num, 'earlier measurement')}.`;
}

/** Describes the noise of a total. */
export function decoderText(matrix: MatrixEntries): string {
  const row = lastRow(matrix);
  const num = numOf(row, (value) => value !== 0);
  if (num <= 1) return 'A total has noise of its own only.';
  if (num < row.length)
    return `The last total adds up the noise of ${num} of ${counted(row.length, 'measurement')}.`;
  const isFlat = row[row.length - 1]! - row[0]! < 1e-9;
  if (isFlat) return 'A total adds up the noise of every step, so it piles up.';
  return rises(row)
    ? 'A total keeps most of the latest noise, and ever less of what is older.'
    : 'A total adds up noise of every step.';
}

/** Says how the variance of the totals, on the diagonal, grows. */
export function covarianceText({ numRows, values }: MatrixEntries): string {
  const [first, last] = [values[0]!, values[numRows * numRows - 1]!];
  const times = quantity(last / first, 2);
  if (times === '1') return 'On the diagonal, the first and the last total have the same variance.';
  return `On the diagonal, the last total has ${times} times the variance of the first.`;
}
