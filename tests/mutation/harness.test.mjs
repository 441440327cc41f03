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
    test: (tests) =>
      [tests ?? ['weak.mjs', 'right.mjs']].flat().map((it) => [process.execPath, it]),
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
  const file = join(folder, '../results.json');
  return {
    source,
    async tries(faults, options = {}) {
      writeFileSync(join(folder, 'toy.json'), JSON.stringify(faults));
      const said = [];
      const results = await tryFaults({
        source,
        work,
        faults: readFaults(folder, source),
        results: new Results(file, { source, testFilesOf: ({ tests }) => [tests].flat() }),
        areas: options.areas ?? areas,
        areaOf: () => 'toy',
        jobs: options.jobs ?? 1,
        log: (line) => said.push(line),
      });
      return { results, outcomes: [...results.values()].map(({ outcome }) => outcome), said };
    },
  };
}

const wrongSum = fault('subtracts', 'a + b', 'a - b');
const comment = fault('another comment', 'Adds', 'Sums');

test('a fault is killed by its tests, by all tests, or survives as one in a comment must', async () => {
  const toy = project();
  const late = fault('only all tests see it', 'a + b', 'a * b', { tests: ['weak.mjs'] });
  const { results, outcomes } = await toy.tries([wrongSum, late, comment], { jobs: 2 });
  assert.deepEqual(outcomes, ['killed', 'killed', 'survived']);
  assert.equal([...results.values()][0].by, '2 + 3');
  assert.equal(readFileSync(join(toy.source, 'sum.mjs'), 'utf8'), program);
});

test('a test that always fails stops the harness before the first fault', async () => {
  const always = project({ 'right.mjs': "throw new Error('always');\n" });
  await assert.rejects(always.tries([wrongSum]), /right.mjs fail without a fault: always/);
  const otherwise = project({ 'other.mjs': "throw new Error('always');\n" });
  const test = (tests) => [[process.execPath, tests ?? 'other.mjs']];
  const wide = { toy: { ...areas.toy, test } };
  await assert.rejects(
    otherwise.tries([comment], { areas: wide }),
    /all tests fail without a fault: always/,
  );
});

test('a tree that does not build, and a filter that finds no test, stop the harness', async () => {
  const broken = project({ 'sum.mjs': 'export const sum = a + b) ;' });
  await assert.rejects(broken.tries([wrongSum]), /the unmutated copy does not build/);
  const none = { toy: { ...areas.toy, passed: () => 0 } };
  await assert.rejects(project().tries([wrongSum], { areas: none }), /no test is called right.mjs/);
});

test('what does not compile is not killed', async () => {
  const { results, outcomes } = await project().tries([fault('bracket', 'a + b', '(a + b')]);
  assert.deepEqual(outcomes, ['does not compile']);
  const [{ by }] = [...results.values()];
  assert.match(by, /sum\.mjs:2/);
  assert.ok(!by.includes('tree-0'), by); // The location of the copy is not stored.
});

test('an endless loop is killed by a timeout', async () => {
  const forever = fault('endless', 'a + b', '{ while (b !== 0) a += 1; return a; }');
  const endless = project();
  const quick = { ...areas.toy, seconds: () => 1 };
  const { results } = await endless.tries([forever], { areas: { toy: quick } });
  const [{ outcome, by }] = results.values();
  assert.deepEqual([outcome, by], ['killed', 'timeout of 1 s']);
});

