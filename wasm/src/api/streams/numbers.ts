// SPDX-License-Identifier: Apache-2.0

// Streams of numbers: counters, totals, increments, and sums of several workloads.

import { float64s, outOfRange, type Reader, requireFinite, wrongType } from '../../core/check.js';
import { asErrorsOf, makeError, within } from '../../core/errors.js';
import type { Estimate, Estimates, Sums, Total, Totals } from '../../types/streams/readings.js';
import { countRecords, readIncrementsMechanism, readMechanism, requireLength } from '../options.js';
import { defaultOfStack } from '../stack.js';
import { factsOfLattice, factsOfWorkload } from './facts.js';
import type { CompletedOptions, StreamDefinition } from './kind.js';
import { factsOfClip, readLattice, readNames } from './options.js';
import { ESTIMATE, estimateAt, estimatesAt, memberOf, named, type Shape } from './shape.js';
import { readWorkload } from '../problem.js';

/** A record is a number, by default 1. */
const AMOUNTS = {
  one: ['amount'],
  many: ['amounts'],
  row(where: string, amount: unknown = 1): Float64Array {
    if (typeof amount !== 'number') throw wrongType(where, 'amount', 'a number', amount);
    if (!Number.isFinite(amount)) throw outOfRange(where, 'amount', 'finite', amount);
    return Float64Array.of(amount);
  },
  rows(where: string, amounts: unknown) {
    const rows = float64s(where, 'amounts', amounts);
    requireFinite(where, 'amounts', rows);
    return { rows, numRecords: rows.length };
  },
};

/** A record is a row of numbers. */
export function rowsOf(dimension: number, one = 'record') {
  const many = `${one}s`;
  return {
    one: [one],
    many: [many],
    row(where: string, record: unknown): Float64Array {
      const row = float64s(where, one, record);
      requireLength(where, one, row.length, dimension);
      requireFinite(where, one, row);
      return row;
    },
    rows(where: string, records: unknown) {
      const rows = float64s(where, many, records);
      const numRecords = countRecords(where, rows, dimension, many);
      requireFinite(where, many, rows);
      return { rows, numRecords };
    },
  };
}

export function readDimension(reader: Reader): number {
  const dimension = reader.count('dimension');
  if (dimension < 1) throw outOfRange(reader.where, 'dimension', 'at least 1', dimension);
  return dimension;
}

/** Reads the grid to which sums are rounded, and mode 'lattice'. */
export function readReleaseOptions(reader: Reader) {
  const grid = reader.numberOr('grid', undefined);
  const lattice = readLattice(reader);
  return { set: { grid, ...lattice }, lattice };
}

/** Reads the options of sums of one workload. */
function readReleased(reader: Reader, { clip, workload }: CompletedOptions) {
  const { set, lattice } = readReleaseOptions(reader);
  const own = { clip, workload: factsOfWorkload(workload), grid: set.grid };
  return {
    set,
    own: { ...own, ...(lattice && { lattice: factsOfLattice(lattice) }) },
  };
}

const OPTIONS_OF_SUMS = ['confidence', 'showNonprivate', 'clip', 'workload', 'grid', 'lattice'];
const OPTIONS_OF_TOTALS = [...OPTIONS_OF_SUMS, 'dimension', 'reuse'];

export const COUNTER: StreamDefinition<Total> = {
  name: 'counter',
  options: OPTIONS_OF_SUMS,
  isPure: true,
  read: (reader, complete) => ({
    ...readReleased(reader, complete),
    shape: {
      ...AMOUNTS,
      numSums: 1,
      isCopied: true,
      read: (numbers, step) => ({ step, ...estimateAt(numbers, 0) }),
    },
  }),
};

function totalsShape(reader: Reader, dimension: number): Shape<Totals> {
  return {
    ...rowsOf(dimension),
    numSums: dimension,
    isCopied: reader.flagOr('reuse', false),
    read: (numbers, step) => ({ step, ...estimatesAt(numbers, 0, dimension) }),
  };
}

