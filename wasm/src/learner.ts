// SPDX-License-Identifier: Apache-2.0

/**
 * The package for learning only: learners of tables, of streams and of any gradients, by five
 * mechanisms. Its WebAssembly is a separate file beside this one.
 */

import glue from 'dp-ftrl:learner-glue';
import { makeLearnerApi as makeApi } from './api/learner.js';
import { createFrom, loadShared } from './api/loader.js';
import { compileBeside } from './core/source.js';
import type { DpLearner, LoadOptions } from './types/all.js';

const edition = {
  glue,
  makeApi,
  compile: (signal: AbortSignal) =>
    compileBeside(() => new URL('./learner.wasm', import.meta.url), signal),
};

/**
 * Fetches, compiles and starts the library. `options.wasm` is the address of the file if a build
 * has moved it. Calls with the same source share one instance; a failed load is not cached.
 *
 * @example
 * ```js
 * import { load } from 'dp-ftrl/learner';
 *
 * const dp = await load();
 * console.log(dp.version, dp.mechanisms().length);
 * ```
 */
export function load(options?: LoadOptions): Promise<DpLearner> {
  return loadShared(edition, options);
}

/**
 * Starts a separate instance with its own memory, which is freed with it: for one tenant, one job,
 * or data that must not share a heap. It is never shared or cached; to start many, compile once and
 * pass the `WebAssembly.Module` as `options.wasm`.
 *
 * @example
 * ```js
 * import { createInstance } from 'dp-ftrl/learner';
 *
 * const [one, other] = await Promise.all([createInstance(), createInstance()]);
 * one.learner({ numSteps: 8, dimension: 2, epsilon: 1, delta: 1e-6, clipNorm: 1 });
 * console.log(one.liveHandles, other.liveHandles); // 1 0
 * ```
 */
export function createInstance(options?: LoadOptions): Promise<DpLearner> {
  return createFrom(edition, options);
}

export { DpError } from './core/errors.js';
export type * from './types/all.js';
