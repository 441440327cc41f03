// SPDX-License-Identifier: Apache-2.0

// A matrix to display: its name, its entries, and a description in words.

import { count, quantity } from '../base/format.ts';

export interface MatrixEntries {
  numRows: number;
  numColumns: number;
  /** Row-major. */
  values: Float64Array;
}

export interface Matrix extends MatrixEntries {
  /** Symbol in formulas, such as C. */
  symbol: string;
  /** Name in words, such as encoder. */
  name: string;
  /** A description of the structure of the matrix; absent if unknown. */
  caption?(matrix: MatrixEntries): string;
}

/** Entries below this fraction of the largest entry are zeros with rounding errors. */
const roundingShare = 1e-13;

export interface Extent {
  least: number;
  /** Largest absolute value. */
  size: number;
}

export function extentOf(matrices: readonly Matrix[]): Extent {
  const extent = { least: 0, size: 0 };
  for (const { values } of matrices) {
    for (const value of values) {
      if (value < extent.least) extent.least = value;
      if (Math.abs(value) > extent.size) extent.size = Math.abs(value);
    }
  }
  if (-extent.least <= roundingShare * extent.size) extent.least = 0;
  return extent;
}

/**
 * Position of a value on the colour scale from -1 to 1: its signed square root, relative to the
 * largest. The square root makes small entries visible, and most of the structure is in small
 * entries.
 */
export function shadeOf(value: number, size: number): number {
  if (!(Math.abs(value) > roundingShare * size)) return 0;
  return Math.sign(value) * Math.sqrt(Math.abs(value) / size);
}

/** Describes the picture to users who cannot see it. Rows and columns count from 1. */
export function describeMatrix({ numRows, numColumns, values }: MatrixEntries): string {
  const { size } = extentOf([{ symbol: '', name: '', numRows, numColumns, values }]);
  let numNonZero = 0;
  let numNegative = 0;
  let greatest = 0;
  let numAbove = 0;
  for (const [at, value] of values.entries()) {
    const shade = shadeOf(value, size);
    if (shade !== 0) numNonZero += 1;
    if (shade < 0) numNegative += 1;
    if (shade !== 0 && at % numColumns > Math.floor(at / numColumns)) numAbove += 1;
    if (value > (values[greatest] ?? 0)) greatest = at;
  }
  const [row, column] = [Math.floor(greatest / numColumns), greatest % numColumns];
  const triangular = numRows === numColumns && numAbove === 0 ? ', none above the diagonal' : '';
  const negative = numNegative === 0 ? 'none negative' : `${count(numNegative)} negative`;
  return (
    `${count(numRows)} × ${count(numColumns)}, ${count(numNonZero)} non-zero entries` +
    `${triangular}, ${negative}; the greatest is ${quantity(values[greatest] ?? 0)}, ` +
    `in row ${row + 1}, column ${column + 1}.`
  );
}
