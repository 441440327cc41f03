// SPDX-License-Identifier: Apache-2.0

/** The package with its WebAssembly in a file beside it, streamed where the host can. */

import { makeLoad } from './loader.js';
import { compileSource } from './source.js';
import type { DpFtrl, LoadOptions } from './types.js';

const loadOnce = /* @__PURE__ */ makeLoad((signal) =>
  compileSource(new URL('./dp-ftrl.wasm', import.meta.url), signal),
);

/**
 * Fetches, compiles and starts the library. `options.wasm` says where the file is when a build has
 * moved it. Calls with the same source share one instance; a failed load is not remembered.
 *
 * @example
 * ```js
 * import { load } from 'dp-ftrl/external';
 *
 * const dp = await load();
 * console.log(dp.version, dp.mechanisms().length);
 * ```
 */
export function load(options?: LoadOptions): Promise<DpFtrl> {
  return loadOnce(options);
}

export { DpError, type ErrorCode } from './errors.js';
export type * from './types.js';
