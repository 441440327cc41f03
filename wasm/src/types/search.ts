// SPDX-License-Identifier: Apache-2.0

// Computations that run in pieces.

import type { Handle, LoadOptions } from './instance.js';

/** The work that a search has done. */
export interface Progress {
  readonly iterations: number;
  /**
   * From 0 to 1: measured by the certified gap for `optimal`, estimated for other mechanisms, and
   * the fraction of rows for comparisons.
   */
  readonly fraction: number;
}

/** Options of a search that runs between other events. */
export interface SearchCall {
  /** Ends the call with `aborted`; a later call goes on. */
  signal?: LoadOptions['signal'];
  onProgress?: (progress: Progress) => void;
}

/**
 * Work that runs in pieces: each step of an iteration does one. Leaving the loop keeps what was done.
 */
export interface Search<T> extends Handle, Iterable<Progress> {
  /** Does what is left, and returns the result. The search is then disposed of. */
  result(): T;
  /** As `result`, but other events run between the pieces. */
  run(call?: SearchCall): Promise<T>;
}
