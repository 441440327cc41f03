// SPDX-License-Identifier: Apache-2.0

// Computes counts per bucket from running totals.

/** Subtracts successive totals; the first ones are returned unchanged. */
export class Differences {
  private last: readonly number[] = [];

  next(totals: readonly number[]): number[] {
    const found = totals.map((total, j) => total - (this.last[j] ?? 0));
    this.last = totals;
    return found;
  }
}
