// SPDX-License-Identifier: Apache-2.0

// Objects whose methods return promises: in a store, or in a worker.

import type { Handle, LoadOptions } from './instance.js';
import type { Search } from './search.js';

/** How far a call has come. */
export interface CallProgress {
  /** From 0 to 1. */
  readonly fraction: number;
  /** Only searches have it. */
  readonly iterations?: number;
}

/** The last argument of asynchronous calls. */
export interface Call {
  /** Takes out a call that waits for its turn, and stops one that runs in pieces between two of them. */
  signal?: LoadOptions['signal'];
  onProgress?: (progress: CallProgress) => void;
}

/** The result of an asynchronous call: handles have promises, too, and searches end first. */
type Later<R> = R extends Search<infer Result> ? Later<Result> : R extends Handle ? Async<R> : R;

/** A function that returns a promise. */
type AsyncFunction<A extends readonly unknown[], R> = (
  ...args: [...args: A, call?: Call]
) => Promise<Later<R>>;

/**
 * An object whose methods return promises. Calls take their turn, in the order in which they are
 * made; properties are those after the last call that has settled.
 */
export type Async<T> = {
  readonly [Each in keyof T as Each extends typeof Symbol.dispose
    ? typeof Symbol.asyncDispose
    : Each]: T[Each] extends {
    // As many as the functions of the library have signatures; one that has fewer is the same each time.
    (...args: infer A): infer P;
    (...args: infer B): infer Q;
    (...args: infer C): infer R;
  }
    ? AsyncFunction<A, P> & AsyncFunction<B, Q> & AsyncFunction<C, R>
    : T[Each];
};
