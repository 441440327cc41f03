// SPDX-License-Identifier: Apache-2.0

// Rows of a mechanism's noise in floating point, for simulations.

import type { Handle } from './instance.js';
import type { ErrorOptions } from './unit-error.js';

export interface SimulationNoiseOptions extends ErrorOptions {
  /** Entries of a row. Default 1. */
  dimension?: number;
  /**
   * Coordinate at which these rows begin within the whole: shards with one `seed` together have the
   * numbers of the whole. Default 0.
   */
  firstCoordinate?: number;
  /** Default 'float32'. Rows of 'float64' take about twice the time. */
  precision?: 'float32' | 'float64';
  /** Cipher of the random bits. Those of fewer rounds are quicker, for 'float32' only. */
  generator?: 'chacha20' | 'chacha12' | 'chacha8';
  /**
   * Makes the same rows again. Default: a new one from the platform. There is no `key`: with that of
   * a release these rows would show its noise.
   */
  seed?: number | bigint;
}

/**
 * Rows of a mechanism's noise in floating point: NOT private. Which numbers of floating point a value
 * plus such noise can be depends on the value, and its low-order bits tell of it.
 */
export interface SimulationNoise<Rows extends Float32Array | Float64Array> extends Handle {
  readonly dimension: number;
  readonly numSteps: number;
  /** The step of the next row. */
  readonly step: number;
  /** Makes the row of `step`, 0 .. numSteps, the next one, with the numbers that it always has. */
  seek(step: number): void;
  /**
   * Returns the next rows of unit noise, one after the other: the noise of the totals. They do not
   * depend on how many are asked for at once; 16 at once are the quickest.
   * @param out where to write instead of a new array: numRows * dimension numbers. Memory that was
   * used before is quicker than a new array.
   */
  next(numRows: number, out?: Rows): Rows;
}
