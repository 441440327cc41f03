// SPDX-License-Identifier: Apache-2.0

/** The package with its WebAssembly inside: needs no network, no file and no bundler plugin. */

import glue from 'dp-ftrl:glue';
import base64 from 'dp-ftrl:wasm-base64';
import { makeApi } from './api/api.js';
import { createFrom, loadShared } from './api/loader.js';
import { compileBytes } from './core/source.js';
import type { DpFtrl, LoadOptions } from './types/all.js';

function decode(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const edition = {
  glue,
  makeApi,
  compile: () => compileBytes(decode(base64), 'the inlined module'),
};

/**
 * Compiles and starts the library. Calls with the same source share one instance; a failed load is
 * not cached.
 *
 * @example
 * ```js
 * import { load } from 'dp-ftrl';
 *
 * const dp = await load();
 * console.log(dp.version, dp.strategies.length);
 * ```
 */
export function load(options?: LoadOptions): Promise<DpFtrl> {
  return loadShared(edition, options);
}

/**
 * Starts a separate instance with its own memory, which is freed with it: for one tenant, one job,
 * or data that must not share a heap. It is never shared or cached; to start many, compile once and
 * pass the `WebAssembly.Module` as `options.wasm`.
 *
 * @example
 * ```js
 * import { createInstance } from 'dp-ftrl';
 *
 * const [one, other] = await Promise.all([createInstance(), createInstance()]);
 * one.counter({ strategy: 'tree', steps: 8, epsilon: 1, delta: 1e-6 });
 * console.log(one.liveHandles, other.liveHandles); // 1 0
 * ```
 */
export function createInstance(options?: LoadOptions): Promise<DpFtrl> {
  return createFrom(edition, options);
}

export { DpError } from './core/errors.js';
export type * from './types/all.js';
