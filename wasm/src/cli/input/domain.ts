// SPDX-License-Identifier: Apache-2.0

// Values that a column may hold, declared independently of the data.

import { CategoryIndex, isRange } from '../../shared/categories.js';
import { parseNumber, wholeNumber } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import { ZERO, type Missing } from './missing.js';
import { faultAt, type Place } from './place.js';

export const MAX_VALUES = 2 ** 24;
const OTHER = 'other';

/** Whole numbers from `low` to `high`. */
interface Range {
  low: number;
  high: number;
}

/** Values that a column may hold, in order. */
export class Domain {
  private isOrdered = false;
  /** Undefined for a range, which needs no table. */
  private readonly listed: CategoryIndex | undefined;

  constructor(
    readonly column: string,
    readonly labels: readonly string[],
    /** Whether the last label stands for all other values. */
    readonly hasOther: boolean,
    private readonly range: Range | undefined,
  ) {
    if (range) return;
    this.listed = new CategoryIndex(labels);
    if (this.listed.size < labels.length) {
      throw new Misuse(`--domain of column ${JSON.stringify(column)} has a value twice`);
    }
  }

  static read(column: string, text: string, withOther: boolean): Domain {
    const range = /^(-?\d{1,15}):(-?\d{1,15})$/.exec(text);
    let labels = text.split(',').map((label) => label.trim());
    const [low, high] = [Number(range?.[1]), Number(range?.[2])];
    if (range) {
      if (high < low || high - low >= MAX_VALUES) {
        const wanted = 'LOW:HIGH with at most 2^24 values, the lower one first';
        throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
      }
      labels = Array.from({ length: high - low + 1 }, (_, i) => String(low + i));
    } else if (isRange(labels)) {
      const wanted = 'LOW:HIGH in digits, with at most 2^24 values, the lower one first';
      throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
    } else if (labels.includes('')) {
      const wanted = 'LOW:HIGH or texts separated by commas';
      throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
    }
    if (withOther) labels.push(OTHER);
    return new Domain(column, labels, withOther, range ? { low, high } : undefined);
  }

  /** Advice for the message about a cell outside the domain. */
  get hint(): string {
    const rest = this.isOrdered
      ? '--quantile needs all values of the column in it'
      : '--other adds a category for what --domain leaves out';
    if (this.range) return `values of LOW:HIGH are whole numbers; ${rest}`;
    const separator = /[;|]/.exec(this.labels.join(''))?.[0];
    const commas =
      separator === undefined ? '' : `, and values have commas between them, not ${separator}`;
    return `${rest}; upper and lower case differ${commas}`;
  }

  /**
   * Takes the values in their order, so that no category can be added.
   *
   * @throws Misuse if all values are numbers, and do not ascend.
   */
  requireAscending(): void {
    this.isOrdered = true;
    const numbers = this.labels.map(parseNumber);
    const at = numbers.findIndex((number, i) => i > 0 && !(number! > numbers[i - 1]!));
    if (at < 0 || numbers.includes(undefined)) return;
    const got = `${this.labels[at]} after ${this.labels[at - 1]}`;
    throw new Misuse(`--domain must be ascending for --quantile, got ${got}`);
  }

  /** Index of a value, or undefined if it is outside the domain. */
  index(text: string): number | undefined {
    return this.find(text) ?? (this.hasOther ? this.labels.length - 1 : undefined);
  }

  /** @throws Misuse if the text that missing cells are read as is no value. */
  requireZero(): void {
    if (this.index(ZERO) !== undefined) return;
    const where = `--domain of column ${JSON.stringify(this.column)}`;
    throw new Misuse(`--missing zero reads missing cells as 0, which ${where} does not list`);
  }

  private find(text: string): number | undefined {
    if (this.listed) return this.listed.find(text);
    const { low, high } = this.range!;
    const value = wholeNumber(text.trim());
    return value !== undefined && value >= low && value <= high ? value - low : undefined;
  }
}

/** Returns the error for a cell outside the domain; `where` is its row and line. */
export function outsideDomain(
  { column, hint }: Domain,
  cell: string,
  { where, missing }: { where: Place; missing: Missing },
): Misuse {
  const what = `is outside --domain; ${hint}${missing.hint(cell)}`;
  return faultAt(where, { code: 'outside_domain', what, column }, cell);
}
