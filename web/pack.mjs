// SPDX-License-Identifier: Apache-2.0

// Makes page/dp-ftrl.html.br, the page as `dp-ftrl page` serves it: the single file, compressed,
// without its WebAssembly. The package already contains that, and the command restores the page
// byte for byte, so that its policy, which consists of hashes, holds.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
/** Stands for the WebAssembly; wasm/src/cli/commands/page.ts replaces it. */
const PLACEHOLDER = '@@wasm@@';

const html = await readFile(at('web/dist/dp-ftrl.html'), 'utf8');
const parts = html.split((await readFile(at('dist/dp-ftrl.wasm'))).toString('base64'));
if (parts.length !== 2 || html.includes(PLACEHOLDER)) {
  throw new Error(
    `web/dist/dp-ftrl.html should have the WebAssembly once, got ${parts.length - 1}`,
  );
}
await mkdir(at('page'), { recursive: true });
await writeFile(at('page/dp-ftrl.html.br'), brotliCompressSync(parts.join(PLACEHOLDER)));
