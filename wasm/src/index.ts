// SPDX-License-Identifier: Apache-2.0

/** The package with its WebAssembly inside: needs no network, no file and no bundler plugin. */

import base64 from 'dp-ftrl:wasm-base64';
import { makeLoad } from './loader.js';
import { compileBytes } from './source.js';
import type { DpFtrl, LoadOptions } from './types.js';

function decode(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const loadOnce = /* @__PURE__ */ makeLoad(() => compileBytes(decode(base64), 'the inlined module'));

/**
 * Compiles and starts the library. Calls with the same source share one instance; a failed load is
 * not remembered.
 *
 * @example
 * ```js
 * import { load } from 'dp-ftrl';
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
