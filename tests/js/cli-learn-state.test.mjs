// SPDX-License-Identifier: Apache-2.0

// dp-ftrl learn --state: several runs act as one learner, wherever they are interrupted.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readBudget, sealed } from './support/budgets.mjs';
import { fails, runningOn } from './support/command.mjs';
import { cli, dpFtrl } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { copierOf, flipped, scratchFolder } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const folder = scratchFolder('learn-state');
let numStates = 0;
const freshState = () => join(folder, `state-${++numStates}`);

const random = generator(5);
const header = 'a,b,y\n';
const rows = Array.from({ length: 36 }, () => {
  const b = random();
  return `${random()},${b},${Number(b > 0.5)}\n`;
});
const table = (from, to) => header + rows.slice(from, to).join('');
const privacy = ['--epsilon', '8', '--delta', '1e-6', '--clip', '1'];
const base = ['learn', ...privacy, '--label', 'y', '--steps', '36', '--json', '--quiet'];
const tree = [...base, '--strategy', 'tree'];
const seeded = [...tree, '--seed', '5'];

async function modelOf(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** Bytes of a part of a log, which stores seven bits to a byte and no zero. */
const storedSize = (size) => size + Math.ceil(size / 7);

/** First step, number of steps and length of the memo of the frame at a place in a log. */
function frameAt(log, at) {
  let bits = 0n;
  for (let i = 0; i < 28; ++i) {
    const byte = log[at + i];
    bits |= BigInt(byte === 0x7f ? 0 : byte & 0x7f) << BigInt(7 * i);
  }
  const word = (from, width) =>
    Number((bits >> BigInt(8 * from)) & ((1n << BigInt(8 * width)) - 1n));
  return { first: word(0, 8), steps: word(8, 4), memo: Math.max(0, word(12, 4) - 1) };
}

/**
 * Number of steps after all frames of a log whose steps take `width` bytes each; undefined if that
 * does not fit its length.
 */
function stepsAfter(log, begun, width) {
  let [steps, at] = [begun, 0];
  while (at + 28 <= log.length) {
    const frame = frameAt(log, at);
    if (frame.first !== steps) return undefined;
    steps += frame.steps;
    at += 28 + storedSize(frame.steps * width + frame.memo + 16);
  }
  return at === log.length ? steps : undefined;
}

/** Counts the examples of a state: the steps of its base and of its log. */
function numLearnedIn(path) {
  if (!existsSync(path)) return 0;
  const file = readFileSync(path);
  const bytes = file.subarray(file.toString('latin1', 0, 8) === 'dpf-runs' ? 40 : 0);
  const isLog = bytes.toString('latin1', 32, 36) === 'log1';
  const base = bytes.subarray(isLog ? 40 : 32);
  const begun = Number(base.readBigUInt64LE(8 + base.readUInt32LE(4) + 8));
  if (!isLog) return begun;
  const log = base.subarray(bytes.readUInt32LE(36));
  const widths = Array.from({ length: 4096 }, (_, width) => width);
  return widths.map((width) => stepsAfter(log, begun, width)).find((steps) => steps !== undefined);
}

for (const [name, options] of Object.entries({
  ftrl: [],
  'ranges and doubling': ['--columns', 'a=0:1,*', '--doubling', '--no-intercept'],
  descent: ['--algorithm', 'dp-gd', '--momentum', '0.5', '--rates', '1,0.5'],
  'batches, cut apart within one': ['--batch', '4', '--domain', 'box'],
  softmax: ['--loss', 'softmax', '--classes', '2'],
  lattice: ['--mode', 'lattice'],
  'a user with several rows': ['--participations', '2', '--min-separation', '4'],
})) {
  test(`learn --state: ${name}: several runs give the same model as one`, async () => {
    const whole = await modelOf([...seeded, ...options], table(0, 36));
    const [state, model] = [freshState(), join(folder, 'model.json')];
    const run = [...seeded, ...options, '--state', state, '--model', model];
    for (const [from, to] of [
      [0, 7],
      [7, 7],
      [7, 30],
      [30, 36],
    ]) {
      const written = await modelOf(run, table(from, to));
      assert.equal(written.numExamples, to);
      assert.deepEqual(JSON.parse(readFileSync(model, 'utf8')), written);
      if (to === 36) assert.deepEqual(written, whole);
    }
  });
}

test('learn --state: with the same key, several runs give the same model as one', async () => {
  const [one, other] = [freshState(), freshState()];
  const first = await modelOf([...tree, '--state', one], header);
  assert.deepEqual([first.numExamples, first.private], [0, true]);
  copyFileSync(one, other);
  const whole = await modelOf([...tree, '--state', one], table(0, 36));
  for (const [from, to] of [
    [0, 10],
    [10, 35],
    [35, 36],
  ]) {
    const part = await modelOf([...tree, '--state', other], table(from, to));
    if (to === 36) assert.deepEqual(part, whole);
  }
  const fresh = await modelOf([...tree, '--state', freshState()], table(0, 36));
  assert.notDeepEqual(fresh.weights, whole.weights);
  await fails([...tree, '--state', one], 2, /row 1 \(line 2\) is past the horizon of --steps 36$/, {
    input: table(0, 1),
  });
});

test('learn --state: the output says how many examples wait in a batch that is not full', async () => {
  const words = seeded.filter((word) => word !== '--json');
  const run = [...words, '--batch', '4', '--state', freshState()];
  const waiting = /^in a batch that is not full, not yet in the weights +3$/m;
  assert.match((await dpFtrl(run, { input: table(0, 7) })).stdout, waiting);
  assert.doesNotMatch((await dpFtrl(run, { input: table(7, 8) })).stdout, /not full/);
});

test('learn --state: columns are found by name, and others are refused', async () => {
  const state = ['--state', freshState()];
  const whole = await modelOf(seeded, table(0, 4));
  await modelOf([...seeded, ...state], table(0, 2));
  const turned = rows.slice(2, 4).map((row) => row.trim().split(',').reverse().join(','));
  const input = `y,b,a\n${turned.join('\n')}\n`;
  assert.deepEqual(await modelOf([...seeded, ...state], input), whole);
  const refused = (args, pattern, header = 'a,b,y') =>
    fails([...seeded, ...state, ...args], 2, pattern, { input: `${header}\n1,1,1\n` });
  await refused([], /it learns from the columns "a", "b", "y", this run "a", "c", "y"$/, 'a,c,y');
  await refused(['--columns', 'a'], /"a", "b", "y", this run "a", "y"$/);
  await refused(['--columns', 'b=0:1,*'], /it was begun without --columns$/);
});

test('learn --state: a change of either end of a range is refused', async () => {
  const run = [...seeded, '--state', freshState(), '--columns'];
  await modelOf([...run, 'a,b=0:1'], table(0, 2));
  for (const range of ['b=0:2', 'b=-1:1']) {
    const moved = `it was begun with --columns b=0:1, this run has --columns ${range}\n`;
    const { stderr } = await fails([...run, `a,${range}`], 2, /./, { input: table(2, 3) });
    assert.ok(stderr.endsWith(moved), stderr);
  }
  assert.equal((await modelOf([...run, 'a,b=0:1'], table(2, 3))).numExamples, 3);
});

test('learn --state: options that do not go with a state are refused, and no file is made', async () => {
  const state = freshState();
  const input = table(0, 2);
  for (const [args, pattern] of [
    [[...seeded, '--passes', '2'], /^dp-ftrl learn: --state does not go with --passes; for rows/],
    [[...seeded, '--show-nonprivate'], /--state does not go with --show-nonprivate$/],
    [[...seeded, '--test', 'x.csv'], /: --test x\.csv: there is no file x\.csv$/],
    [['learn', ...privacy, '--label', 'y'], /--state needs --steps, the horizon of all runs/],
    [[...seeded, '--first-step', '1'], /unknown option "--first-step"/],
  ]) {
    await fails([...args, '--state', state], 2, pattern, { input });
    assert.ok(!existsSync(state));
  }
});

test('learn --state: errors about a bad state name the file', async () => {
  const path = freshState();
  const input = table(0, 1);
  const other = copierOf(path);
  await modelOf([...tree, '--state', path], input);
  const seed = freshState();
  await modelOf([...seeded, '--state', seed], input);
  const sums = freshState();
  const release = ['release', ...privacy, '--steps', '36', '--strategy', 'tree', '--quiet'];
  await dpFtrl([...release, '--state', sums], { input });
  const memoEnd = 48 + readFileSync(path).readUInt32LE(44);
  for (const [file, words, ...more] of some(
    [
      [sums, 'it is of dp-ftrl release'],
      [path, 'it was begun without --seed', '--seed', '1'],
      [seed, 'it was begun with --seed 5, this run has none'],
      [seed, 'it was begun with --seed 5, this run has --seed 2', '--seed', '2'],
      [other(() => Buffer.alloc(0)), 'it is empty'],
      [other(() => Buffer.from('a,b\n')), 'it is damaged'],
      [other((bytes) => bytes.subarray(0, 50)), 'it is damaged or cut short'],
      [other(flipped(-1)), 'it is damaged'],
      [other(flipped(0)), 'it is damaged'],
      [other(flipped(100)), 'it is damaged, or not a state of this version'],
      [
        other((bytes) => Buffer.concat([bytes.subarray(0, 32), bytes.subarray(memoEnd)])),
        'it is dam',
      ],
      [other(flipped(memoEnd)), 'it is damaged'],
      [folder, 'must be a file of one name, or the name of a new one, got a folder'],
      [join(folder, 'no/such'), 'the folder does not exist'],
    ],
    3,
  )) {
    const { stderr } = await fails([...tree, '--state', file, ...more], 2, /learn: --state /, {
      input,
    });
    assert.ok(new RegExp(`--state ${file}:? ${words}`).test(stderr), `${words}: ${stderr}`);
  }
  await fails([...release, '--state', path], 2, /release: --state .*: it is of dp-ftrl learn$/, {
    input,
  });
  const roles = ['--model', path];
  await fails([...tree, '--state', path, ...roles], 2, /are the same file/, { input });
});

test('learn --state: the error for a bad row says which rows were learned from', async () => {
  const state = freshState();
  const run = [...seeded, '--state', state];
  await modelOf(run, table(0, 3));
  const after2 = 'rows 1 to 2 of this input were learned from: leave them out of the next run';
  for (const [bad, why] of [
    [
      'x,1,1',
      'row 3 (line 4), column "a" is not a number; a feature of categories needs a column for each ' +
        'of them, with 1 in its rows and 0 in others; --columns NAME picks columns',
    ],
    ['1,1,7', 'row 3 (line 4): label must be -1, 0 or 1'],
  ]) {
    const before = numLearnedIn(state);
    const input = `${table(before, before + 2)}${bad}\n`;
    const { stdout, stderr } = await fails(run, 2, /./, { input });
    assert.deepEqual([stdout, stderr.split('\n').at(-2)], ['', `dp-ftrl learn: ${why}; ${after2}`]);
    assert.equal(numLearnedIn(state), before + 2);
  }
  await fails(run, 2, /row 1 \(line 2\): label must be -1, 0 or 1$/, { input: 'a,b,y\n1,1,7\n' });
  const rest = await modelOf(run, table(7, 9));
  assert.deepEqual(rest, await modelOf(seeded, table(0, 9)));
});

const LEARNED = 'rows 1 to 3 of this input were learned from: leave them out of the next run';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  test(`learn --state: on ${signal}, a message says which rows were learned from; the next run goes on`, async () => {
    const place = mkdtempSync(join(folder, 'signal-'));
    const state = join(place, 'state');
    const run = [...seeded, '--state', state, '--model', join(place, 'model')];
    const { child, ended } = await runningOn(table(0, 3), run, () => numLearnedIn(state) === 3);
    child.kill(signal);
    const { stdout, stderr, ...end } = await ended;
    assert.deepEqual([stdout, end.code, end.signal], ['', null, signal]);
    assert.ok(stderr.endsWith(`learn: interrupted by ${signal}; ${LEARNED}\n`), stderr);
    assert.deepEqual(readdirSync(place), ['state']);
    assert.deepEqual(await modelOf(run, table(3, 9)), await modelOf(seeded, table(0, 9)));
  });
}

