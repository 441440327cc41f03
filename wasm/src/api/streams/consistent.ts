// SPDX-License-Identifier: Apache-2.0

// Post-processing of the counts of a histogram, which costs no privacy.

import { outOfRange, wrongType } from '../../core/check.js';
import type { Core } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import type { ConsistentCounts, Histogram } from '../../types/streams/readings.js';
import { memberOf, named } from './shape.js';

const HOWS = ['non-negative', 'monotone'] as const;
const WHERE = 'consistent';

/** Reads the counts of the given names. */
function countsOf(names: readonly string[], name: string, reading: unknown): Float64Array {
  const count = (reading as Partial<Histogram<string>> | null | undefined)?.count;
  if (typeof count !== 'object' || count === null) {
    throw wrongType(WHERE, name, 'the reading of a histogram', reading);
  }
  return Float64Array.from(names, (category) => {
    const parameter = memberOf(`${name}.count`, category);
    const value: unknown = (count as Record<string, { value?: unknown } | undefined>)[category]
      ?.value;
    if (typeof value !== 'number') throw wrongType(WHERE, `${parameter}.value`, 'a number', value);
    if (!Number.isFinite(value)) throw outOfRange(WHERE, `${parameter}.value`, 'finite', value);
    return value;
  });
}

/** Closest counts that never decrease, for each category. */
function monotone(core: Core, rows: readonly Float64Array[]): Float64Array[] {
  const numSteps = rows.length;
  const numCategories = rows[0]?.length ?? 0;
  const byCategory = new Float64Array(numSteps * numCategories);
  rows.forEach((row, t) => row.forEach((value, j) => (byCategory[j * numSteps + t] = value)));
  const found = core.call('statisticHistogramMonotone', byCategory, numSteps);
  return rows.map((row, t) => row.map((_, j) => found[j * numSteps + t]!));
}

export function consistent(
  core: Core,
  readings: unknown,
  how: unknown,
): ConsistentCounts<string>[] {
  if (!Array.isArray(readings)) throw wrongType(WHERE, 'readings', 'an array', readings);
  const kind = HOWS.find((it) => it === how);
  if (kind === undefined) throw outOfRange(WHERE, 'how', `one of ${HOWS.join(', ')}`, how);
  if (readings.length === 0) return [];
  const first = (readings[0] as Partial<Histogram<string>> | null)?.count;
  const names = Object.keys(first ?? {});
  const rows = readings.map((reading: unknown, i) => countsOf(names, `readings[${i}]`, reading));
  const gap = (readings as { step?: unknown }[]).findIndex(({ step }, i) => step !== i);
  if (kind === 'monotone' && gap >= 0) {
    const constraint = 'must be those of all steps from the first on';
    throw makeError('invalid_argument', WHERE, { parameter: `readings[${gap}].step`, constraint });
  }
  return (kind === 'monotone' ? monotone(core, rows) : rows).map((row) => {
    const count = row.map((value) => Math.max(value, 0));
    const total = count.reduce((sum, value) => sum + value, 0);
    return { count: named(names, (j) => count[j]!), total };
  });
}
