// SPDX-License-Identifier: Apache-2.0

// Rows of a mechanism's noise.

import type { Certificate, CertificateOptions } from './certificate.js';
import type { Handle } from './instance.js';
import type { ErrorOptions } from './unit-error.js';

export interface NoiseOptions extends ErrorOptions {
  /** Number of entries of a row. Default 1. */
  dimension?: number;
  /**
   * Index of the first coordinate of these rows within the full rows: shards that share a key
   * together make up the full rows. Default 0.
   */
  firstCoordinate?: number;
  /**
   * Returns rows of increments, which each step adds to the noise of its prefix sum, for callers
   * who add noise to each gradient. Available for every mechanism over prefix sums. Increments are
   * the differences of successive rounded rows of totals, so they sum to those rows, at the cost of
   * one more row of memory. `independent`, `banded-inverse-square-root` and `lambda-cgd` round each
   * increment separately: sums are then off by at most one unit per step, no state is kept between
   * steps, and seeking is free. Default false.
   */
  increments?: boolean;
  /**
   * 32 secret bytes, for one stream only (and all its shards). By default drawn from the platform
   * for this stream.
   */
  key?: Uint8Array;
  /** Fixed seed, for tests and demonstrations only: NOT private. */
  insecureSeed?: number | bigint;
}

/** Rows of a mechanism's noise, one per step, for callers who add it to integers themselves. */
export interface Noise extends Handle {
  readonly dimension: number;
  readonly numSteps: number;
  /** Step of the next row. */
  readonly step: number;
  /**
   * Makes the row of `step`, 0 .. steps, the next one. Its numbers do not depend on the order in
   * which rows are read.
   */
  seek(step: number): void;
  /**
   * Returns the next `numRows` rows, concatenated: exactly floor(scale * entry + 1/2) of the ideal
   * entries of unit noise. `scale` is the noise std in units of the integers it is added to, up to
   * 2^40.
   * @param out array to write to instead of a new one: numRows * dimension numbers. Reusing an
   * array is faster.
   */
  rounded(options: { numRows: number; scale: number }, out?: Float64Array): Float64Array;
  /**
   * Returns bytes from which `restore` continues, here or natively. They do not contain the key,
   * but are as secret as the key.
   */
  checkpoint(): Uint8Array;
  /**
   * Continues from a checkpoint. Use only the newest one: any rows used since then would be
   * repeated. A `store` prevents that for streams.
   */
  restore(bytes: Uint8Array): void;
}

/** Options of noise for sums of clipped gradients. */
export interface GradientNoiseOptions extends CertificateOptions {
  increments: true;
  /** Number of entries of a gradient. Default 1. */
  dimension?: number;
  /**
   * Spacing of the results, a power of two. Default: fine enough that putting a sum on the grid
   * adds at most 1/1024 of `clip` to the distance that the noise has to hide.
   */
  grid?: number;
  /** 32 secret bytes, for one stream only. By default drawn from the platform for this stream. */
  key?: Uint8Array;
  /** Fixed seed, for tests and demonstrations only: NOT private. */
  insecureSeed?: number | bigint;
}

/** Noise for sums of clipped gradients, which the caller clips and adds up. */
export interface GradientNoise extends Noise {
  /**
   * Certificate, whose `clip` is the norm promised by the caller plus what putting sums on the
   * grid may add, below sqrt(dimension) * grid. Its `clipping` states that nothing is clipped here.
   */
  readonly certificate: Certificate;
  readonly grid: number;
  /** True if a fixed seed was given: results are then NOT private. */
  readonly insecure: boolean;
  /**
   * Returns a sum plus the noise of a step, on the grid. Prefix sums of the results are running
   * totals with the noise of `totals`, up to one unit per step if increments are rounded
   * separately (`NoiseOptions.increments`). Steps may be skipped. A step before the current `step`
   * is refused with 'already_released', because two sums with the same noise reveal their
   * difference. `seek` and `restore` do go back: use them only for steps from which nothing has
   * been shown.
   *
   * The results are private as stated in the certificate if the given sums of neighbouring data
   * differ by at most `clip` at each step of a user (for 'replace-one', by at most twice that).
   * Compute sums in doubles, because their rounding errors count towards this difference.
   * @param sumOfClippedGradients `dimension` numbers, each up to 2^52 grids
   * @param out array to write to instead of a new one; may be the sum itself
   */
  addNoiseTo(
    sumOfClippedGradients: ArrayLike<number>,
    step: number,
    out?: Float64Array,
  ): Float64Array;
}
