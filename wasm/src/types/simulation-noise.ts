// SPDX-License-Identifier: Apache-2.0

// Rows of a mechanism's noise in floating point, for simulations.

import type { Handle } from './instance.js';
import type { ErrorOptions } from './unit-error.js';

export interface SimulationNoiseOptions extends ErrorOptions {
  /** Entries of a row. Default 1. */
  dimension?: number;
  /**
   * Index of the first coordinate of these rows within the full rows: shards that share a `seed`
   * together make up the full rows. Default 0.
   */
  firstCoordinate?: number;
  /** Default 'float32'. Rows of 'float64' take about twice as long. */
  precision?: 'float32' | 'float64';
  /**
   * Seed that reproduces the same rows. Default: a fresh seed from the platform. A `key` is not
   * accepted, because rows made with the key of a release would reveal its noise.
   */
  seed?: number | bigint;
}

/**
 * Rows of a mechanism's noise in floating point: NOT private. The set of floating-point numbers
 * that a value plus this noise can yield depends on the value, so the low-order bits of the result
 * reveal information about it.
 */
export interface SimulationNoise<Rows extends Float32Array | Float64Array> extends Handle {
  readonly dimension: number;
  readonly steps: number;
  /** Step of the next row. */
  readonly step: number;
  /**
   * Makes the row of `step`, 0 .. steps, the next one. Its numbers do not depend on the order in
   * which rows are read.
   */
  seek(step: number): void;
  /**
   * The next rows of unit noise of the totals, concatenated. They do not depend on how many are
   * requested at once; 16 at once are fastest.
   * @param out array to write to instead of a new one: numRows * dimension numbers. Reusing an
   * array is faster.
   */
  next(numRows: number, out?: Rows): Rows;
}
