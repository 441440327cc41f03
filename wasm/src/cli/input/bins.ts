// SPDX-License-Identifier: Apache-2.0

// --bins N: bins of equal width in the range of a numeric column. Bins are public, because the
// range and N are.

import { Misuse } from '../base/failure.js';
import { MAX_VALUES } from './domain.js';
import type { ColumnRange } from './columns.js';

export const DEFAULT_BINS = 1000;

/** Significant digits of bin centres and widths, few enough to hide rounding errors. */
const DIGITS = 12;

const shown = (value: number): number => Number(value.toPrecision(DIGITS));

export class Bins {
  constructor(
    readonly range: ColumnRange,
    readonly size: number,
  ) {
    if (size <= MAX_VALUES) return;
    throw new Misuse(`--bins must be at most 2^24, got ${size}`);
  }

  get width(): number {
    return shown((this.range.high - this.range.low) / this.size);
  }

  /** Index of the bin of a number in the range. */
  indexOf(value: number): number {
    const { low, high } = this.range;
    const part = Math.floor(((value - low) / (high - low)) * this.size);
    return Math.min(Math.max(part, 0), this.size - 1);
  }

  middleOf(index: number): number {
    const { low, high } = this.range;
    return shown(low + ((index + 0.5) / this.size) * (high - low));
  }
}
