// SPDX-License-Identifier: Apache-2.0

// A matrix to be looked at: what it is called, its entries, and what can be said of them in words.

import { count, quantity } from '../page/format.ts';

export interface Matrix {
  /** Letters of the formula, such as C. */
  symbol: string;
  /** In words, such as encoder. */
  name: string;
  numRows: number;
  numColumns: number;
  /** Row-major. */
  values: Float64Array;
}

/** Entries below this share of the greatest one are rounding errors of zeros. */
const roundingShare = 1e-13;

export interface Extent {
  least: number;
  /** Greatest absolute value. */
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
 * Place of a value on the scale of colours, from -1 to 1: its square root, signed, as a share of
 * that of the greatest. Small entries, which make most of the structure, are seen that way.
 */
export function shadeOf(value: number, size: number): number {
  if (!(Math.abs(value) > roundingShare * size)) return 0;
  return Math.sign(value) * Math.sqrt(Math.abs(value) / size);
}

/** Describes the picture to users who cannot see it. Rows and columns count from 1. */
export function describeMatrix({ numRows, numColumns, values }: Matrix): string {
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
    `${count(numRows)} × ${count(numColumns)}, ${count(numNonZero)} entries not 0` +
    `${triangular}, ${negative}; the greatest is ${quantity(values[greatest] ?? 0)}, ` +
    `in row ${row + 1}, column ${column + 1}.`
  );
}
