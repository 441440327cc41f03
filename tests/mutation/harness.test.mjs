// SPDX-License-Identifier: Apache-2.0

// Tests the harness on a program of one line.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { judge, readFaults, Results, tryFaults } from './harness.mjs';

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

const program = '// Adds.\nexport const sum = (a, b) => a + b;\n';
const right = "import { sum } from './sum.mjs';\nif (sum(2, 3) !== 5) throw new Error('2 + 3');\n";
const weak = "import { sum } from './sum.mjs';\nif (sum(0, 0) !== 0) throw new Error('0 + 0');\n";

const fault = (name, find, replace, more = {}) => {
  return { name, file: 'sum.mjs', find, replace, tests: 'right.mjs', ...more };
};

const areas = {
  toy: {
    build: [process.execPath, '--check', 'sum.mjs'],
    test: (tests) => [process.execPath, tests],
    passed: () => 1,
    failed: (output) => /Error: (.*)/.exec(output)[1],
  },
};

/** Runs the harness over faults in a tree that contains the toy's files and `more`. */
function project(more = {}) {
  const source = mkdtempSync(join(tmpdir(), 'dp-ftrl-toy-'));
  folders.push(source);
  const files = { 'sum.mjs': program, 'right.mjs': right, 'weak.mjs': weak, ...more };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  writeFileSync(join(source, '.gitignore'), '/build/\n/faults/\n');
  execFileSync('git', ['init', '--quiet'], { cwd: source });
  const folder = join(source, 'faults');
  mkdirSync(folder);
  const work = join(source, 'build/mutation');
  return {
    source,
    async tries(list, options = {}) {
      writeFileSync(join(folder, 'toy.json'), JSON.stringify(list));
      const said = [];
      const faults = readFaults(folder, source, (_area, tests) => [tests]);
      const results = new Results(join(work, 'results.json'));
      const log = (line) => said.push(line);
      await tryFaults({ source, work, faults, results, areas: options.areas ?? areas, log });
      const found = faults.map((it) => results.of(it, source));
      const outcomes = found.map((it) => it?.outcome);
      return { found, outcomes, said, verdict: judge(faults, results, source) };
    },
  };
}

const wrongSum = fault('subtracts', 'a + b', 'a - b');
const comment = fault('another comment', '// Adds.', '// Sums.');

test('a fault that changes the sum is killed by its test, one in a comment survives', async () => {
  const toy = project();
  const { found, outcomes, verdict } = await toy.tries([wrongSum, comment]);
  assert.deepEqual(outcomes, ['killed', 'survived']);
  assert.equal(found[0].by, '2 + 3');
  assert.equal(readFileSync(join(toy.source, 'sum.mjs'), 'utf8'), program);
  assert.ok(!verdict.isEnough);
  assert.equal(verdict.text, 'survived: another comment\n1 of 2 faults killed');
});

test('a fault that its own test does not notice survives, whatever others would see', async () => {
  const late = fault('products', 'a + b', 'a * b', { tests: 'weak.mjs' });
  assert.deepEqual((await project().tries([late])).outcomes, ['survived']);
});

test('all faults killed is enough', async () => {
  assert.ok((await project().tries([wrongSum])).verdict.isEnough);
});

test('a text is found however it is formatted', async () => {
  const broken = project({
    'sum.mjs': '// Adds.\nexport const sum = (\n  a,\n  b,\n) => a\n  + b;\n',
  });
  const { outcomes } = await broken.tries([
    fault('subtracts', '(a, b) => a + b', '(a, b) => a - b'),
  ]);
  assert.deepEqual(outcomes, ['killed']);
  const joined = fault('joined', 'exportconst', '');
  await assert.rejects(broken.tries([joined]), /its text occurs 0 times/);
});

test('what always fails, or is no test, tries no fault, and others are tried', async () => {
  const always = project({ 'weak.mjs': "throw new Error('always');\n" });
  const late = fault('products', 'a + b', 'a * b', { tests: 'weak.mjs' });
  const { outcomes, said, verdict } = await always.tries([late, wrongSum]);
  assert.deepEqual(outcomes, [undefined, 'killed']);
  assert.match(said.join('\n'), /cannot be tried +products {2}\(fails without it: always\)/);
  assert.match(verdict.text, /no valid result: products/);
  const none = { toy: { ...areas.toy, passed: () => 0 } };
  const unnamed = await project().tries([wrongSum], { areas: none });
  assert.match(unnamed.said.join('\n'), /no test is called right.mjs/);
});

