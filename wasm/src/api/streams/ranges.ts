// SPDX-License-Identifier: Apache-2.0

// Columns with public ranges.

import { float64s, type Reader } from '../../core/check.js';
import { makeError } from '../../core/errors.js';
import { requireLength } from '../options.js';
import { readNames } from './options.js';
import { memberOf } from './shape.js';

/** Reads the names of columns and both ends of each range. */
export function readColumns(reader: Reader): { names: string[]; ranges: Float64Array } {
  const { where } = reader;
  const wanted = 'an object with a range [low, high] for each column';
  const { names, given } = readNames(reader, 'columns', wanted);
  const ranges = new Float64Array(2 * names.length);
  names.forEach((name, i) => {
    const parameter = memberOf('columns', name);
    const range = float64s(where, parameter, given[name]);
    requireLength(where, parameter, range.length, 2);
    const [low, high] = range as unknown as [number, number];
    if (!(low < high) || !Number.isFinite(high - low)) {
      const constraint = 'must be a finite range [low, high] with low below high';
      const value = `[${low}, ${high}]`;
      throw makeError('invalid_argument', where, { parameter, constraint, value });
    }
    ranges.set(range, 2 * i);
  });
  return { names, ranges };
}
