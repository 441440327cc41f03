// SPDX-License-Identifier: Apache-2.0

// Computations that run in pieces.

import type { Handle, LoadOptions } from './instance.js';

/** Progress of a search. */
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
  /** Ends the call with `aborted`; a later call continues the search. */
  signal?: LoadOptions['signal'];
  onProgress?: (progress: Progress) => void;
}

/**
 * A computation in pieces: a loop over it runs one piece at a time. Leaving the loop keeps the work
 * done so far.
 */
export interface Search<T> extends Handle, Iterable<Progress> {
  /** Completes the search and returns its result. The search is then disposed of. */
  result(): T;
  /** Does the same as `result`, but lets other events run between the pieces. */
  run(call?: SearchCall): Promise<T>;
}