test('learn --state: before the first row a signal ends the run without a word', async () => {
  const state = freshState();
  const run = [...seeded, '--state', state];
  const { child, ended } = await runningOn(header, run, () => existsSync(`${state}.lock`));
  await new Promise((resolve) => setTimeout(resolve, 200));
  child.kill('SIGTERM');
  const { stderr, signal } = await ended;
  assert.equal(signal, 'SIGTERM');
  assert.doesNotMatch(stderr, /interrupted|learned/);
  assert.ok(!existsSync(`${state}.lock`));
});

test('learn --state: when the output is closed, a message says which rows were learned from', async () => {
  const state = freshState();
  const run = [...seeded, '--state', state];
  const { child, ended } = await runningOn(table(0, 3), run, () => numLearnedIn(state) === 3);
  child.stdout.destroy();
  child.stdin.end();
  const { stderr, ...end } = await ended;
  assert.deepEqual([end.code, end.signal], [0, null]);
  assert.ok(stderr.endsWith(`dp-ftrl learn: the output was closed; ${LEARNED}\n`), stderr);
  assert.equal((await modelOf(run, header)).numExamples, 3);
});

test('learn --state: if the model cannot be written, the error says which rows were learned from', async () => {
  const state = freshState();
  const place = mkdtempSync(join(folder, 'gone-'));
  const run = [...seeded, '--state', state, '--model', join(place, 'model')];
  const { child, ended } = await runningOn(table(0, 3), run, () => numLearnedIn(state) === 3);
  rmSync(place, { recursive: true });
  child.stdin.end();
  const { stderr, code } = await ended;
  assert.equal(code, 2);
  assert.ok(stderr.endsWith(`the folder does not exist; ${LEARNED}\n`), stderr);
});

