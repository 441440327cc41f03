// SPDX-License-Identifier: Apache-2.0

// Size budgets after Brotli, in thousands of bytes. Raised only with a reason in docs/size.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { build, transformSync } from 'esbuild';
import { consumer, installed, root } from './support/consumer.mjs';

function brotli(bytes) {
  return brotliCompressSync(bytes).length;
}

/** Cache of compressed sizes of files of dist/, since the largest take seconds. */
const sizes = new Map();

function sizeOf(name) {
  if (!sizes.has(name)) sizes.set(name, brotli(readFileSync(join(installed, 'dist', name))));
  return sizes.get(name);
}

function check(t, name, size, budget) {
  t.diagnostic(`${name}: ${size} bytes of ${budget}`);
  assert.ok(size <= budget, `${name} is ${size} bytes after Brotli, the budget is ${budget}`);
}

test('size: the WebAssembly file is within its budget', (t) => {
  check(t, 'dp-ftrl.wasm', sizeOf('dp-ftrl.wasm'), 459_400);
});

test('size: the module and the code of the counter are within their budgets', (t) => {
  check(t, 'counter.wasm', sizeOf('counter.wasm'), 126_500);
  check(t, 'counter.js', sizeOf('counter.js'), 17_600);
});

test('size: the module and the code of the small learner are within their budgets', (t) => {
  check(t, 'learner.wasm', sizeOf('learner.wasm'), 150_000);
  check(t, 'learner.js', sizeOf('learner.js'), 21_800);
});

/** Size of a small entry point with its module inlined as text, as in a single-file program. */
function inlined(name) {
  const text = readFileSync(join(installed, `dist/${name}.wasm`)).toString('base64');
  return brotli(`${readFileSync(join(installed, `dist/${name}.js`), 'utf8')}\n${text}`);
}

test('size: counter and learner with WebAssembly inlined are within their budgets', (t) => {
  check(t, 'counter', inlined('counter'), 186_300);
  check(t, 'learner', inlined('learner'), 220_400);
});

test('size: the optimizer for TensorFlow.js is within its budget', (t) => {
  check(t, 'tfjs.js', sizeOf('tfjs.js'), 3_400);
});

test('size: the glue is within its budget', (t) => {
  const glue = readFileSync(join(root, 'build/wasm/wasm/dp-ftrl.mjs'), 'utf8');
  check(t, 'glue', brotli(transformSync(glue, { minify: true }).code), 9_000);
});

test('size: the main entry with WebAssembly inlined is within its budget', (t) => {
  check(t, 'index.js', sizeOf('index.js'), 632_900);
});

test('size: the external entry, glue and facade together, is within its budget', (t) => {
  check(t, 'external.js', sizeOf('external.js'), 36_600);
});

/** A program with one import, as bundled. */
async function bundled(specifier, name) {
  const program = `import { ${name} } from '${specifier}'; console.log(${name});`;
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: consumer },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  return outputFiles[0].contents;
}

test('size: an error or a store brings no WebAssembly into a bundle', async () => {
  for (const [specifier, name, limit = 4000] of [
    ['dp-ftrl', 'DpError'],
    ['dp-ftrl/external', 'DpError'],
    ['dp-ftrl/counter', 'DpError'],
    ['dp-ftrl/learner', 'DpError'],
    ['dp-ftrl/indexed-db', 'IndexedDbStore', 5000],
    ['dp-ftrl/postgres-store', 'PostgresStore', 9000],
    ['dp-ftrl/tfjs', 'privateOptimizer', 10_000],
  ]) {
    const code = await bundled(specifier, name);
    assert.ok(code.length < limit, `${name} of ${specifier}: ${code.length} bytes`);
    assert.doesNotMatch(Buffer.from(code).toString(), /WebAssembly|AGFzbQ/);
  }
  assert.match(Buffer.from(await bundled('dp-ftrl', 'load')).toString(), /AGFzbQ/);
});

test('size: the table of the README agrees with the measured sizes', async () => {
  const table = [
    ['`dp-ftrl`: everything', sizeOf('index.js')],
    ['`dp-ftrl/external`', sizeOf('external.js'), sizeOf('dp-ftrl.wasm')],
    ['`dp-ftrl/counter`', sizeOf('counter.js'), sizeOf('counter.wasm')],
    ['`dp-ftrl/learner`', sizeOf('learner.js'), sizeOf('learner.wasm')],
    ['`dp-ftrl/worker-client`', sizeOf('worker-client.js'), sizeOf('worker.js')],
    ['`dp-ftrl/indexed-db`', sizeOf('indexed-db.js'), sizeOf('tfjs.js')],
    ['`DpError` alone', brotli(await bundled('dp-ftrl', 'DpError'))],
  ];
  const lines = readFileSync(join(root, 'README.md'), 'utf8').split('\n');
  for (const [start, ...wanted] of table) {
    const line = lines.find((each) => each.startsWith(`| ${start}`));
    const shown = line.split('|').at(-2).split('+').map(Number);
    assert.equal(shown.length, wanted.length, line);
    shown.forEach((kilobytes, i) => {
      assert.ok(Math.abs(1000 * kilobytes - wanted[i]) < 0.05 * wanted[i], `${line}: ${wanted[i]}`);
    });
  }
});
