// SPDX-License-Identifier: Apache-2.0

// Moments: a record has a number for each of the named columns.

import { outOfRange, wrongType } from '../../core/check.js';
import type { Estimate, Moments } from '../../types/streams/readings.js';
import type { NamedRecord } from '../../types/streams/options.js';
import { factsOfWorkload } from './facts.js';
import type { StreamDefinition } from './kind.js';
import { readColumns } from './ranges.js';
import { ESTIMATE, estimateAt, memberOf, named, type Shape } from './shape.js';

/**
 * Writes the numbers of a record in the order of the columns; ignores other properties. Errors call
 * the record `name`.
 */
function write(
  names: readonly string[],
  { where, name, record }: { where: string; name: string; record: unknown },
  row: Float64Array,
): void {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    throw wrongType(where, name, 'an object with a number for each column', record);
  }
  const given = record as Record<string, unknown>;
  names.forEach((column, i) => {
    // Properties that others put on Object.prototype do not belong to the record.
    const value = Object.hasOwn(given, column) ? given[column] : undefined;
    const parameter = memberOf(name, column);
    if (typeof value !== 'number') throw wrongType(where, parameter, 'a number', value);
    if (!Number.isFinite(value)) throw outOfRange(where, parameter, 'finite', value);
    row[i] = value;
  });
}

/** Reads covariances; the core returns the covariances of each column with all later columns. */
function covarianceOf(
  names: readonly string[],
  variance: NamedRecord<string, Estimate>,
  next: () => Estimate,
): NamedRecord<string, NamedRecord<string, Estimate>> {
  const pairs = new Map<string, Estimate>();
  names.forEach((_, i) => {
    for (let j = i + 1; j < names.length; ++j) {
      const pair = next();
      pairs.set(`${i} ${j}`, pair).set(`${j} ${i}`, pair);
    }
  });
  return named(names, (i) =>
    named(names, (j) => (i === j ? variance[names[i]!]! : pairs.get(`${i} ${j}`)!)),
  );
}

function momentsShape(names: readonly string[], hasCovariance: boolean): Shape<Moments<string>> {
  const size = names.length;
  return {
    one: ['record'],
    many: ['records'],
    numSums: 1 + 2 * size + (hasCovariance ? (size * (size - 1)) / 2 : 0),
    isCopied: true,
    row(where, record) {
      const row = new Float64Array(size);
      write(names, { where, name: 'record', record }, row);
      return row;
    },
    rows(where, records) {
      if (!Array.isArray(records))
        throw wrongType(where, 'records', 'an array of objects', records);
      const rows = new Float64Array(records.length * size);
      for (let k = 0; k < records.length; ++k) {
        const given = { where, name: `records[${k}]`, record: records[k] as unknown };
        write(names, given, rows.subarray(k * size, (k + 1) * size));
      }
      return { rows, numRecords: records.length };
    },
    read(numbers, step) {
      let from = 0;
      const next = (): Estimate => estimateAt(numbers, (from += ESTIMATE) - ESTIMATE);
      const count = next();
      const mean = named(names, next);
      const variance = named(names, next);
      const standardDeviation = named(names, next);
      const moments = { step, count, mean, variance, standardDeviation };
      if (!hasCovariance) return moments;
      return { ...moments, covariance: covarianceOf(names, variance, next) };
    },
  };
}

export const MOMENTS: StreamDefinition<Moments<string>> = {
  name: 'moments',
  options: ['confidence', 'showNonprivate', 'columns', 'covariance', 'workload', 'fixedTimes'],
  hasWindowsOnly: true,
  blames({ parameter = '' }, reader) {
    const [, index] = /^columns\[(\d+)\]$/.exec(parameter) ?? [];
    if (index === undefined) return undefined;
    const names = Object.keys(reader.raw('columns') as object);
    return { parameter: memberOf('columns', names[Number(index)]!) };
  },
  read(reader, { workload }) {
    const { names, ranges } = readColumns(reader);
    const covariance = reader.flagOr('covariance', false);
    const fixedTimes = reader.flagOr('fixedTimes', false);
    return {
      set: { ranges, covariance, fixedTimes },
      own: {
        // Pairs, because the order of the columns matters.
        columns: names.map((name, i) => [name, [ranges[2 * i], ranges[2 * i + 1]]]),
        covariance,
        workload: factsOfWorkload(workload),
        fixedTimes,
      },
      shape: momentsShape(names, covariance),
    };
  },
};
