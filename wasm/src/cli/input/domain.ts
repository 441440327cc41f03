// SPDX-License-Identifier: Apache-2.0

// Values that a column may hold, declared independently of the data.

import { Misuse } from '../failure.js';
import { faultAt, type Place } from './place.js';

export const MAX_VALUES = 2 ** 24;
const OTHER = 'other';

/** Values that a column may hold, in order. */
export class Domain {
  private readonly indices: Map<string, number>;

  constructor(
    readonly column: string,
    readonly labels: readonly string[],
    private readonly hasOther: boolean,
    private readonly isRange: boolean,
  ) {
    this.indices = new Map(labels.map((label, i) => [label, i]));
    if (this.indices.size < labels.length) {
      throw new Misuse(`--domain of column ${JSON.stringify(column)} has a value twice`);
    }
  }

  static read(column: string, text: string, withOther: boolean): Domain {
    const range = /^(-?\d{1,15}):(-?\d{1,15})$/.exec(text);
    let labels = text.split(',').map((label) => label.trim());
    if (range) {
      const [low, high] = [Number(range[1]), Number(range[2])];
      if (high < low || high - low >= MAX_VALUES) {
        const wanted = 'LOW:HIGH with at most 2^24 values, the lower one first';
        throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
      }
      labels = Array.from({ length: high - low + 1 }, (_, i) => String(low + i));
    } else if (labels.includes('')) {
      const wanted = 'LOW:HIGH or texts separated by commas';
      throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
    }
    if (withOther) labels.push(OTHER);
    return new Domain(column, labels, withOther, range !== null);
  }

  /** Advice for the message about a cell outside the domain. */
  get hint(): string {
    const rest = '--other adds a category for what --domain leaves out';
    if (this.isRange) return `values of LOW:HIGH are whole numbers; ${rest}`;
    const separator = /[;|]/.exec(this.labels.join(''))?.[0];
    const commas = separator === undefined ? '' : `, and values have commas between them, not ${separator}`;
    return `${rest}; upper and lower case differ${commas}`;
  }

  /** Index of a value, or undefined if it is outside the domain. */
  index(text: string): number | undefined {
    return this.indices.get(text.trim()) ?? (this.hasOther ? this.labels.length - 1 : undefined);
  }
}

/** Returns the error for a cell outside the domain; `where` is its row and line. */
export function outsideDomain({ column, hint }: Domain, cell: string, where: Place): Misuse {
  const what = `is outside --domain; ${hint}`;
  return faultAt(where, { code: 'outside_domain', what, column }, cell);
}
