// SPDX-License-Identifier: Apache-2.0

/**
 * The package for counting only: counters and totals of records and of people, in memory and in
 * stores, with four mechanisms. Its WebAssembly is a separate file beside this one.
 */

import glue from 'dp-ftrl:counter-glue';
import { makeCounterApi as makeApi } from './api/counter.js';
import { createFrom, loadShared } from './api/loader.js';
import { compileBeside } from './core/source.js';
import type { DpCounter, LoadOptions } from './types/all.js';

const edition = {
  glue,
  makeApi,
  compile: (signal: AbortSignal) =>
    compileBeside(() => new URL('./counter.wasm', import.meta.url), signal),
};

/**
 * Fetches, compiles and starts the library. `options.wasm` is the address of the file if a build
 * has moved it. Calls with the same source share one instance; a failed load is not cached.
 *
 * @example
 * ```js
 * import { load } from 'dp-ftrl/counter';
 *
 * const dp = await load();
 * console.log(dp.version, dp.strategies.length);
 * ```
 */
export function load(options?: LoadOptions): Promise<DpCounter> {
  return loadShared(edition, options);
}

/**
 * Starts a separate instance with its own memory, which is freed with it: for one tenant, one job,
 * or data that must not share a heap. It is never shared or cached; to start many, compile once and
 * pass the `WebAssembly.Module` as `options.wasm`.
 *
 * @example
 * ```js
 * import { createInstance } from 'dp-ftrl/counter';
 *
 * const [one, other] = await Promise.all([createInstance(), createInstance()]);
 * one.counter({ strategy: 'tree', steps: 8, epsilon: 1, delta: 1e-6 });
 * console.log(one.liveHandles, other.liveHandles); // 1 0
 * ```
 */
export function createInstance(options?: LoadOptions): Promise<DpCounter> {
  return createFrom(edition, options);
}

export { DpError } from './core/errors.js';
export type * from './types/all.js';