test('learn --state: a budget is spent once for all runs, and old copies of a state are refused', async () => {
  const [state, copy, budget] = [freshState(), freshState(), join(folder, 'budget.json')];
  const limit = ['--budget', budget, '--budget-epsilon', '8', '--budget-delta', '1e-6'];
  const run = [...tree, ...limit, '--state', state];
  await modelOf(run, header);
  copyFileSync(state, copy);
  await modelOf(run, table(0, 3));
  await fails(run, 2, /row 3 /, { input: `${table(3, 5)}x,1,1\n` });
  const { releases } = JSON.parse(readFileSync(budget, 'utf8'));
  assert.deepEqual([releases.length, releases[0].step], [1, 5]);
  assert.match(releases[0].state, /^[0-9a-f]{32}$/);
  const old = /--state is an old copy: 0 steps are released in it, 5 by --budget/;
  await fails(run.with(-1, copy), 2, old, { input: table(0, 1) });
  await fails(run.with(-1, freshState()), 2, /must fit what is left of the budget/, {
    input: table(0, 1),
  });
  assert.equal((await modelOf(run, table(5, 6))).numExamples, 6);
  // The copy is older than a run that was killed before it updated the budget.
  copyFileSync(state, copy);
  assert.equal((await modelOf(run, table(6, 7))).numExamples, 7);
  const file = readBudget(budget);
  file.releases[0].step = 6;
  writeFileSync(budget, sealed(file));
  await fails(run.with(-1, copy), 2, /is an old copy: .* knows of a later run/, {
    input: table(6, 7),
  });
  assert.equal((await modelOf(run, table(7, 8))).numExamples, 8);
  const unpaid = [...tree, '--state', state];
  await fails(unpaid, 2, /it is paid for by a --budget/, { input: table(8, 9) });
});

