// SPDX-License-Identifier: Apache-2.0

// Types of objects whose methods return promises: streams and budgets in a store, and all objects
// in a worker.

import type { Handle, LoadOptions } from './instance.js';
import type { Search } from './search.js';

/** Progress of a call. */
export interface CallProgress {
  /** From 0 to 1. */
  readonly fraction: number;
  /** Present for searches only. */
  readonly iterations?: number;
}

/** The last argument of asynchronous calls. */
export interface Call {
  /** Cancels a queued call, and stops a running call between two pieces of its work. */
  signal?: LoadOptions['signal'];
  onProgress?: (progress: CallProgress) => void;
}

/**
 * The result of an asynchronous call: handles become asynchronous too, and searches run to their
 * end.
 */
type Later<R> = R extends Search<infer Result> ? Later<Result> : R extends Handle ? Async<R> : R;

/** A function that returns a promise. */
type AsyncFunction<A extends readonly unknown[], R> = (
  ...args: [...args: A, call?: Call]
) => Promise<Later<R>>;

/**
 * An object whose methods return promises. Calls run in the order in which they are made;
 * properties have their values after the last settled call.
 */
export type Async<T> = {
  readonly [Each in keyof T as Each extends typeof Symbol.dispose
    ? typeof Symbol.asyncDispose
    : Each]: T[Each] extends {
    // As many overloads as any function of the library has; for functions with fewer, TypeScript
    // repeats the first.
    (...args: infer A): infer P;
    (...args: infer B): infer Q;
    (...args: infer C): infer R;
  }
    ? AsyncFunction<A, P> & AsyncFunction<B, Q> & AsyncFunction<C, R>
    : T[Each];
};
