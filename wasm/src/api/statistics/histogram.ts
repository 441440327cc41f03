// SPDX-License-Identifier: Apache-2.0

// Histograms: records are categories of a public domain.

import { float64s, outOfRange, wrongType, type Reader } from '../../core/check.js';
import type { Core, CoreColumns } from '../../core/core.js';
import { asErrorsOf } from '../../core/errors.js';
import type { ConsistentCounts, Estimate, Histogram } from '../../types/all.js';
import { requireLength } from '../options.js';
import { aboutOf } from './about.js';
import { Columns, type Asked, type Parts } from './columns.js';

export const HISTOGRAM_OPTIONS = ['categories', 'other', 'total', 'fixedTimes'];

const POST_PROCESSING = ['non-negative', 'monotone'] as const;

/** Number of column entries to contribute at once. */
const PIECE = 2 ** 16;

interface Shape extends Asked {
  categories: readonly string[];
  /** Index of the category for values outside the domain. */
  other: number | undefined;
  total: boolean;
  /** True if counts can fall, as those of a window do. */
  falls: boolean;
}

function readCategories(reader: Reader): string[] {
  const { where } = reader;
  const given = reader.raw('categories');
  if (!Array.isArray(given)) throw wrongType(where, 'categories', 'an array of texts', given);
  const seen = new Set<string>();
  // Array.from reads holes of an array as undefined.
  return Array.from(given, (category: unknown, i) => {
    const name = `categories[${i}]`;
    if (typeof category !== 'string') throw wrongType(where, name, 'a string', category);
    if (seen.has(category)) throw outOfRange(where, name, 'another one than before', category);
    seen.add(category);
    return category;
  });
}

export class HistogramColumns extends Columns<Histogram> {
  private readonly indices: ReadonlyMap<string, number>;

  private constructor(
    core: Core,
    made: CoreColumns,
    private readonly shape: Shape,
  ) {
    super(core, made, shape);
    this.indices = new Map(shape.categories.map((category, i) => [category, i]));
  }

  static read(core: Core, reader: Reader, asked: Asked, falls: boolean): HistogramColumns {
    const categories = readCategories(reader);
    const other = reader.has('other') ? reader.oneOf('other', categories) : undefined;
    const shape = {
      ...asked,
      categories: Object.freeze(categories),
      other: other === undefined ? undefined : categories.indexOf(other),
      // With fixed times the total costs nothing, and is always there.
      total: reader.flagOr('total', false) || asked.fixedTimes,
      falls,
    };
    const { total, confidence, neighbours, fixedTimes } = shape;
    const options = { numCategories: categories.length, total, confidence, neighbours, fixedTimes };
    const made = asErrorsOf(reader.where, () => core.call('statisticHistogramCreate', options));
    return new HistogramColumns(core, made, shape);
  }

  get dimension(): number {
    return this.shape.categories.length;
  }

  get about(): string {
    const { categories, total, neighbours, fixedTimes } = this.shape;
    return aboutOf('histogram', { categories, total, neighbours, fixedTimes });
  }

  override extras(): object {
    const { categories } = this.shape;
    const consistentCounts = (histograms: unknown, postProcessing: unknown) =>
      this.consistent(histograms, postProcessing);
    return { categories, consistentCounts };
  }

  one(where: string, record: unknown): Float64Array {
    return this.columnsOf(Float64Array.of(this.index(where, 'record', record)));
  }

  many(where: string, name: string, records: unknown): Float64Array {
    return this.columnsOf(this.indicesOf(where, name, records));
  }

  override parts(where: string, name: string, records: unknown): Parts {
    const indices = this.indicesOf(where, name, records);
    return { numRecords: indices.length, pieces: this.piecesOf(indices) };
  }

  protected numbersOf(sums: Float64Array, stddevs: Float64Array): Float64Array {
    return this.core.call('statisticHistogramRead', this.id, sums, stddevs);
  }

  protected named(all: Estimate[]): Histogram {
    const num = this.dimension;
    return { total: all[0]!, count: all.slice(1, 1 + num), share: all.slice(1 + num) };
  }

  private *piecesOf(indices: Float64Array): Iterable<Float64Array> {
    const size = Math.max(1, Math.floor(PIECE / this.made.dimension));
    for (let from = 0; from < Math.max(1, indices.length); from += size) {
      yield this.columnsOf(indices.subarray(from, from + size));
    }
  }

  private columnsOf(indices: Float64Array): Float64Array {
    return this.core.call('statisticHistogramColumns', this.id, indices);
  }

  private indicesOf(where: string, name: string, records: unknown): Float64Array {
    if (!Array.isArray(records)) throw wrongType(where, name, 'an array of categories', records);
    return Float64Array.from({ length: records.length }, (_, i) =>
      this.index(where, `${name}[${i}]`, records[i]),
    );
  }

  private index(where: string, name: string, record: unknown): number {
    if (typeof record !== 'string') throw wrongType(where, name, 'a category', record);
    const index = this.indices.get(record) ?? this.shape.other;
    if (index === undefined) throw outOfRange(where, name, 'one of {categories}', record);
    return index;
  }

  private consistent(histograms: unknown, postProcessing: unknown): ConsistentCounts[] {
    const where = 'consistentCounts';
    if (!Array.isArray(histograms)) {
      throw wrongType(where, 'histograms', 'an array of histograms', histograms);
    }
    const kind = POST_PROCESSING.find((known) => known === postProcessing);
    if (kind === undefined) {
      throw outOfRange(
        where,
        'postProcessing',
        `one of ${POST_PROCESSING.join(', ')}`,
        postProcessing,
      );
    }
    if (kind === 'monotone' && this.shape.falls) {
      throw outOfRange(
        where,
        'postProcessing',
        'non-negative for a window, whose counts fall',
        kind,
      );
    }
    const rows = histograms.map((histogram, i) =>
      this.valuesOf(where, `histograms[${i}]`, histogram),
    );
    const counts = kind === 'monotone' ? this.monotone(rows) : rows;
    return counts.map((row) => {
      const count = Array.from(row, (value) => Math.max(value, 0));
      return { postProcessing: kind, count, total: count.reduce((sum, value) => sum + value, 0) };
    });
  }

  private valuesOf(where: string, name: string, histogram: unknown): Float64Array {
    const count = (histogram as Histogram | null | undefined)?.count;
    if (!Array.isArray(count)) throw wrongType(where, name, 'a histogram', histogram);
    const values = count.map((estimate: Partial<Estimate> | null) => estimate?.value);
    requireLength(where, `${name}.count`, values.length, this.dimension);
    return float64s(where, `${name}.count`, values);
  }

  private monotone(rows: readonly Float64Array[]): Float64Array[] {
    const numSteps = rows.length;
    const byCategory = new Float64Array(numSteps * this.dimension);
    rows.forEach((row, t) => row.forEach((value, j) => (byCategory[j * numSteps + t] = value)));
    const found = this.core.call('statisticHistogramMonotone', byCategory, numSteps);
    return rows.map((row, t) => row.map((_, j) => found[j * numSteps + t]!));
  }
}
