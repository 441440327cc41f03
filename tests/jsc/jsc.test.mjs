// SPDX-License-Identifier: Apache-2.0

// Runs tests of tests/js that need nothing of Node, and the programs of README and guides that the
// documentation's site runs, in JavaScriptCore, the engine of Safari, in the shell that Debian
// packages. Without that shell they are skipped, or fail if CI is set.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { installed, run } from '../js/support/consumer.mjs';
import { guides, isRandom, programsOfSite, showsOutput } from '../js/support/pages.mjs';

const FILES = [
  'api',
  'counter',
  'encoder',
  'graphs-matrices',
  'increments',
  'noise',
  'simulation',
  'sums',
  'totals',
  'vectors',
];

const shell = [process.env.DPFTRL_JSC, '/usr/bin/jsc'].find((path) => path && existsSync(path));
const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-jsc-'));
const entropy = join(scratch, 'entropy');
writeFileSync(entropy, randomBytes(2 ** 20));
after(() => rmSync(scratch, { recursive: true }));

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Modules that the shell lacks -> what stands for them. */
const standIns = {
  'node:test': here('runner.mjs'),
  'node:assert/strict': here('assert.mjs'),
  './support/consumer.mjs': here('package.mjs'),
};

const plugin = {
  name: 'stand-ins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:|\.\/support\/consumer)/ }, ({ path }) =>
      standIns[path] ? { path: standIns[path] } : { path, namespace: 'absent' },
    );
    onResolve({ filter: /^dp-ftrl/ }, ({ path }) => ({ path, namespace: 'package' }));
    onLoad({ filter: /./, namespace: 'package' }, ({ path }) => ({
      contents: `import { importEntry } from './package.mjs';
        export const { load } = await importEntry('${path}');`,
      resolveDir: here('.'),
    }));
    // The functions that use these modules of Node are not called.
    onLoad({ filter: /./, namespace: 'absent' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** Makes one module of a program and all that it imports except the package. */
async function bundle(name, program) {
  const outfile = join(scratch, `${name}.mjs`);
  const contents = `import './platform.mjs';\n${program}`;
  await build({
    stdin: { contents, resolveDir: here('.') },
    outfile,
    bundle: true,
    ignoreAnnotations: true, // package.json says that only the worker has side effects
    format: 'esm',
    define: {
      DIST: JSON.stringify(join(installed, 'dist')),
      ENTROPY: JSON.stringify(entropy),
    },
    plugins: [plugin],
    logLevel: 'error',
  });
  return outfile;
}

let numAgain = 0;

/**
 * Runs a program, and once more if it fails. One of several hundred processes of this engine gets a
 * number wrong while it compiles a function anew, and right in the calls before and after
 * (docs/limits.md). A fault of the package fails twice, or in more than one program.
 */
async function runTwice(file, isRight, t) {
  for (const isLast of [false, true]) {
    const result = await run(shell, ['-m', file]);
    if (isLast || isRight(result)) return result;
    const said = `${result.stdout}${result.stderr}`;
    assert.ok(++numAgain <= 1, `a second program failed: ${said}`);
    t.diagnostic(`once more, after ${said}`);
  }
}

const skip = !shell && !process.env.CI && 'there is no jsc';

for (const name of FILES) {
  test(`JavaScriptCore: ${name}.test.mjs`, { skip }, async (t) => {
    assert.ok(shell, 'there is no jsc');
    const program = `import '../js/${name}.test.mjs';
      import { runTests } from './runner.mjs';
      await runTests();`;
    const passed = /^passed [1-9]\d* failed 0\n$/;
    const { code, stdout, stderr } = await runTwice(
      await bundle(name, program),
      (result) => passed.test(result.stdout),
      t,
    );
    const said = `${stdout}${stderr}`;
    assert.equal(code, 0, said);
    assert.match(stdout, passed, said);
    t.diagnostic(`${name}: ${stdout.trim()}`);
  });
}

for (const page of guides) {
  const all = programsOfSite(page);
  if (all.length === 0) continue;
  test(`JavaScriptCore: programs of ${page}`, { skip }, async (t) => {
    for (const [i, { code: program, output }] of all.entries()) {
      const file = await bundle(`program-${i}`, program);
      const shows = ({ stdout }) => showsOutput(output ?? '...', stdout, isRandom('js', program));
      const result = await runTwice(file, shows, t);
      const said = `${program}\nprinted\n${result.stdout}${result.stderr}`;
      assert.equal(result.code, 0, said);
      assert.ok(shows(result), said);
    }
  });
}
