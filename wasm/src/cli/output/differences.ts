// SPDX-License-Identifier: Apache-2.0

// Computes counts per bucket from running totals.

/** Subtracts successive totals. */
export class Differences {
  private last: readonly number[];

  /** @param before  totals before the first ones; empty for zeros. */
  constructor(before: Iterable<number> = []) {
    this.last = [...before];
  }

  next(totals: readonly number[]): number[] {
    const found = totals.map((total, j) => total - (this.last[j] ?? 0));
    this.last = totals;
    return found;
  }
}
