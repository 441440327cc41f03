// SPDX-License-Identifier: Apache-2.0

// A histogram for queries: counts of 4 to 32 values, as numbers and as text, and the workloads for
// them.

import type { QueryWorkload } from 'dp-ftrl';
import type { Column } from './csv.ts';

export const sizes = [4, 8, 16, 32] as const;
/** Largest count that can be drawn or typed. */
export const maxCount = 999_999;

export const queryKinds = [
  'ranges',
  'prefix',
  'identity',
  'tables',
  'parities',
  'rectangles',
] as const;
export type QueryKind = (typeof queryKinds)[number];

export const queryNames: Readonly<Record<QueryKind, string>> = {
  ranges: 'all ranges',
  prefix: 'all prefixes',
  identity: 'every value',
  tables: 'tables of two bits',
  parities: 'parities of two bits',
  rectangles: 'rectangles of a grid',
};

/** The values also serve as bit strings, and as the cells of a nearly square grid. */
export function workloadOf(kind: QueryKind, numValues: number): QueryWorkload {
  const bits = Math.log2(numValues);
  const width = 2 ** Math.ceil(bits / 2);
  switch (kind) {
    case 'ranges':
      return { ranges: numValues };
    case 'prefix':
      return { prefix: numValues };
    case 'identity':
      return { identity: numValues };
    case 'tables':
      return { marginals: Array.from({ length: bits }, () => 2), order: 2 };
    case 'parities':
      return { parities: bits, order: 2 };
    case 'rectangles':
      return { product: [{ ranges: numValues / width }, { ranges: width }] };
  }
}

export function readCounts(text: string): number[] | null {
  const parts = text.split(',');
  const known: readonly number[] = sizes;
  const good = known.includes(parts.length) && parts.every((part) => /^\d{1,6}$/.test(part));
  return good ? parts.map(Number) : null;
}

export function writeCounts(counts: readonly number[]): string {
  return counts.join(',');
}

/**
 * Resizes a histogram: neighbouring counts are merged, or counts are split in half. The number of
 * records changes only where a merged count would exceed `maxCount`.
 */
export function resized(counts: readonly number[], size: number): number[] {
  let result = [...counts];
  while (result.length > size) {
    result = Array.from({ length: result.length / 2 }, (_, i) => {
      return Math.min(maxCount, result[2 * i]! + result[2 * i + 1]!);
    });
  }
  while (result.length < size) {
    result = result.flatMap((count) => [Math.ceil(count / 2), Math.floor(count / 2)]);
  }
  return result;
}

export interface BinCounts {
  counts: number[];
  /** Number of rows outside the range, which are counted in the outermost bars. */
  numOutside: number;
}

/** Counts rows in `size` intervals of equal length. Every row must have a number. */
export function binned(
  { values }: Pick<Column, 'values'>,
  { low, high, size }: { low: number; high: number; size: number },
): BinCounts {
  const counts = Array.from({ length: size }, () => 0);
  let numOutside = 0;
  for (const value of values) {
    if (value < low || value > high) numOutside += 1;
    const place = Math.floor(((value - low) / (high - low)) * size);
    counts[Math.max(0, Math.min(size - 1, place))]! += 1;
  }
  return { counts, numOutside };
}