export const TOTALS: StreamDefinition<Totals> = {
  name: 'totals',
  options: OPTIONS_OF_TOTALS,
  isPure: true,
  read(reader, complete) {
    const dimension = readDimension(reader);
    const { set, own } = readReleased(reader, complete);
    const shape = totalsShape(reader, dimension);
    return { set: { ...set, dimension }, own: { ...own, dimension }, shape };
  },
};

export const INCREMENTS: StreamDefinition<Totals> = {
  name: 'increments',
  options: ['confidence', 'clip', 'clippedTo', 'grid', 'dimension', 'reuse'],
  readMechanism: readIncrementsMechanism,
  read(reader, complete) {
    const dimension = readDimension(reader);
    const grid = reader.numberOr('grid', undefined);
    return {
      set: { dimension, grid },
      own: { ...factsOfClip(complete), grid, dimension },
      // Records clipped by the caller may not fit the sums.
      shape: { ...totalsShape(reader, dimension), isCheckedByCore: complete.clippedByCaller },
    };
  },
};

/** @param dimension  undefined if records and sums are numbers. */
function sumsShape(
  names: readonly string[],
  dimension: number | undefined,
): Shape<Sums<string, Estimate | Estimates>> {
  const isSingle = dimension === undefined;
  const size = isSingle ? ESTIMATE : dimension + 2;
  const readAt = (numbers: Float64Array, at: number) =>
    isSingle ? estimateAt(numbers, at) : estimatesAt(numbers, at, dimension);
  return {
    ...(isSingle ? AMOUNTS : rowsOf(dimension)),
    numSums: names.length * (dimension ?? 1),
    isCopied: isSingle,
    read: (numbers, step) => ({ step, sums: named(names, (i) => readAt(numbers, i * size)) }),
  };
}

/** Reads one positive weight for each workload. */
function readImportance(reader: Reader, names: readonly string[]): Float64Array | undefined {
  const { where } = reader;
  if (!reader.has('importance')) return undefined;
  const { names: all, given } = readNames(
    reader,
    'importance',
    'an object with a weight for each of {workloads}',
  );
  const stray = all.find((name) => !names.includes(name));
  if (stray !== undefined) {
    const parameter = memberOf('importance', stray);
    throw makeError('wrong_type', where, { parameter, constraint: 'is none of {workloads}' });
  }
  return Float64Array.from(names, (name) => {
    const [weight, parameter] = [given[name], memberOf('importance', name)];
    if (typeof weight !== 'number') throw wrongType(where, parameter, 'a number', weight);
    if (weight > 0 && weight < Infinity) return weight;
    throw outOfRange(where, parameter, 'positive and finite', weight);
  });
}

export const SUMS: StreamDefinition<Sums<string, Estimate | Estimates>> = {
  name: 'sums',
  options: ['confidence', 'showNonprivate', 'clip', 'workloads', 'importance', 'dimension'],
  readMechanism: (reader, mechanisms) => readMechanism(reader, mechanisms, defaultOfStack),
  read(reader, { steps, clip }) {
    const wanted = 'an object with a workload for each of its names';
    const { names, given } = readNames(reader, 'workloads', wanted);
    const workloads = names.map((name) => {
      const where = within(reader.where, memberOf('workloads', name));
      if (given[name] !== undefined) {
        return asErrorsOf('sums', () => readWorkload(where, given[name], steps));
      }
      throw wrongType(where, 'workload', "'prefix' or an object", undefined);
    });
    const importance = readImportance(reader, names);
    const dimension = reader.has('dimension') ? readDimension(reader) : undefined;
    const single = dimension === undefined;
    return {
      set: { workloads, importance, dimension: dimension ?? 1, single },
      own: {
        clip,
        // Pairs, because the order of the workloads matters.
        workloads: workloads.map((workload, i) => [names[i], factsOfWorkload(workload)]),
        importance: importance && [...importance],
        dimension,
      },
      shape: sumsShape(names, dimension),
      names,
    };
  },
};
