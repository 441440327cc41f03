// SPDX-License-Identifier: Apache-2.0

// The documentation's site, whose API reference is generated from the shipped declarations, and the
// examples in these declarations.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  freshConsumer,
  importEntry,
  installed,
  node,
  nodeThread,
  root,
} from './support/consumer.mjs';
import { onlyInAll, some } from './support/extent.mjs';

const dist = join(installed, 'dist');
const declarations = readdirSync(dist).filter((name) => name.endsWith('.d.ts'));

/** Programs of the @example blocks in a declaration file. */
function examplesIn(name) {
  const text = readFileSync(join(dist, name), 'utf8');
  return [...text.matchAll(/@example\n *\* ```js\n(.*?) *\* ```/gs)].map(([, code]) =>
    code.replaceAll(/^ *\* ?/gm, ''),
  );
}

test(
  'site: it builds without a warning and has pages for the API, guides and mathematics',
  onlyInAll,
  async () => {
    const out = mkdtempSync(join(tmpdir(), 'dp-ftrl-api-'));
    try {
      const typedoc = join(root, 'node_modules/typedoc/bin/typedoc');
      const options = join(root, 'scripts/site/typedoc.json');
      const { code, stdout, stderr } = await node([typedoc, '--options', options, '--out', out]);
      assert.equal(code, 0, `${stdout}${stderr}`);
      const pages = [
        'functions/index.load.html',
        'functions/worker-client.connect.html',
        'interfaces/index.DpFtrl.html',
        'interfaces/index.Stream.html',
        'classes/index.DpError.html',
        'index.html',
        'documentation.html',
        'assets/blocks/page.js',
        'guide/getting-started.html',
        'math/grid.html',
        'decisions.html',
      ];
      for (const page of pages) assert.ok(existsSync(join(out, page)), page);
      const text = readFileSync(join(out, 'interfaces/index.DpFtrl.html'), 'utf8');
      assert.match(text, /Returns the privacy guarantee of a mechanism/);
      const guide = readFileSync(join(out, 'guide/counters.html'), 'utf8');
      assert.match(guide, /href="[^"]*choosing-a-mechanism\.html#?"/);
    } finally {
      rmSync(out, { recursive: true, force: true });
    }
  },
);

test('api documentation: every example runs', async () => {
  const programs = declarations.flatMap((name) =>
    examplesIn(name).map((program, i) => [`${name.slice(0, -5)}-${i}`, program]),
  );
  assert.ok(programs.length >= 10);
  const folder = freshConsumer();
  try {
    for (const [name, program] of some(programs, 3)) {
      const file = join(folder, `${name}.mjs`);
      writeFileSync(file, program);
      const { code, stdout, stderr } = await nodeThread([file], { cwd: folder });
      assert.equal(code, 0, `${name}: ${stderr}`);
      assert.equal(stderr, '', name);
      assert.notEqual(stdout, '', name);
      for (const left of readdirSync(folder).filter((one) => one !== 'node_modules')) {
        rmSync(join(folder, left), { recursive: true });
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('api documentation: every function of the library has an example', async () => {
  const dp = await (await importEntry('dp-ftrl')).load();
  const all = declarations.flatMap(examplesIn).join('\n');
  for (const [name, value] of Object.entries(dp)) {
    if (typeof value === 'function') assert.ok(all.includes(`dp.${name}(`), name);
  }
});