/** A run with a budget that has learned three rows, and more rows for it. */
async function begunWithBudget(name) {
  const [state, budget] = [freshState(), join(folder, `${name}.json`)];
  const limit = ['--budget', budget, '--budget-epsilon', '8', '--budget-delta', '1e-6'];
  const run = [...tree, ...limit, '--state', state];
  await modelOf(run, header);
  const begun = await runningOn(table(0, 3), run, () => numLearnedIn(state) === 3);
  return { ...begun, run, state, budget };
}

test('learn --state: after a failed save, the error names the rows in doubt, and the state goes on', async () => {
  const { child, ended, run, state } = await begunWithBudget('unsaved');
  // Another file has the name of the one that the run appends to.
  copyFileSync(state, `${state}.other`);
  renameSync(`${state}.other`, state);
  child.stdin.end(rows.slice(3, 8).join(''));
  const { stdout, stderr, code } = await ended;
  assert.deepEqual([stdout, code], ['', 2]);
  const doubt =
    'it is not known whether rows 4 to 8 were learned from: a run on the header alone says';
  assert.ok(stderr.endsWith(`; ${LEARNED}; ${doubt} how many examples were\n`), stderr);
  assert.equal((await modelOf(run, header)).numExamples, 3);
});

test('learn --state: no model is shown before the budget knows of its steps', async () => {
  const { child, ended, run, state, budget } = await begunWithBudget('read-only');
  chmodSync(budget, 0o444);
  child.stdin.end();
  const { stdout, stderr, code } = await ended;
  assert.deepEqual([stdout, code], ['', 2]);
  assert.ok(stderr.endsWith(`learn: --budget ${budget} is read-only; ${LEARNED}\n`), stderr);
  chmodSync(budget, 0o644);
  const next = await runningOn(table(3, 6), run, () => numLearnedIn(state) === 6);
  chmodSync(budget, 0o444);
  next.child.stdin.end('x,1,1\n');
  const also = await next.ended;
  assert.match(
    also.stderr,
    /row 4 \(line 5\).*; --budget .* is read-only; rows 1 to 3 of this input/,
  );
  chmodSync(budget, 0o644);
  assert.equal((await modelOf(run, table(6, 7))).numExamples, 7);
});

