// SPDX-License-Identifier: Apache-2.0

/**
 * The package for those who only learn: learners of tables, of streams and of any gradients, by four
 * mechanisms. Its WebAssembly is a file of its own beside this one.
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
 * Fetches, compiles and starts the library. `options.wasm` says where the file is when a build has
 * moved it. Calls with the same source share one instance; a failed load is not remembered.
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
 * Starts another instance, with a memory of its own that goes when the instance does: for one
 * tenant, one job, or data that must not share a heap. Never shared and never remembered; to start
 * many, compile once and pass the `WebAssembly.Module` as `options.wasm`.
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
