// SPDX-License-Identifier: Apache-2.0

// --state of moments, histogram and several workloads: several runs give one release, wherever a
// run is killed.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails, runningOn } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('statistic-state');
let numStates = 0;
const freshState = () => join(folder, `state-${++numStates}`);

const header = 'when,who,a,b,room\n';
/** Four days, the third of which has no rows. */
const days = [
  '2026-03-01,ann,1,4,hall\n2026-03-01,bob,2,4,pool\n2026-03-01,ann,1,5,pool\n',
  '2026-03-02,ann,3,0,bar\n2026-03-02,eve,0.5,9,hall\n',
  '',
  '2026-03-04,bob,1,7,hall\n2026-03-04,ann,1,2,bar\n2026-03-04,ann,9,1,pool\n2026-03-04,eve,2,2,hall\n',
];
const privacy = [
  '--epsilon',
  '1',
  '--delta',
  '1e-6',
  '--strategy',
  'tree',
  '--steps',
  '12',
  '--quiet',
];
const seeded = ['--seed', '5'];
const moments = ['moments', ...privacy, '--columns', 'a=0:5,b=0:9'];
const histogram = ['histogram', ...privacy, '--by', 'room', '--domain', 'hall,pool', '--other'];
const sums = ['--workloads', 'prefix=prefix,window_2=window:2'];
const stack = ['release', ...privacy, '--columns', 'a', '--columns', 'b', '--clip', '9', ...sums];
const people = ['--user-column', 'who', '--max-contributions', '2', '--min-separation', '2'];
const daily = ['--time-column', 'when', '--bucket', 'day'];

async function linesOf(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return stdout.trimEnd().split('\n').slice(1);
}

for (const [name, options] of [
  ['rows', []],
  ['persons by rows', people],
  ['days', daily],
  ['persons by days', [...people, ...daily]],
]) {
  test(`state: statistics of ${name}: several runs release the same as one`, async () => {
    for (const command of [moments, [...histogram, '--post-process', 'non-negative'], stack]) {
      const args = [...command, ...seeded, ...options];
      const whole = await linesOf(args, header + days.join(''));
      const state = ['--state', freshState()];
      const parts = [];
      for (const part of [days[0], days[1] + days[2], days[3]]) {
        parts.push(...(await linesOf([...args, ...state], header + part)));
      }
      assert.deepEqual(parts, whole);
    }
  });
}

test('state: moments keep the columns of the first run, whatever order a later one has', async () => {
  const state = ['--state', freshState()];
  const first = await linesOf([...moments, ...seeded, ...state], header + days[0]);
  const turned = 'b,room,a,who\n4,hall,3,x\n';
  const other = moments.map((it) => ({ a: 'b', b: 'a' })[it] ?? it);
  const { stdout, code, stderr } = await dpFtrl([...other, ...seeded, ...state], { input: turned });
  assert.equal(code, 0, stderr);
  const [head, row] = stdout.split('\n');
  assert.match(head, /^step,count,count_low,count_high,a_mean/);
  const whole = await linesOf([...moments, ...seeded], `a,b\n1,4\n2,4\n1,5\n3,4\n`);
  assert.deepEqual([...first, row], whole);
});

test('state: a run that is killed at any instant leaves each step its one sample', async () => {
  for (const command of [moments, histogram, stack]) {
    const rows = days.join('').trimEnd().split('\n');
    const path = freshState();
    const args = [...command, '--state', path];
    const seen = [];
    const see = (stdout) => {
      // Omits the line truncated by the kill.
      const lines = stdout.split('\n').slice(1, -1);
      for (const line of lines) {
        const step = line
          .split(',')
          .slice(0, command === histogram ? 2 : 1)
          .join();
        const known = seen.find((it) => it.step === step);
        if (known) assert.equal(line, known.line);
        else seen.push({ step, line });
      }
      return lines.length;
    };
    for (const numRows of [2, 4, 7]) {
      const input = `${header}${rows.slice(0, numRows).join('\n')}\n`;
      // From the second life on, the first steps are requested again.
      const again = seen.length > 0 ? ['--first-step', '1'] : [];
      const isOut = ({ stdout }) => stdout.includes(`\n${numRows},`);
      const { child, ended } = await runningOn(input, [...args, ...again], isOut);
      child.kill('SIGKILL');
      const { stdout, signal } = await ended;
      assert.equal(signal, 'SIGKILL');
      assert.ok(see(stdout) >= numRows - 1);
    }
    // Killed before any output: the state may be ahead, but gives the same releases.
    const { child, ended } = await runningOn(
      `${header}${rows.slice(7).join('\n')}\n`,
      args,
      () => true,
    );
    child.kill('SIGKILL');
    await ended;
    const all = await dpFtrl([...args, '--first-step', '1'], {
      input: `${header}${rows.join('\n')}\n`,
    });
    assert.equal(all.code, 0, all.stderr);
    assert.equal(see(all.stdout), rows.length * (command === histogram ? 3 : 1));
    const [first, ...rest] = rows;
    const changed = first.replace(',1,4,hall', ',5,4,pool');
    assert.notEqual(changed, first);
    const input = `${header}${[changed, ...rest].join('\n')}\n`;
    await fails([...args, '--first-step', '1'], 2, /step 1 was released for another row/, {
      input,
    });
  }
});

