// SPDX-License-Identifier: Apache-2.0

// Rows of a mechanism's noise.

import type { Handle } from './instance.js';
import type { ErrorOptions } from './unit-error.js';

export interface NoiseOptions extends ErrorOptions {
  /** Entries of a row. Default 1. */
  dimension?: number;
  /**
   * Index of the first coordinate of these rows within the full rows: shards that share a key
   * together make up the full rows. Default 0.
   */
  firstCoordinate?: number;
  /**
   * Makes each row the increment from one prefix sum's noise to the next, for callers who add noise
   * to each gradient. Available for every mechanism over prefix sums. Increments are the
   * differences of successive rounded rows of totals, so they sum to those rows, at the cost of one
   * more row of memory. `independent`, `banded-inverse-square-root` and `lambda-cgd` round each
   * increment separately: sums are then off by at most half a unit per step, no state is kept
   * between steps, and seeking is free. Default false.
   */
  increments?: boolean;
  /**
   * 32 secret bytes, for one stream only (and all its shards). Default: a fresh key from the
   * platform's random generator.
   */
  key?: Uint8Array;
  /** Fixed seed, for tests and demonstrations only: NOT private. */
  insecureSeed?: number | bigint;
}

/** Rows of a mechanism's noise, one per step, for callers who add it to integers themselves. */
export interface Noise extends Handle {
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
   * The next `numRows` rows, concatenated: exactly floor(scale * entry + 1/2) for each ideal entry
   * of unit noise. `scale` is the noise std in units of the integers it is added to, up to 2^40.
   * @param out array to write to instead of a new one: numRows * dimension numbers. Reusing an
   * array is faster.
   */
  rounded(options: { numRows: number; scale: number }, out?: Float64Array): Float64Array;
  /**
   * Bytes from which `restore` continues, here or in C++. They do not contain the key, but are as
   * secret as the key.
   */
  checkpoint(): Uint8Array;
  /**
   * Continues from a checkpoint. Use only the newest one: any rows used since then would be
   * repeated. A `store` prevents that for streams.
   */
  restore(bytes: Uint8Array): void;
}
