// SPDX-License-Identifier: Apache-2.0

// Predictions of the command, compared with predict() of the package and with explicit formulas.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const folder = scratchFolder('predict');
const write = writerIn(folder);

const random = generator(5);
const rows = Array.from({ length: 300 }, () => {
  const [a, b] = [random(), 100 * random()];
  return { a, b, y: Number(a + b / 100 > 1) };
});
const table = `b,note,a,y\n${rows.map(({ a, b, y }) => `${b},text,${a},${y}\n`).join('')}`;
const csv = write('rows.csv', table);
const numbers = write('numbers.csv', table.replaceAll('note,', '').replaceAll('text,', ''));

let numModels = 0;
async function learned(...more) {
  const path = join(folder, `model-${++numModels}.json`);
  const privacy = ['--epsilon', '8', '--delta', '1e-6', '--seed', '2', '--quiet'];
  const ranges = ['--columns', 'a=0:1,b=0:100,*', '--clip', '1'];
  const args = ['learn', '--label', 'y', ...privacy, ...ranges, '--model', path, '--json', ...more];
  const { code, stdout, stderr } = await dpFtrl([...args, numbers]);
  assert.equal(code, 0, stderr);
  return {
    path,
    printed: JSON.parse(stdout),
    model: JSON.parse(readFileSync(path, 'utf8')),
    stderr,
  };
}

/** Scores of the rows, with the inputs in the model's order. */
const scoresOf = (model) =>
  dp.predict(
    model,
    rows.flatMap((row) => model.inputs.map(({ name }) => row[name])),
  );

async function predicted(path, ...more) {
  const { code, stdout, stderr } = await dpFtrl(['predict', '--model', path, ...more, csv]);
  assert.equal(code, 0, stderr);
  const cast = (value, { header }) => (header ? value : Number(value));
  const isJson = more.includes('--json');
  return { stdout, stderr, rows: isJson ? undefined : parse(stdout, { columns: true, cast }) };
}

const close = (a, b) => assert.ok(Math.abs(a - b) <= 1e-12 * (1 + Math.abs(b)), `${a} ${b}`);

test('predict: classes and probabilities equal explicit formulas for every kind of loss', async () => {
  for (const [loss, check] of [
    [
      'logistic',
      (row, [s]) => {
        assert.equal(row.class, s >= 0 ? 1 : 0);
        close(row.probability, 1 / (1 + Math.exp(-s)));
      },
    ],
    ['hinge', (row, [s]) => assert.deepEqual([row.class, row.score], [s >= 0 ? 1 : 0, s])],
    ['squared', (row, [s]) => assert.equal(row.prediction, s)],
    [
      'softmax',
      (row, [s, t]) => {
        assert.equal(row.class, t > s ? 1 : 0);
        close(row.probability_1, Math.exp(t) / (Math.exp(s) + Math.exp(t)));
        close(row.probability_0 + row.probability_1, 1);
      },
    ],
  ]) {
    const classes = loss === 'softmax' ? ['--classes', '2'] : [];
    const { path, model } = await learned('--loss', loss, ...classes);
    const scores = scoresOf(model);
    const found = await predicted(path);
    assert.equal(found.rows.length, rows.length);
    const width = scores.length / rows.length;
    found.rows.forEach((row, i) => {
      assert.equal(row.row, i + 1);
      check(row, [...scores.subarray(i * width, (i + 1) * width)]);
    });
    assert.ok(new Set(found.rows.map((row) => row.class ?? row.prediction)).size > 1, loss);
  }
});

test('predict: JSON and a file have the same numbers, and a bad row ends them', async () => {
  const { path } = await learned();
  const { rows: found, stdout } = await predicted(path);
  const json = JSON.parse((await predicted(path, '--json')).stdout);
  assert.deepEqual(json.rows, found);
  assert.deepEqual([json.loss, json.modelIsPrivate, json.complete], ['logistic', false, true]);
  assert.equal(json.protects, 'one row');
  const out = join(folder, 'out.csv');
  await dpFtrl(['predict', '--model', path, '--output', out, csv]);
  assert.equal(readFileSync(out, 'utf8'), stdout);

  const input = 'a,b\n0.5,1\n,2\n';
  const missing = /row 2 \(line 3\), column "a" is empty/;
  const cut = await dpFtrl(['predict', '--model', path, '--json'], { input });
  assert.match(cut.stderr, missing);
  const { complete, error, rows: some } = JSON.parse(cut.stdout);
  assert.deepEqual([complete, error.code, some.length], [false, 'missing', 1]);
  const none = join(folder, 'none.csv');
  assert.equal((await dpFtrl(['predict', '--model', path, '--output', none], { input })).code, 2);
  assert.equal(existsSync(none), false);
});

test('predict: says that nothing protects the rows, and that a seeded model is NOT private', async () => {
  const { path, model } = await learned();
  const { stderr } = await predicted(path);
  assert.match(stderr, /nothing protects those\n/);
  assert.match(stderr, /warning: --model .*: NOT private\n/);
  const own = write('private.json', JSON.stringify({ ...model, private: true }));
  assert.equal((await predicted(own, '--quiet')).stderr, '');
});

test('learn --test: the output has accuracy and loss on a file, with a note, but the model has not', async () => {
  const path = write('test.csv', numbersOf(rows.slice(0, 50)));
  const { printed, model, stderr } = await learned('--test', path);
  const { note, numExamples, loss, accuracy } = printed.test;
  assert.equal(note, 'NOT private unless the file is public');
  assert.equal(numExamples, 50);
  const scores = [...scoresOf(model)].slice(0, 50);
  const right = scores.filter((score, i) => score >= 0 === (rows[i].y === 1)).length;
  close(accuracy, right / 50);
  const losses = scores.map((score, i) => Math.log1p(Math.exp(rows[i].y === 1 ? -score : score)));
  close(loss, losses.reduce((a, b) => a + b) / 50);
  assert.equal(model.test, undefined);
  assert.deepEqual({ ...printed, test: undefined }, { ...model, test: undefined });
  assert.match(stderr, /warning: --test measures on .*test\.csv: NOT private unless it is public/);
  assert.equal(printed.nonprivate, undefined);
  // The printed object is also a model.
  assert.deepEqual(dp.predict(printed, [0.3, 20]), dp.predict(model, [0.3, 20]));

  const { printed: other } = await learned('--test', path, '--loss', 'squared');
  assert.equal(other.test.accuracy, null);
  const text = await dpFtrl([
    'learn',
    '--label',
    'y',
    '--epsilon',
    '1',
    '--delta',
    '1e-6',
    '--test',
    path,
    numbers,
  ]);
  assert.match(
    text.stdout,
    /^accuracy on them \(NOT private unless the file is public\) +0\.\d+$/m,
  );
  assert.match(text.stdout, /^private +yes$/m);
});

function numbersOf(some) {
  return `a,b,y\n${some.map(({ a, b, y }) => `${a},${b},${y}\n`).join('')}`;
}
