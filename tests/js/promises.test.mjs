// SPDX-License-Identifier: Apache-2.0

// docs/package.md: its promises that no other test checks, and the existence of the tests it names.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importEntry, installed, root } from './support/consumer.mjs';
import { loadIntercepted } from './support/intercept.mjs';

const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
const read = (path) => readFileSync(join(root, path), 'utf8');

/** Text of the test files that a word of the table refers to. */
function textOf(word) {
  if (word !== 'page') {
    return read(`tests/${word.includes('/') ? word : `js/${word}`}.test.mjs`);
  }
  const names = readdirSync(join(root, 'tests/browser'), { recursive: true });
  const files = names.filter((name) => name.endsWith('.mjs'));
  return files.map((name) => read(`tests/browser/${name}`)).join('\n');
}

/**
 * True if a test's name begins with these words; an import or a message with them does not count.
 */
function isTitle(text, title) {
  const words = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  // Names are passed to a function that makes tests, or come first in a row of a table of tests.
  const makers = String.raw`\b(?:test|served|inBrowsers)\(\s*|^ +\[`;
  return new RegExp(`(?:${makers})['"\`]${words}`, 'm').test(text);
}

test('every test that docs/package.md names exists, and every row names one', () => {
  const rows = read('docs/package.md')
    .split('\n')
    .filter((line) => /^\| (?!trouble)/.test(line));
  assert.equal(rows.length, 24);
  for (const row of rows) {
    const groups = row.replace(/ \|$/, '').split(' | ').at(-1).split('; ');
    for (const group of groups) {
      const [, word, titles] = /^([\w/-]+): (.*)$/.exec(group);
      const text = textOf(word);
      const named = [...titles.matchAll(/`([^`]+)`/g)].map(([, title]) => title);
      assert.ok(named.length > 0, row);
      for (const title of named) {
        assert.ok(isTitle(text, title), `${word} has no test ${title}`);
      }
    }
  }
  assert.ok(!isTitle("import { build } from 'esbuild';\nfail('esbuild');", 'esbuild'));
});

test('the policy of package.md is the one the consumers are served under', () => {
  const [, policy] = /^ {4}Content-Security-Policy: (.*)$/m.exec(read('docs/package.md'));
  const [, served] = /strictPolicy =\s*"([^"]*)/.exec(read('tests/consumers/support.mjs'));
  assert.ok(served.startsWith(policy), `${served} is not ${policy}`);
  assert.ok(!/unsafe-inline|'unsafe-eval'/.test(served));
});

test('the policy of deploy.md is the one the page is tested under', () => {
  const [, policy] = /^ +Content-Security-Policy: (.*)$/m.exec(read('docs/deploy.md'));
  const [, served] = /policy =((?:\s*"[^"]*"(?: \+|;))+)/.exec(read('tests/browser/support.mjs'));
  const parts = Array.from(served.matchAll(/"([^"]*)"/g), ([, part]) => part);
  assert.equal(policy, parts.join(''));
});

test('the documents for a release exist and agree on the version', () => {
  const { version } = manifest;
  assert.match(read('CITATION.cff'), new RegExp(`^version: ${version}$`, 'm'));
  assert.match(read('CMakeLists.txt'), new RegExp(`^project\\(dpftrl VERSION ${version} `, 'm'));
  for (const title of ['Unreleased', version])
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${title}$`, 'm'));
  // CMake accepts the version that is asked for, and later ones of the same minor version.
  const asked = version.replace(/\.\d+$/, '');
  for (const place of [
    'docs/guide/cpp.md',
    'tests/consumers/cmake/CMakeLists.txt',
    'tests/consumers/conan/CMakeLists.txt',
  ]) {
    assert.match(
      read(place),
      new RegExp(`^find_package\\(dpftrl ${asked} REQUIRED\\)$`, 'm'),
      place,
    );
  }
  assert.match(read('SECURITY.md'), /^## How to report$/m);
  const steps = read('docs/release.md').match(/^\d+\. \*\*/gm);
  assert.deepEqual(
    steps,
    steps.map((_, i) => `${i + 1}. **`),
  );
  // The list of packed files agrees with the manifest.
  const [, packed] = /^8\. (.*?)^9\./ms.exec(read('docs/release.md'));
  for (const name of manifest.files) {
    assert.ok(packed.includes(name.replace(/\/?\*.*$/, '').split('/')[0]), name);
  }
});

test('exports have no conditions but types', () => {
  for (const target of Object.values(manifest.exports)) {
    if (typeof target === 'string') continue;
    assert.deepEqual(Object.keys(target), ['types', 'default']);
  }
});

test('the memory is not shared, so no header has to allow it', async () => {
  const { load } = await importEntry('dp-ftrl');
  const source = new Uint8Array(readFileSync(join(installed, 'dist/dp-ftrl.wasm')));
  const { memory } = await loadIntercepted(load, source);
  assert.ok(memory.buffer instanceof ArrayBuffer);
});

test('only load and createInstance can be called before the library is there', async () => {
  for (const name of ['dp-ftrl', 'dp-ftrl/external']) {
    const names = Object.keys(await importEntry(name)).sort();
    assert.deepEqual(names, ['DpError', 'createInstance', 'load']);
  }
});
