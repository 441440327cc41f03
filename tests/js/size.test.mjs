// SPDX-License-Identifier: Apache-2.0

// Budgets after Brotli, in thousands of bytes. Raised only with a reason in docs/size.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { transformSync } from 'esbuild';
import { installed, root } from './support/consumer.mjs';

function brotli(bytes) {
  return brotliCompressSync(bytes).length;
}

function check(t, name, size, budget) {
  t.diagnostic(`${name}: ${size} bytes of ${budget}`);
  assert.ok(size <= budget, `${name} is ${size} bytes after Brotli, the budget is ${budget}`);
}

test('size: the WebAssembly file', (t) => {
  check(t, 'dp-ftrl.wasm', brotli(readFileSync(join(installed, 'dist/dp-ftrl.wasm'))), 442_000);
});

test('size: the glue', (t) => {
  const glue = readFileSync(join(root, 'build/wasm/wasm/dp-ftrl.mjs'), 'utf8');
  check(t, 'glue', brotli(transformSync(glue, { minify: true }).code), 9_000);
});

test('size: the main entry, WebAssembly inlined', (t) => {
  check(t, 'index.js', brotli(readFileSync(join(installed, 'dist/index.js'))), 607_400);
});

test('size: glue and facade together stay below the glue budget and 8 kB', (t) => {
  check(t, 'external.js', brotli(readFileSync(join(installed, 'dist/external.js'))), 27_400);
});
