// SPDX-License-Identifier: Apache-2.0

// Messages that say what to do next, and stay short whatever the input is.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry, root } from './support/consumer.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const release = ['release', '--epsilon', '1', '--delta', '1e-9', '--clip', '1', '--quiet'];
const pendulum = join(root, 'examples/pendulum.csv');

test('horizon: one that is too long names the mechanisms that go that far', async () => {
  const input = 'x\n1\n';
  for (const [steps, mechanism] of [[10_000_000, 'optimal'], [2_000_000, 'banded'], [2 ** 21, 'banded']]) {
    const names = dp.mechanisms().filter(({ maxSteps }) => maxSteps >= steps).map(({ name }) => name);
    assert.ok(names.includes('tree') && names.length < 24);
    const end = `got ${steps}; mechanisms that go that far: ${names.join(', ')}`;
    const args = ['--mechanism', mechanism, '--steps', String(steps)];
    for (const command of [release, ['error'], ['learn', '--label', 'y', ...release.slice(1)]]) {
      const { stderr } = await fails([...command, ...args], 2, /--steps must be between 1 and/, {
        input: command[0] === 'learn' ? 'x,y\n1,1\n' : input,
      });
      assert.ok(stderr.trimEnd().endsWith(end), stderr);
    }
    assert.equal((await dpFtrl([...release, '--steps', String(steps), '--mechanism', 'tree'], { input })).code, 0);
  }
  const none = await fails(['error', '--steps', '2', '--mechanism', 'tree-k', '--arity', '1'], 2, /--arity/);
  assert.doesNotMatch(none.stderr, /go that far/);
});

test('horizon: rows past it have the code past_horizon, of every command with one', async () => {
  for (const [args, input] of [
    [[...release, '--steps', '2'], 'x\n1\n1\n1\n'],
    [
      ['count', '--epsilon', '1', '--delta', '1e-6', '--time-column', 't', '--bucket', 'day', '--quiet',
        '--from', '2026-01-01', '--to', '2026-01-02'],
      't\n2026-01-01\n2026-01-02\n2026-01-03\n',
    ],
  ]) {
    const { stdout } = await fails([...args, '--json'], 2, /row 3 \(line 4\) is past the horizon of --/, { input });
    const { complete, error } = JSON.parse(stdout);
    assert.deepEqual([complete, error], [false, { code: 'past_horizon', row: 3, line: 4 }]);
  }
});

test('header: long names are cut in messages, and many are not all listed', async () => {
  const long = 'a'.repeat(300);
  const cut = `${'a'.repeat(39)}…`;
  for (const [input, more, message] of [
    [`${long},b\n1,2\n`, ['--column', 'zz'], `unknown column "zz"; known are ${cut}, b`],
    [`${long},b\nx,2\n`, [], `column "${cut}" is not a number`],
    [`${long},${long}\n1,2\n`, [], `more than one column "${cut}"`],
    [`step,${long}\n1,2\n`, [], 'two columns "step"'],
  ]) {
    const { stderr } = await fails([...release, ...more], 2, /./, { input });
    assert.ok(stderr.includes(message), stderr);
    assert.ok(stderr.length < 250, stderr);
  }
  const names = Array.from({ length: 1000 }, (_, i) => `name${1000 + i}`);
  const { stderr } = await fails([...release, '--column', 'other'], 2, / and 980 more$/, {
    input: `${names.join(',')}\n`,
  });
  assert.match(stderr, /known are name1000, .*name1019 and 980 more/);
});

test('learn: an unknown label lists the columns, or the one that is meant', async () => {
  const learn = ['learn', '--epsilon', '1', '--delta', '1e-6', '--quiet'];
  const known = /unknown column "outcome"; known are constant, cos_angle, rate_squared, rate_sin_angle, label$/;
  await fails([...learn, '--label', 'outcome', pendulum], 2, known);
  await fails([...learn, '--label', 'lable', pendulum], 2, /unknown column "lable"; did you mean label\?$/);
});

test('learn --range: a star stands for any letters, and the pattern with most letters holds', async () => {
  const columns = ['p1', 'p2', 'price', 'q_p', 'y'];
  const input = `${columns.join(',')}\n${'1,2,3,4,1\n1,2,3,4,0\n'.repeat(20)}`;
  const learn = ['learn', '--label', 'y', '--epsilon', '1', '--delta', '1e-6', '--seed', '1', '--quiet'];
  const args = (ranges) => [...learn, ...ranges.flatMap((range) => ['--range', range])];
  const highs = async (...ranges) => {
    const { code, stdout, stderr } = await dpFtrl([...args(ranges), '--json'], { input });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).inputs.map(({ high }) => high);
  };
  // Features without a range are clipped to [-1, 1].
  assert.deepEqual(await highs('p*=0:16'), [16, 16, 16, 1]);
  assert.deepEqual(await highs('p*=0:16', '*=0:2', 'p2=0:3'), [16, 3, 16, 2]);
  assert.deepEqual(await highs('pr*e=0:4', 'p*=0:16', '*_p=0:5'), [16, 16, 4, 5]);
  assert.deepEqual(await highs('*p*=0:16'), [16, 16, 16, 16]);
  assert.deepEqual(await highs('p*1=0:7'), [7, 1, 1, 1]);
  await fails(args(['x*=0:1']), 2, /unknown feature in --range "x\*"/, { input });
  await fails(args(['p1*p1=0:1']), 2, /unknown feature in --range/, { input });
  await fails(args(['pri*=0:1', '*ice=0:2']), 2, /"pri\*" and "\*ice" fit "price" equally well/, { input });
});
