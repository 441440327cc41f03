// SPDX-License-Identifier: Apache-2.0

// --dry-run: the promise, the noise and the cost of a release, before it is made and charged.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl } from './support/consumer.mjs';
import { requireCommandsWith } from './support/help.mjs';
import { scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('dry-run');
const privacy = ['--epsilon', '1', '--delta', '1e-6'];
const days = ['--time-column', 'day', '--bucket', 'day'];
const input = ['day,where,amount', '2026-03-01,a,1', '2026-03-01,b,2', '2026-03-04,a,2', ''].join(
  '\n',
);

const QUESTIONS = {
  'counts of days': ['count', ...privacy, ...days],
  'counts in total': ['count', ...privacy, ...days, '--for', 'totals'],
  'both at once': ['count', ...privacy, ...days, '--for', 'both'],
  'sums of rows': ['release', ...privacy, '--clip', '2', '--columns', 'amount'],
  'replaced rows': [
    ...['release', ...privacy, '--clip', '2', '--columns', 'amount', '--neighbours', 'replace-one'],
  ],
  'sums of days': ['release', ...privacy, '--clip', '2', '--columns', 'amount', ...days],
  categories: ['histogram', ...privacy, '--by', 'where', '--domain', 'a,b', ...days],
  moments: ['moments', ...privacy, '--columns', 'amount=0:2', ...days],
  'active people': [
    'active',
    ...privacy,
    '--window',
    '2',
    '--user-column',
    'where',
    '--time-column',
    'day',
  ],
};

/** Standard deviations in a row of the questions that have several numbers. */
const STDS = {
  'both at once': { count: ({ countStd }) => countStd, total: ({ totalStd }) => totalStd },
  categories: {
    count: ({ categories }) => Math.max(...categories.map(({ count }) => count.stddev)),
    total: ({ total }) => total.stddev,
  },
  moments: { count: ({ count }) => count.stddev },
};

function tableOf(text) {
  const path = join(folder, 'table.csv');
  writeFileSync(path, text);
  return path;
}

async function output(args, text = input) {
  const { code, stdout, stderr } = await dpFtrl([...args, tableOf(text)]);
  assert.equal(code, 0, stderr);
  return stdout;
}

test('dry run: every command that has it is among the cases', () =>
  requireCommandsWith(
    'dry-run',
    Object.values(QUESTIONS).map(([command]) => command),
    ['learn'],
  ));

for (const [name, args] of Object.entries(QUESTIONS)) {
  test(`dry run: its certificate and noise are those of the release (${name})`, async () => {
    const dry = JSON.parse(await output([...args, '--dry-run', '--json']));
    const made = JSON.parse(await output([...args, '--json']));
    assert.equal(dry.dryRun, true);
    assert.equal(made.dryRun, undefined);
    const { numSteps, mu, epsilon, delta, maxError } = made.certificate;
    assert.deepEqual(
      { ...dry.certificate, numSteps, mu, epsilon, delta, maxError },
      dry.certificate,
    );
    assert.equal(dry.steps, numSteps);
    assert.deepEqual(dry.choice, made.choice);
    const stds = (made.rows ?? []).flatMap((row) =>
      [row.std, row.countStd, row.totalStd].flat().filter((std) => typeof std === 'number'),
    );
    if (typeof dry.std === 'number') {
      assert.ok(stds.length > 0, JSON.stringify(made.rows?.[0]));
      close(Math.max(...stds), dry.std, 1e-6);
    }
    if (!STDS[name]) return;
    assert.deepEqual(Object.keys(dry.std), Object.keys(STDS[name]));
    for (const [of, stdOf] of Object.entries(STDS[name])) {
      close(Math.max(...made.rows.map(stdOf)), dry.std[of], 1e-6);
    }
  });
}

test('dry run: nothing is written or charged, and a budget says what it would', async () => {
  const budget = join(folder, 'budget.json');
  const file = join(folder, 'counts.csv');
  const limit = ['--budget', budget, '--budget-epsilon', '1.5', '--budget-delta', '1e-5'];
  const args = [...QUESTIONS['counts of days'], ...limit];
  const said = await output([...args, '--dry-run', '--output', file]);
  assert.match(said, /1 release would spend \(0\.\d+, 0\.00001\) of \(1\.5, 0\.00001\) together/);
  assert.match(said, /nothing was released or charged/);
  assert.deepEqual([existsSync(budget), existsSync(file)], [false, false]);
  await output(args);
  const before = readFileSync(budget, 'utf8');
  assert.match(await output([...args, '--dry-run']), /2 releases would spend/);
  assert.equal(readFileSync(budget, 'utf8'), before);
  const more = args.map((it) => (it === '1' ? '1.4' : it));
  await fails([...more, '--dry-run', tableOf(input)], 2, /--budget .*this release must/);
  assert.equal(readFileSync(budget, 'utf8'), before);
});

test('dry run: it reads times, or counts rows, where the horizon follows from them, and no more', async () => {
  const spoiled = input.replace('2026-03-04,a,2', '2026-03-04,nowhere,much');
  const sums = [...QUESTIONS['sums of days'], '--dry-run'];
  assert.match(await output(sums, spoiled), /horizon: 4\n.*its column day was read/s);
  assert.match(
    await output([...QUESTIONS['sums of rows'], '--dry-run'], spoiled),
    /horizon: 3\n.*the number of its rows was read/s,
  );
  const range = ['--from', '2026-03-01', '--to', '2026-03-31', '--dry-run'];
  const nonsense = 'day,where,amount\nyesterday,a,x\n';
  assert.match(
    await output([...QUESTIONS['sums of days'], ...range], nonsense),
    /horizon: 31\n.*nothing but the names of its columns was read/s,
  );
  await fails([...sums, tableOf(nonsense)], 2, /row 1 .*must be a date/);
  const unsorted = 'day,where,amount\n2026-03-04,a,1\n2026-03-01,a,1\n';
  assert.match(await output([...sums, '--sort'], unsorted), /horizon: 4\n/);
});

test('dry run: it warns of what the release warns of before its first row', async () => {
  const person = ['--user-column', 'where', '--max-contributions', '1'];
  for (const args of [
    [...QUESTIONS['counts of days'], ...person],
    [...QUESTIONS.moments, ...person],
    [...QUESTIONS['active people'], '--delta', '0.01'].toSpliced(3, 2),
    ['release', ...privacy, '--columns', 'amount=0:2,other=0:900', ...days],
  ]) {
    const table = tableOf(input.replaceAll(/(amount|\d)\n/g, '$1,1\n').replace('t,1', 't,other'));
    const made = await dpFtrl([...args, table]);
    const dry = await dpFtrl([...args, '--dry-run', table]);
    assert.deepEqual([made.code, dry.code], [0, 0], made.stderr + dry.stderr);
    const [claim] = /^.*-differentially private.*$/m.exec(made.stderr);
    const before = made.stderr.slice(0, made.stderr.indexOf(claim));
    assert.match(before, /warning: .*\n.*warning: /);
    assert.equal(dry.stderr, before);
    const quiet = await dpFtrl([...args, '--dry-run', '--quiet', table]);
    assert.equal(quiet.stderr.includes('depend on the data'), false);
  }
});

test('dry run: a pipe is read once, and all of it', async () => {
  const args = [...QUESTIONS['sums of days'], '--dry-run'];
  const { stdout } = await dpFtrl(args, { input });
  assert.match(stdout, /horizon: 4\n.*all of it was read/s);
});

test('dry run: the certificate and the cost of a model are those of the one that is learned', async () => {
  const rows = Array.from({ length: 600 }, (_, i) => `${i % 7},${i % 5},${Number(i % 7 > 3)}\n`);
  const table = `a,b,y\n${rows.join('')}`;
  const learn = ['learn', ...privacy, '--label', 'y', '--columns', 'a=0:6,b=0:4'];
  // Second moments decide how far gradients are clipped; mu and rho are rounded upwards.
  const clips = ['clipNorm', 'noiseStddev', 'mu', 'rho'];
  const costs = new Set();
  for (const [own, except] of [
    [['--epsilon', '4'], clips],
    [['--no-precondition'], []],
    [['--algorithm', 'dp-ftrl', '--neighbours', 'replace-one'], []],
    [['--algorithm', 'dp-gd', '--clip', '2', '--batch', '10'], []],
  ]) {
    const given = own.includes('--epsilon') ? learn.with(2, '4') : learn;
    const rest = own.filter((_, i) => !(own.includes('--epsilon') && i < 2));
    const budget = join(folder, `learn-${costs.size}.json`);
    const account = ['--budget', budget, '--budget-epsilon', '9', '--budget-delta', '1e-5'];
    const args = [...given, ...rest, ...account, '--json'];
    const dry = JSON.parse(await output([...args, '--dry-run'], table));
    assert.equal(existsSync(budget), false);
    const { certificate, preconditioning } = JSON.parse(await output(args, table));
    assert.equal(preconditioning !== undefined, except === clips);
    const same = (it) => ({ ...it, ...Object.fromEntries(except.map((name) => [name, 0])) });
    assert.deepEqual(same(dry.certificate), same(certificate));
    // In units of the clip norm the noise is the same.
    const ratio = ({ noiseStddev, clipNorm }) => noiseStddev / clipNorm;
    close(ratio(dry.certificate), ratio(certificate), 1e-3);
    const { spent } = JSON.parse(readFileSync(budget, 'utf8'));
    close(Number(/ would spend \(([\d.]+),/.exec(dry.cost)[1]), spent.epsilon, 1e-5);
    costs.add(dry.cost);
  }
  assert.equal(costs.size, 4);
});

test('dry run: with a state it is refused, because the first run has decided', async () => {
  const state = ['--state', join(folder, 'state'), '--steps', '9', '--dry-run'];
  await fails(
    [...QUESTIONS['sums of rows'], ...state, tableOf(input)],
    2,
    /--dry-run does not go with --state/,
  );
  assert.equal(existsSync(join(folder, 'state')), false);
});
