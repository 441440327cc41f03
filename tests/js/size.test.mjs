// SPDX-License-Identifier: Apache-2.0

// Sizes of the files that browsers download, after Brotli; package.json has the limits, which
// size-limit checks.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { consumer, installed, root } from './support/consumer.mjs';

function brotli(bytes) {
  return brotliCompressSync(bytes).length;
}

/** Cache of compressed sizes of files of dist/: compressing the largest takes seconds. */
const sizes = new Map();

function sizeOf(name) {
  if (!sizes.has(name)) sizes.set(name, brotli(readFileSync(join(installed, 'dist', name))));
  return sizes.get(name);
}

test('size: every file that travels is within its limit in package.json', () => {
  const [program, config] = ['node_modules/size-limit/bin.js', 'package.json'].map((name) =>
    join(root, name),
  );
  const limits = JSON.parse(readFileSync(config, 'utf8'))['size-limit'];
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, '--json'], {
    cwd: root,
    encoding: 'utf8',
  });
  assert.equal(JSON.parse(stdout || '[]').length, limits.length, stderr);
  assert.equal(status, 0, stdout);
});

/** Bundles a program with one import. */
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
  for (const [specifier, name, limit = 4200] of [
    ['dp-ftrl', 'DpError'],
    ['dp-ftrl/external', 'DpError'],
    ['dp-ftrl/counter', 'DpError'],
    ['dp-ftrl/indexed-db', 'IndexedDbStore', 7500],
    ['dp-ftrl/postgres-store', 'PostgresStore', 9500],
    ['dp-ftrl/tfjs', 'privateOptimizer', 10_000],
  ]) {
    const code = await bundled(specifier, name);
    assert.ok(code.length < limit, `${name} of ${specifier}: ${code.length} bytes`);
    assert.doesNotMatch(Buffer.from(code).toString(), /WebAssembly|AGFzbQ/);
  }
  assert.match(Buffer.from(await bundled('dp-ftrl', 'load')).toString(), /AGFzbQ/);
});

test('size: the table of docs/size.md, and the README, agree with the measured sizes', async () => {
  const table = [
    ['`dp-ftrl` |', sizeOf('index.js')],
    ['`dp-ftrl/external`', sizeOf('external.js'), sizeOf('dp-ftrl.wasm')],
    ['`dp-ftrl/counter`', sizeOf('counter.js'), sizeOf('counter.wasm')],
    ['`dp-ftrl/worker-client`', sizeOf('worker-client.js'), sizeOf('worker.js')],
    ['`dp-ftrl/indexed-db`', sizeOf('indexed-db.js'), sizeOf('tfjs.js')],
    ['`DpError` alone', brotli(await bundled('dp-ftrl', 'DpError'))],
  ];
  const isNear = (kilobytes, bytes) => Math.abs(1000 * kilobytes - bytes) < 0.05 * bytes;
  const lines = readFileSync(join(root, 'docs/size.md'), 'utf8').split('\n');
  for (const [start, ...wanted] of table) {
    const line = lines.find((each) => each.startsWith(`| ${start}`));
    const shown = line.split('|')[2].split('+').map(Number);
    assert.equal(shown.length, wanted.length, line);
    shown.forEach((kilobytes, i) => {
      assert.ok(isNear(kilobytes, wanted[i]), `${line}: ${wanted[i]}`);
    });
  }
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [, whole, counter] = /(\d+)\s+KB\s+after\s+Brotli,\s+or\s+(\d+)\s+for/.exec(readme);
  assert.ok(isNear(whole, table[0][1]), whole);
  assert.ok(isNear(counter, table[2][1] + table[2][2]), counter);
});