test('a stale fault is an error that names it and how often its text occurs', async () => {
  for (const [wrong, message] of [
    [fault('gone', 'a * b', 'a'), /stale faults:\ngone: its text occurs 0 times in sum.mjs/],
    [fault('twice', 'a', 'c'), /twice: its text occurs \d times/],
    [fault('nowhere', 'a + b', 'a', { file: 'x.mjs' }), /nowhere: there is no x.mjs/],
    [fault('idle', 'a + b', 'a + b'), /idle: it changes nothing/],
    [fault('untested', 'a + b', 'a', { tests: [] }), /untested: tests must name/],
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
  change('sum.mjs', `${program}\n`);
  assert.equal(await numTried(toy, [wrongSum, comment]), 2);
  change('right.mjs', `${right}\n`);
  assert.equal(await numTried(toy, [wrongSum, comment]), 2);
  change('weak.mjs', `${weak}\n`);
  assert.equal(await numTried(toy, [wrongSum, comment]), 0, 'neither names this one');
});

test('a fault that was killed is tried again for the test that did it, not for others', async () => {
  const named = "test('2 + 3', () => sum(2, 3));\n";
  const header = "import { sum } from './sum.mjs';\nimport { test } from './test.mjs';\n";
  const runner = `export function test(name, value) {
    if (value() !== 5) throw new Error(name);
  }\n`;
  const toy = project({ 'right.mjs': header + named, 'test.mjs': runner });
  const change = (text) => writeFileSync(join(toy.source, 'right.mjs'), header + text);
  assert.equal(await numTried(toy, [wrongSum]), 1);
  change(`${named}test('1 + 4', () => sum(1, 4));\n`);
  assert.equal(await numTried(toy, [wrongSum]), 0);
  change("test('2 + 3', () => sum(3, 2));\n");
  assert.equal(await numTried(toy, [wrongSum]), 1);
});

test('types and comments of TypeScript change no result', async () => {
  const typed = 'export const sum = (a: number, b: number) => a + b;\n';
  const toy = project({ 'sum.ts': typed });
  const inTypes = { ...wrongSum, file: 'sum.ts' };
  const change = (text) => writeFileSync(join(toy.source, 'sum.ts'), text);
  assert.equal(await numTried(toy, [inTypes]), 1);
  change(
    `// Adds.\nimport type { Sum } from './types.js';\n${typed.replace('=> a', ': number => a')}`,
  );
  assert.equal(await numTried(toy, [inTypes]), 0);
  change(typed.replace('sum', 'total'));
  assert.equal(await numTried(toy, [inTypes]), 1);
});

test('what changes while faults are tried is tried again', async () => {
  const toy = project();
  const build = [process.execPath, '-e', ''];
  const test = () => [
    [
      process.execPath,
      '-e',
      `require('fs').appendFileSync('${join(toy.source, 'sum.mjs')}', '//')`,
    ],
    [process.execPath, 'right.mjs'],
  ];
  const changing = { toy: { ...areas.toy, build, test } };
  const { results, outcomes } = await toy.tries([wrongSum], { areas: changing });
  assert.deepEqual(outcomes, ['changed meanwhile']);
  assert.match(
    judge(results, { share: 0, least: 0 }).text,
    /changed while it was tried: subtracts/,
  );
});

test('the verdict: the share of faults killed, their number, no equivalent one killed', async () => {
  const said = { share: 0.5, least: 2 };
  const equivalent = { equivalent: 'a comment' };
  const results = async (faults) => (await project().tries(faults)).results;
  const enough = judge(await results([wrongSum, comment]), said);
  assert.ok(enough.isEnough);
  assert.match(enough.text, /survived: another comment/);
  assert.match(enough.text, /1 killed, 1 survived, 0 equivalent, 0 do not compile; 50.0 % of 2/);
  const held = await results([wrongSum, { ...comment, ...equivalent }]);
  assert.match(judge(held, said).text, /1 killed, 0 survived, 1 equivalent/);
  assert.ok(judge(held, { ...said, share: 1 }).isEnough);
  assert.ok(!judge(held, { ...said, least: 3 }).isEnough);
  assert.ok(!judge(await results([comment, { ...comment, name: 'second' }]), said).isEnough);
  const false_ = judge(await results([wrongSum, { ...wrongSum, name: 'x', ...equivalent }]), said);
  assert.ok(!false_.isEnough);
  assert.match(false_.text, /said to be equivalent, but killed: x/);
  const broken = judge(await results([wrongSum, fault('bracket', 'a + b', '(a + b')]), said);
  assert.ok(!broken.isEnough, 'a fault that does not compile is not one of the number');
});
