// SPDX-License-Identifier: Apache-2.0

// docs/package.md: what it promises that no other test checks, and that the tests it names exist.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importEntry, installed, root } from './support/consumer.mjs';
import { loadIntercepted } from './support/intercept.mjs';

const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
const read = (path) => readFileSync(join(root, path), 'utf8');

/** The text of the test files a word of the table stands for. */
function textOf(word) {
  if (word !== 'page') {
    return read(`tests/${word.includes('/') ? word : `js/${word}`}.test.mjs`);
  }
  const names = readdirSync(join(root, 'tests/browser'));
  return names.map((name) => read(`tests/browser/${name}`)).join('\n');
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
        const starts = ["'", '`', '"'].some((quote) => text.includes(`${quote}${title}`));
        assert.ok(starts, `${word} has no test ${title}`);
      }
    }
  }
});

test('the policy of the README is the one the consumers are served under', () => {
  const [, policy] = /^ {4}Content-Security-Policy: (.*)$/m.exec(read('README.md'));
  const [, served] = /strictPolicy =\s*"([^"]*)/.exec(read('tests/consumers/support.mjs'));
  assert.ok(served.startsWith(policy), `${served} is not ${policy}`);
  assert.ok(!/unsafe-inline|'unsafe-eval'/.test(served));
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
