// SPDX-License-Identifier: Apache-2.0

// Rows of a mechanism's noise.

import type { Certificate } from './certificate.js';
import type { Handle } from './instance.js';
import type { MechanismOptions } from './mechanism.js';
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
   * noise to each gradient: of every mechanism, over prefix sums. They are the differences of
   * successive rounded rows of totals, so that their sums are those rows, at the cost of one more
   * row of memory. `independent`, `banded-inverse-square-root` and `lambda-cgd` round each
   * increment by itself: sums are then off by at most a unit a step, no state is kept from step to
   * step, and seeking costs nothing. Default false.
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
   * @param out where to write instead of a new array: numRows * dimension numbers. Memory that was
   * used before is quicker than a new array.
   */
  rounded(options: { numRows: number; scale: number }, out?: Float64Array): Float64Array;
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

/** Options of noise for sums of clipped gradients. */
export interface GradientNoiseOptions extends MechanismOptions {
  increments: true;
  /** Entries of a gradient. Default 1. */
  dimension?: number;
  /**
   * Spacing of the results, a power of two. Default: fine enough that putting a sum on it adds at
   * most 1/1024 of `clipNorm` to what the noise has to hide.
   */
  grid?: number;
  /** 32 secret bytes, for one stream only. Default: from the platform, for this stream alone. */
  key?: Uint8Array;
  /** As in `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/** Noise for sums of clipped gradients, which the caller clips and adds up. */
export interface GradientNoise extends Noise {
  /**
   * Its `clipNorm` is the promised one and what putting sums on the grid may add, below
   * sqrt(dimension) * grid. `clipping` says that nothing is clipped here.
   */
  readonly certificate: Certificate;
  readonly grid: number;
  /** A fixed seed was given: results are NOT private. */
  readonly insecure: boolean;
  /**
   * Returns a sum with the noise of a step, on the grid; sums of the results are running totals
   * with the noise of `prefixSum`, up to a unit a step where increments are rounded by themselves
   * (`NoiseOptions.increments`). Steps may be left out. A step before `step` is refused with
   * 'already_released', because two sums with the same noise show their difference. `seek` and
   * `restore` go back all the same: only to steps of which nothing was shown.
   *
   * Private as the certificate says if sums of neighbouring data, as they are given here, differ at
   * each step of a user by at most `clipNorm` (for 'replace-one' twice that). Add up in doubles:
   * what rounding makes of a sum counts.
   * @param sumOfClippedGradients `dimension` numbers, each up to 2^52 grids
   * @param out where to write instead of a new array; may be the sum itself
   */
  addNoiseTo(
    sumOfClippedGradients: ArrayLike<number>,
    step: number,
    out?: Float64Array,
  ): Float64Array;
}
