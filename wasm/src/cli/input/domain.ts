// SPDX-License-Identifier: Apache-2.0

// Values that a column may hold, declared independently of the data.

import { existsSync, statSync } from 'node:fs';
import { CategoryIndex, isRange } from '../../shared/categories.js';
import { CsvFault, CsvParser, quotedCell } from '../../shared/csv.js';
import { parseNumber, wholeNumber } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import { ZERO, type Missing } from './missing.js';
import { faultAt, type RowPlace } from './place.js';

export const MAX_VALUES = 2 ** 24;
const OTHER = 'other';

/** Whole numbers from `low` to `high`. */
interface NumberRange {
  low: number;
  high: number;
}

/**
 * Splits a list of values like a line of CSV, in which values with commas are quoted. If no value
 * begins with a quote, quotes are ordinary characters.
 */
function valuesOf(text: string): string[] {
  if (!/(^|,)\s*"/.test(text)) return text.split(',').map((value) => value.trim());
  const parser = new CsvParser({ trims: true });
  try {
    const [record, ...more] = [...parser.push(text), ...parser.end()];
    return record && more.length === 0 ? record.cells : [''];
  } catch (error) {
    if (error instanceof CsvFault) return [''];
    throw error;
  }
}

/** @throws Misuse for the name of a file, because domains are never read from files. */
function requireValues(text: string): void {
  if (!/\.\w+$/.test(text) || !existsSync(text) || !statSync(text).isFile()) return;
  const how = '--domain "$(paste -sd, FILE)" takes them from a FILE with one in each line';
  throw new Misuse(`--domain must list values, got the name of a file, ${text}; ${how}`);
}

/** The values as written in --domain. */
export function domainText(labels: readonly string[]): string {
  return labels.map(quotedCell).join(',');
}

/** Values that a column may hold, in order. */
export class Domain {
  private isOrdered = false;
  /** Undefined for a range, which needs no index. */
  private readonly listed: CategoryIndex | undefined;

  constructor(
    readonly column: string,
    readonly labels: readonly string[],
    /** Whether the last label stands for all other values. */
    readonly hasOther: boolean,
    private readonly range: NumberRange | undefined,
  ) {
    if (range) return;
    this.listed = new CategoryIndex(labels);
    if (this.listed.size === labels.length) return;
    const isOther = hasOther && labels.indexOf(OTHER) < labels.length - 1;
    const what = isOther ? `the value ${OTHER}, which --other adds` : 'a value twice';
    throw new Misuse(`--domain of column ${JSON.stringify(column)} has ${what}`);
  }

  static read(column: string, text: string, withOther: boolean): Domain {
    const range = /^(-?\d{1,15}):(-?\d{1,15})$/.exec(text);
    requireValues(text);
    let labels = valuesOf(text);
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
      const wanted = 'LOW:HIGH or texts separated by commas, of which one with a comma has quotes';
      throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
    }
    if (withOther) labels.push(OTHER);
    return new Domain(column, labels, withOther, range ? { low, high } : undefined);
  }

  /** Advice in the message about a cell outside the domain. */
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
   * Declares that the order of the values matters, which rules out an added category.
   *
   * @throws Misuse if all values are numbers but not in ascending order.
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

  /** @throws Misuse if 0, as which missing cells are read, is not a value. */
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

/** Error for a cell outside the domain; `where` is its row and line. */
export function outsideDomain(
  { column, hint }: Domain,
  cell: string,
  { where, missing }: { where: RowPlace; missing: Missing },
): Misuse {
  const what = `is outside --domain; ${hint}${missing.hint(cell)}`;
  return faultAt(where, { code: 'outside_domain', what, column }, cell);
}