test('state: rows of a day that a killed run released are refused, and persons stay counted', async () => {
  const args = [...histogram, ...people, ...daily, '--state', freshState()];
  const input = header + days[0] + days[1];
  // The second day ends the first, which is then written.
  const isOut = ({ stdout }) => stdout.includes('2026-03-01');
  const { child, ended } = await runningOn(input, args, isOut);
  child.kill('SIGKILL');
  await ended;
  await fails(args, 2, /is in a day that an earlier run with this --state released/, { input });
  const lines = await linesOf(args, header + days[1] + days[3]);
  assert.match(lines[0], /^2,2026-03-02,hall/);
  assert.match(lines.at(-1), /^4,2026-03-04,other/);
});

test('state: a budget pays once for all runs of a statistic', async () => {
  const budget = [
    '--budget',
    join(folder, 'budget'),
    '--budget-epsilon',
    '1.2',
    '--budget-delta',
    '1e-6',
  ];
  for (const command of [moments, stack]) {
    const own = budget.map((it) => (it === budget[1] ? `${it}-${command[0]}` : it));
    const args = [...command, '--state', freshState(), ...own];
    await linesOf(args, header + days[0]);
    const second = await linesOf(args, header + days[1]);
    assert.match(second[0], /^4,/);
    await fails([...command, ...own], 2, /must fit what is left of the budget/, {
      input: header + days[0],
    });
  }
});

test('state: a state that a program began is refused', async () => {
  const { load } = await importEntry('dp-ftrl');
  const { FileStore } = await importEntry('dp-ftrl/file-store');
  const dp = await load();
  for (const about of [undefined, 'mine', '{"command":1}', 'null']) {
    const path = freshState();
    const store = await FileStore.open(path);
    const what = { columns: { a: [0, 5], b: [0, 9] }, strategy: 'tree', steps: 12 };
    const stream = await dp.moments({ ...what, epsilon: 1, delta: 1e-6, store, about });
    await stream.release({ a: 1, b: 1 });
    await stream.dispose();
    await store.close();
    await fails([...moments, '--state', path], 2, /: it was not begun by dp-ftrl moments$/, {
      input: header + days[0],
    });
  }
});

test('state: a program can read what the command released', async () => {
  const { load } = await importEntry('dp-ftrl');
  const { FileStore } = await importEntry('dp-ftrl/file-store');
  const dp = await load();
  const path = freshState();
  const lines = await linesOf([...moments, ...people, ...daily, '--state', path], header + days[0]);
  const columns = ['a', 'b'];
  const options = {
    ...{ delta: '0.000001', workload: 'prefix', mode: 'grid', strategy: 'tree' },
    'user-column': 'who',
    'time-column': 'when',
    bucket: 'day',
    'time-zone': 'UTC',
    from: '2026-03-01',
  };
  const store = await FileStore.open(path);
  const stream = await dp.moments({
    columns: { a: [0, 5], b: [0, 9] },
    steps: 12,
    epsilon: 1,
    delta: 1e-6,
    strategy: 'tree',
    people: { times: 2, apart: 2 },
    about: JSON.stringify({ command: 'moments', columns, options }),
    store,
  });
  const { count } = await stream.at(0);
  assert.deepEqual(lines[0].split(',').slice(2, 5).map(Number), [
    count.value,
    count.low,
    count.high,
  ]);
  await stream.dispose();
  await store.close();
});