test('tests run on what was built without the fault before', async () => {
  const built = project({
    'right.mjs': right.replace('./sum.mjs', './built.mjs'),
    'other.mjs': right.replace('./sum.mjs', './built.mjs'),
    'built.mjs': '',
  });
  const copy = "require('fs').copyFileSync('sum.mjs', 'built.mjs')";
  const copying = { toy: { ...areas.toy, build: [process.execPath, '-e', copy] } };
  const second = fault('products', 'a + b', 'a * b', { tests: 'other.mjs' });
  const { outcomes } = await built.tries([wrongSum, second], { areas: copying });
  assert.deepEqual(outcomes, ['killed', 'killed']);
});

test('a tree that does not build stops the harness', async () => {
  const broken = project({ 'sum.mjs': 'export const sum = a + b) ;' });
  await assert.rejects(broken.tries([wrongSum]), /the unmutated copy does not build/);
});

test('what does not compile is not killed', async () => {
  const { found, verdict } = await project().tries([fault('bracket', 'a + b', '(a + b')]);
  assert.equal(found[0].outcome, 'does not compile');
  assert.match(found[0].by, /sum\.mjs:2/);
  assert.ok(!found[0].by.includes('mutation/tree'), 'the location of the copy is not stored');
  assert.ok(!verdict.isEnough);
});

test('an endless loop is killed by a timeout, which the verdict names', async () => {
  const forever = fault('endless', 'a + b', '{ while (b !== 0) a += 1; return a; }');
  const quick = { toy: { ...areas.toy, seconds: () => 1 } };
  const { found, verdict } = await project().tries([forever], { areas: quick });
  assert.deepEqual(found, [{ outcome: 'killed', by: 'timeout of 1 s' }]);
  assert.match(verdict.text, /killed: endless \(timeout of 1 s\)/);
  assert.ok(verdict.isEnough);
});

test('a stale fault is an error that names it and how often its text occurs', async () => {
  for (const [wrong, message] of [
    [fault('gone', 'a * b', 'a'), /stale faults:\ngone: its text occurs 0 times in sum.mjs/],
    [fault('twice', 'a', 'c'), /twice: its text occurs \d times/],
    [fault('nowhere', 'a + b', 'a', { file: 'x.mjs' }), /nowhere: there is no x.mjs/],
    [fault('idle', 'a + b', 'a + b'), /idle: it changes nothing/],
    [fault('untested', 'a + b', 'a', { tests: undefined }), /untested: tests must be a text/],
    [fault('strange', 'a + b', 'a', { test: 'x' }), /strange: unknown field test/],
  ]) {
    await assert.rejects(project().tries([wrong]), message);
  }
  await assert.rejects(project().tries([wrongSum, wrongSum]), /another fault has this name/);
});

const numTried = async (toy, faults) =>
  (await toy.tries(faults)).said.filter((line) => /^(killed|survived)/.test(line)).length;

test('a result holds until the fault, its file or one of its tests changes', async () => {
  const toy = project();
  const change = (name, text) => writeFileSync(join(toy.source, name), text);
  assert.equal(await numTried(toy, [wrongSum]), 1);
  assert.equal(await numTried(toy, [wrongSum, comment]), 1);
  assert.equal(await numTried(toy, [wrongSum, comment]), 0);
  assert.equal(await numTried(toy, [{ ...wrongSum, replace: 'b - a' }, comment]), 1);
  change('sum.mjs', program.replace('b) =>', 'b,\n) =>'));
  assert.equal(await numTried(toy, [{ ...wrongSum, replace: 'b - a' }, comment]), 0, 'the format');
  change('sum.mjs', `${program}// More.\n`);
  assert.equal(await numTried(toy, [wrongSum, comment]), 2);
  change('right.mjs', `${right}// More.\n`);
  assert.equal(await numTried(toy, [wrongSum, comment]), 2);
  change('weak.mjs', `${weak}// More.\n`);
  assert.equal(await numTried(toy, [wrongSum, comment]), 0, 'neither names this one');
});

test('what changes while faults are tried has no valid result', async () => {
  const toy = project();
  const path = join(toy.source, 'sum.mjs');
  const append = `require('fs').appendFileSync(${JSON.stringify(path)}, '// More.')`;
  const changing = { toy: { ...areas.toy, build: [process.execPath, '-e', append] } };
  const { outcomes, verdict } = await toy.tries([wrongSum], { areas: changing });
  assert.deepEqual(outcomes, [undefined]);
  assert.match(verdict.text, /no valid result: subtracts/);
  assert.ok(!verdict.isEnough);
});
