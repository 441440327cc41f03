// SPDX-License-Identifier: Apache-2.0

// Options of mechanisms, checked and completed with the documented defaults.

import { float64s, optionsObject, outOfRange, Reader, wrongType } from './check.js';
import type { CoreMechanism, CoreTable } from './core.js';
import { DEFAULT_MECHANISM } from './defaults.js';
import { makeError } from './errors.js';

export const MECHANISM_OPTIONS = [
  'mechanism',
  'numSteps',
  'epsilon',
  'delta',
  'clipNorm',
  'neighbours',
] as const;

const NEIGHBOURS = ['zero-out', 'replace-one'] as const;

/** A reader of `value`, whose keys must be among `known`. */
export function readOptions(where: string, value: unknown, known: readonly string[]): Reader {
  return new Reader(where, optionsObject(where, value, known));
}

export function readMechanism(reader: Reader, mechanisms: readonly string[]): CoreMechanism {
  return {
    mechanism: reader.oneOfOr('mechanism', mechanisms, DEFAULT_MECHANISM),
    numSteps: reader.count('numSteps'),
    epsilon: reader.number('epsilon'),
    delta: reader.number('delta'),
    clipNorm: reader.numberOr('clipNorm', 1),
    neighbours: reader.oneOfOr('neighbours', NEIGHBOURS, 'zero-out'),
  };
}

function wrongLength(where: string, name: string, wanted: string, got: number): Error {
  return makeError('wrong_length', `${where}: ${name} must have ${wanted}, got ${got}`);
}

/** A table whose lengths agree; the core checks its numbers. */
export function readTable(where: string, value: unknown): CoreTable {
  const known = ['numRows', 'numColumns', 'values', 'labels'];
  if (typeof value !== 'object' || value === null) {
    throw wrongType(where, 'table', 'an object', value);
  }
  const reader = new Reader(where, optionsObject(`${where}: table`, value, known));
  const numRows = reader.count('numRows');
  const numColumns = reader.count('numColumns');
  if (numRows < 1) throw outOfRange(where, 'numRows', 'at least 1', numRows);
  if (numColumns < 1) throw outOfRange(where, 'numColumns', 'at least 1', numColumns);
  const values = float64s(where, 'values', reader.raw('values'));
  if (values.length !== numRows * numColumns) {
    const wanted = `numRows * numColumns = ${numRows * numColumns} entries`;
    throw wrongLength(where, 'values', wanted, values.length);
  }
  if (!reader.has('labels')) return { numRows, numColumns, values, labels: undefined };
  const labels = float64s(where, 'labels', reader.raw('labels'));
  if (labels.length !== numRows) {
    throw wrongLength(where, 'labels', `numRows = ${numRows} entries`, labels.length);
  }
  return { numRows, numColumns, values, labels };
}

/** Number of whole records in an array. */
export function countRecords(where: string, records: Float64Array, dimension: number): number {
  if (records.length % dimension !== 0) {
    const wanted = `a multiple of dimension = ${dimension} entries`;
    throw wrongLength(where, 'records', wanted, records.length);
  }
  return records.length / dimension;
}

export function requireLength(where: string, name: string, got: number, wanted: number): void {
  if (got !== wanted) throw wrongLength(where, name, `${wanted} entries`, got);
}
