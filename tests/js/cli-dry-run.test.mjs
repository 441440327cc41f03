// SPDX-License-Identifier: Apache-2.0

// --dry-run: the promise, the noise and the cost of a release, before it is made and charged.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl } from './support/consumer.mjs';
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
};

/** Returns the path of a table. */
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

test('dry run: a pipe is read once, and all of it', async () => {
  const args = [...QUESTIONS['sums of days'], '--dry-run'];
  const { stdout } = await dpFtrl(args, { input });
  assert.match(stdout, /horizon: 4\n.*all of it was read/s);
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