test('learn --state: a run that learned nothing is paid for once, and the next run goes on', async () => {
  const [state, budget] = [freshState(), join(folder, 'early.json')];
  const limit = ['--budget', budget, '--budget-epsilon', '8', '--budget-delta', '1e-6'];
  const run = [...tree, ...limit, '--state', state];
  await fails(run, 2, /row 1 \(line 2\), column "a" is not a number/, {
    input: `${header}x,1,1\n`,
  });
  assert.equal((await modelOf(run, table(0, 2))).numExamples, 2);
  assert.equal(JSON.parse(readFileSync(budget, 'utf8')).releases.length, 1);
});

test('learn --state: only one run at a time can use a state', async () => {
  const state = freshState();
  const run = [...seeded, '--state', state];
  const { child, ended } = await runningOn(table(0, 3), run, () => numLearnedIn(state) === 3);
  const used = /--state .* must not be in use, got one that process \d+ has/;
  await fails(run, 2, used, { input: table(3, 4) });
  child.stdin.end();
  assert.equal(JSON.parse((await ended).stdout).numExamples, 3);
});

test('learn --state: kill -9 at any instant loses and repeats no row', async (t) => {
  const state = freshState();
  const run = [...seeded, '--state', state];
  let learned = 0;
  let killed = 0;
  for (let kill = 0; kill < 8 && learned < 34; ++kill) {
    const child = spawn(cli, run);
    child.stdin.on('error', () => {});
    child.stdin.write(header);
    const closed = once(child, 'close');
    // Rows arrive one by one, so that most are stored separately; some processes die before the
    // first one, some after.
    const feed = (async () => {
      while (!existsSync(`${state}.lock`)) await new Promise((next) => setTimeout(next, 5));
      for (let i = learned; i < Math.min(learned + 6, 36); ++i) {
        child.stdin.write(rows[i]);
        await new Promise((next) => setTimeout(next, 3));
      }
    })();
    await feed;
    await new Promise((next) => setTimeout(next, (kill % 4) * 15));
    child.kill('SIGKILL');
    const [, signal] = await closed;
    killed += Number(signal === 'SIGKILL');
    // A run with only the header reports the number of learned rows and their model.
    const model = await modelOf(run, header);
    assert.ok(model.numExamples >= learned && model.numExamples <= learned + 6);
    learned = model.numExamples;
    assert.deepEqual(model, await modelOf(seeded, table(0, learned)));
  }
  t.diagnostic(`${killed} killed, ${learned} rows`);
  assert.ok(killed >= 6);
  assert.deepEqual(await modelOf(run, table(learned, 36)), await modelOf(seeded, table(0, 36)));
});
