// SPDX-License-Identifier: Apache-2.0

// Finds the category of a cell, for the command and the page. Spellings of one whole number are one
// category: pandas turns 1 into 1.0 once a column has a gap.

import { nameOf } from './name.js';
import { parseNumber, wholeNumber } from './number.js';

/** Categories by their texts. */
export class CategoryIndex {
  private readonly byText: ReadonlyMap<string, number>;
  /**
   * Undefined for a number that is the value of two categories: those are found by their texts
   * only.
   */
  private readonly byNumber = new Map<number, number | undefined>();

  constructor(labels: readonly string[]) {
    this.byText = new Map(labels.map((label, i) => [nameOf(label), i]));
    labels.forEach((label, i) => {
      const value = wholeNumber(label);
      if (value !== undefined) this.byNumber.set(value, this.byNumber.has(value) ? undefined : i);
    });
  }

  get size(): number {
    return this.byText.size;
  }

  /** Index of the category of a cell; undefined if the cell has no category. */
  find(cell: string): number | undefined {
    const text = nameOf(cell);
    const same = this.byText.get(text);
    if (same !== undefined || this.byNumber.size === 0) return same;
    const value = wholeNumber(text);
    return value === undefined ? undefined : this.byNumber.get(value);
  }
}

/**
 * Whether labels are meant as a range: exactly one of them consists of two or more numbers, such as
 * 0:2.5, 0..5 or 1-5, and all others are numbers. Several such labels are categories, such as times
 * of day or age groups.
 */
export function isRange(labels: readonly string[]): boolean {
  const others = labels.filter((label) => parseNumber(label) === undefined);
  const [label, ...more] = others;
  if (label === undefined || more.length > 0) return false;
  if (/^(0|[1-9]\d*)[-\u2013](0|[1-9]\d*)$/.test(label)) return true;
  const ends = label.split(/:|\.\.+/).map((end) => parseNumber(end.trim()));
  return ends.length > 1 && !ends.includes(undefined);
}
