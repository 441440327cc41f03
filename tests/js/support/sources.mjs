// SPDX-License-Identifier: Apache-2.0

// Parts of the package and its command that are tested but not exported.

import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from './consumer.mjs';

/** Imports a source file; `name` is relative to wasm/src. */
export async function importSource(name) {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'wasm/src', name)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const source = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${source}`);
}

/** Generates deterministic numbers from 0 to 1: mulberry32. */
export function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
