// SPDX-License-Identifier: Apache-2.0

// Counts of buckets, made of totals.

/** Subtracts successive totals; the first ones stay as they are. */
export class Differences {
  private last: readonly number[] = [];

  next(totals: readonly number[]): number[] {
    const found = totals.map((total, j) => total - (this.last[j] ?? 0));
    this.last = totals;
    return found;
  }
}
