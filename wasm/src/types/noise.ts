// SPDX-License-Identifier: Apache-2.0

// Rows of a mechanism's noise.

import type { Handle } from './instance.js';
import type { ErrorOptions } from './unit-error.js';

export interface NoiseOptions extends ErrorOptions {
  /** Entries of a row. Default 1. */
  dimension?: number;
  /**
   * Coordinate at which these rows begin within the whole: shards that share a key together have
   * the numbers of the whole. Default 0.
   */
  firstCoordinate?: number;
  /**
   * Gives rows of increments, what each step adds to the noise of its sum, for callers who add
   * noise to each gradient; their sums are the noise of sums, up to rounding. For `independent`,
   * `banded-inverse-square-root` and `lambda-cgd` over prefix sums. No state is kept from step to
   * step: seeking costs nothing, and a row costs as many normals as the inverse encoder has bands.
   * Default false.
   */
  increments?: boolean;
  /**
   * 32 secret bytes, for one stream only (and for all its shards). Default: from the platform, for
   * this stream alone.
   */
  key?: Uint8Array;
  /** As in `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/** Rows of a mechanism's noise, one a step, for callers who add it to integers themselves. */
export interface Noise extends Handle {
  readonly dimension: number;
  readonly numSteps: number;
  /** The step of the next row. */
  readonly step: number;
  /** Makes the row of `step`, 0 .. numSteps, the next one, with the numbers that it always has. */
  seek(step: number): void;
  /**
   * Returns the next rows, one after the other: floor(scale * entry + 1/2) of the ideal entries,
   * exactly. The noise is unit noise: `scale` is the noise std in units of the integers to which it
   * is added, up to 2^40.
   */
  rounded(options: { numRows: number; scale: number }): Float64Array;
  /**
   * Returns bytes from which `restore` continues, here or natively. They do not hold the key, and
   * are as secret as it.
   */
  checkpoint(): Uint8Array;
  /**
   * Continues from a checkpoint. Repeats noise if rows were used since: only for the newest
   * checkpoint. See `ledger`.
   */
  restore(bytes: Uint8Array): void;
}
