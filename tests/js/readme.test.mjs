// SPDX-License-Identifier: Apache-2.0

// Runs the programs and commands of README and guides unchanged: a reader's first minutes must
// work, and print what the page shows.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { draw, picture } from '../../scripts/draw-readme.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { node, nodeThread, run } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { guides, isRandom, programFolder, programs, read, showsOutput } from './support/pages.mjs';

const choosing = 'docs/guide/choosing-a-mechanism.md';

let folder;
let env;
beforeEach(() => ({ folder, env } = programFolder()));
afterEach(() => rmSync(folder, { recursive: true }));

/** Programs of a page that can run here; shell blocks are those that call the command. */
function runnable(page) {
  return programs(read(page)).filter(
    ({ language, code }) =>
      language === 'js' || (language === 'sh' && code.includes('npx dp-ftrl ')),
  );
}

for (const page of some(guides, 3)) {
  test(`${page}: every program and command runs, and prints what is shown`, async () => {
    for (const [i, { language, code, output }] of runnable(page).entries()) {
      const file = join(folder, language === 'js' ? `program-${i}.mjs` : `program-${i}.sh`);
      writeFileSync(file, code);
      const {
        code: status,
        stdout,
        stderr,
      } = await (language === 'js'
        ? nodeThread([file], { cwd: folder, env })
        : run('bash', ['-e', file], { cwd: folder, env }));
      const where = `${page}, program ${i}:\n${code}`;
      assert.equal(status, 0, `${where}\n${stderr}`);
      if (language === 'js') {
        assert.equal(stderr, '', where);
        const words = stdout.trim().split(/\s+/);
        assert.ok(words.length > 0 && words.every((word) => Number.isFinite(Number(word))), stdout);
      }
      if (output === undefined) continue;
      const shown = showsOutput(output, stdout, isRandom(language, code));
      assert.ok(shown, `${where}\nprinted\n${stdout}`);
    }
  });
}

test('the comparison of outputs rejects other lines, other words, and other numbers', () => {
  assert.ok(showsOutput('a 1.5\n', 'a 1.5\n', false));
  assert.ok(showsOutput('a 1.5\n', 'a -2e-7\n', true));
  assert.ok(showsOutput('a 1.5\n...\n', 'a 1.5\nb\nc\n', false));
  assert.ok(!showsOutput('a 1.5\n', 'a 2.5\n', false));
  assert.ok(!showsOutput('a 1.5\n', 'b 1.5\n', true));
  assert.ok(!showsOutput('a 1.5\n', 'a 1.5\nb\n', true));
  assert.ok(!showsOutput('a 1.5\nb\n', 'a 1.5\n', true));
  assert.ok(!showsOutput('a 1.5\n...\n', 'a 1.5\n', true));
});

test('README and guides: every command of the help is shown', async () => {
  const shown = guides.flatMap((page) =>
    runnable(page).flatMap(({ code }) =>
      Array.from(code.matchAll(/npx dp-ftrl (\w+)/g), ([, name]) => name),
    ),
  );
  const { stdout } = await dpFtrl(['--help']);
  const all = Array.from(stdout.matchAll(/^ {2}dp-ftrl ([a-z]+) /gm), ([, name]) => name);
  assert.ok(all.length > 10);
  // `page` serves until a signal ends it, so it is not a program that runs to its end.
  assert.ok(guides.some((page) => read(page).includes('dp-ftrl page ')));
  assert.deepEqual([...new Set([...shown, 'page'])].sort(), all.sort());
});

test('README: read in a few minutes', () => {
  assert.ok(read('README.md').trimEnd().split('\n').length <= 155);
});

test('README: the picture is what its script draws', async () => {
  const dp = await (await importEntry('dp-ftrl')).load();
  assert.equal(readFileSync(picture, 'utf8'), draw(dp));
});

/** Counts lines of a program that are neither blank nor only a comment. */
function codeLines(program) {
  return program.split('\n').filter((line) => !/^\s*(\/\/.*)?$/.test(line)).length;
}

test('a counter takes at most 5 lines, learning 15, and going on after a reload 5 more', async () => {
  const only = (page, what) => {
    const found = runnable(page).filter(({ code }) => code.includes(what));
    assert.equal(found.length, 1, what);
    return found[0].code;
  };
  const counter = codeLines(only('README.md', 'dp.counter('));
  assert.ok(counter <= 5, `${counter}`);
  const learning = codeLines(only('docs/guide/learners.md', 'dp.learn({\n'));
  assert.ok(learning <= 15, `${learning}`);
  const goesOn = only('docs/guide/stores.md', 'visits.state');
  assert.ok(codeLines(goesOn) <= counter + 5, `${codeLines(goesOn)}`);
  // Three runs in separate processes, each continuing after the previous one.
  const file = join(folder, 'reload.mjs');
  const told = goesOn.replace('await visits.dispose();', 'console.log(visits.step);\n$&');
  writeFileSync(file, told);
  for (const steps of [4, 8, 12]) {
    const { stdout } = await node([file], { cwd: folder });
    assert.equal(stdout.trim().split('\n').at(-1), `${steps}`);
  }
});

test('the table of errors is what the command prints', async () => {
  const text = read(choosing);
  for (const mechanism of ['square-root', 'honaker', 'tree', 'independent', 'output']) {
    const row = text.match(new RegExp(`^\\| \`${mechanism}\` \\| ([0-9.]+) \\| ([0-9.]+) `, 'm'));
    assert.ok(row, `no row for ${mechanism}`);
    const args = ['error', '--strategy', mechanism, '--steps', '1024', '--json'];
    const { maxError, meanError } = JSON.parse((await dpFtrl(args)).stdout);
    assert.ok(Math.abs(maxError - Number(row[1])) <= 6e-10, mechanism);
    assert.ok(Math.abs(meanError - Number(row[2])) <= 6e-10, mechanism);
  }
  const { stdout } = await dpFtrl(['calibrate', '--epsilon', '1', '--delta', '1e-6', '--json']);
  assert.ok(text.includes(JSON.parse(stdout).noiseMultiplier.toFixed(6)));
});
