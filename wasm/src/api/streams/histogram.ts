// SPDX-License-Identifier: Apache-2.0

// Histograms: a record is the name of a public category.

import { outOfRange, wrongType, type Reader } from '../../core/check.js';
import type { Histogram } from '../../types/streams/readings.js';
import { factsOfWorkload } from './facts.js';
import type { StreamDefinition } from './kind.js';
import { ESTIMATE, estimateAt, named, type Shape } from './shape.js';

/** @param hasOther  whether the last name counts all texts that are not categories. */
function histogramShape(names: readonly string[], hasOther: boolean): Shape<Histogram<string>> {
  const indices = new Map(names.map((name, i) => [name.normalize('NFC'), i]));
  const other = hasOther ? names.length - 1 : undefined;
  function indexOf(where: string, name: string, category: unknown): number {
    if (typeof category !== 'string') throw wrongType(where, name, 'a string', category);
    const index = indices.get(category.normalize('NFC')) ?? other;
    if (index === undefined) throw outOfRange(where, name, 'one of the categories', category);
    return index;
  }
  return {
    one: ['category'],
    many: ['categories'],
    numSums: names.length + 1,
    isCopied: true,
    row: (where, category) => Float64Array.of(indexOf(where, 'category', category)),
    rows(where, categories) {
      if (!Array.isArray(categories)) {
        throw wrongType(where, 'categories', 'an array of strings', categories);
      }
      const rows = Float64Array.from({ length: categories.length }, (_, k) =>
        indexOf(where, `categories[${k}]`, categories[k]),
      );
      return { rows, numRecords: rows.length };
    },
    read(numbers, step) {
      const estimatesFrom = (first: number) =>
        named(names, (i) => estimateAt(numbers, (first + i) * ESTIMATE));
      return {
        step,
        count: estimatesFrom(1),
        share: estimatesFrom(1 + names.length),
        total: estimateAt(numbers, 0),
      };
    },
  };
}

function readCategories(reader: Reader): string[] {
  const { where } = reader;
  const given = reader.raw('categories');
  if (!Array.isArray(given)) throw wrongType(where, 'categories', 'an array of strings', given);
  const seen = new Set<string>();
  // Array.from reads holes of an array as undefined.
  return Array.from(given, (category: unknown, i) => {
    const name = `categories[${i}]`;
    if (typeof category !== 'string') throw wrongType(where, name, 'a string', category);
    const same = category.normalize('NFC');
    if (seen.has(same)) throw outOfRange(where, name, 'another one than before', category);
    seen.add(same);
    return category;
  });
}

/** Reads the name of the category for all other texts. */
function readOther(reader: Reader, categories: readonly string[]): string | undefined {
  const { where } = reader;
  const other = reader.raw('other');
  if (other === undefined) return undefined;
  if (typeof other !== 'string') throw wrongType(where, 'other', 'a string', other);
  const isOne = categories.some((each) => each.normalize('NFC') === other.normalize('NFC'));
  if (isOne) throw outOfRange(where, 'other', 'none of {categories}', other);
  return other;
}

export const HISTOGRAM: StreamDefinition<Histogram<string>> = {
  name: 'histogram',
  options: [
    'confidence',
    'showNonprivate',
    'categories',
    'other',
    'total',
    'workload',
    'fixedTimes',
  ],
  hasWindowsOnly: true,
  read(reader, { workload }) {
    const categories = readCategories(reader);
    const other = readOther(reader, categories);
    const names = other === undefined ? categories : [...categories, other];
    const fixedTimes = reader.flagOr('fixedTimes', false);
    // With fixed times the total costs nothing.
    const total = reader.flagOr('total', false) || fixedTimes;
    return {
      set: { numCategories: names.length, total, fixedTimes },
      own: { categories, other, total, workload: factsOfWorkload(workload), fixedTimes },
      shape: histogramShape(names, other !== undefined),
    };
  },
};
