// SPDX-License-Identifier: Apache-2.0

// --state with people and with time buckets: several runs give one release, however they are split.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails, runningOn } from './support/command.mjs';
import { cli, dpFtrl } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { copierOf, flipped, scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('state');
let numStates = 0;
const freshState = () => join(folder, `state-${++numStates}`);

const header = 'when,who,x\n';
/** Four days, the third of which has no rows. */
const days = [
  '2026-03-01,ann,1\n2026-03-01,bob,2\n2026-03-01,ann,1\n',
  '2026-03-02,ann,3\n2026-03-02,eve,0.5\n',
  '',
  '2026-03-04,bob,1\n2026-03-04,ann,1\n2026-03-04,ann,1\n2026-03-04,eve,2\n',
];
const base = ['release', '--epsilon', '1', '--delta', '1e-6', '--clip', '3', '--columns', 'x'];
const target = [...base, '--strategy', 'tree', '--steps', '10', '--seed', '5', '--quiet'];
const people = ['--user-column', 'who', '--max-contributions', '2'];
const apart = [...people, '--min-separation', '2'];
const daily = ['--time-column', 'when', '--bucket', 'day'];

async function rowsOf(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return stdout.trimEnd().split('\n').slice(1);
}

for (const [name, options] of [
  ['persons by rows', people],
  ['persons by rows, apart', apart],
  ['days', daily],
  ['persons by days', [...people, ...daily]],
  ['persons by days, apart', [...apart, ...daily]],
]) {
  test(`state: ${name}, several runs give what one gives`, async () => {
    const whole = await rowsOf([...target, ...options], header + days.join(''));
    const state = ['--state', freshState()];
    const parts = [];
    for (const part of [days[0], days[1] + days[2], days[3]]) {
      parts.push(...(await rowsOf([...target, ...options, ...state], header + part)));
    }
    assert.deepEqual(parts, whole);
    assert.equal(parts.length, options.includes('--time-column') ? 4 : 9);
  });
}

test('state: rows released before a fault are written, and the next run continues after them', async () => {
  const output = join(folder, 'out.csv');
  const args = [...target, '--state', freshState(), '--output', output];
  await fails(args, 2, /steps 1 to 2 are released: leave their rows out of the next run/, {
    input: 'x\n1\n1\nbad\n',
  });
  assert.equal(readFileSync(output, 'utf8').trimEnd().split('\n').length, 3);
  const rest = await rowsOf([...target, '--state', args[args.length - 3]], 'x\n1\n');
  assert.match(rest.join(), /^3,/);
});

/** Text of a file; empty if there is no file. */
function textIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    assert.equal(error.code, 'ENOENT');
    return '';
  }
}

/** Starts a run whose input stays open after three rows. */
const running = (args, isReleased) => runningOn('x\n1\n1\n1\n', args, isReleased);

const numLines = (text) => text.split('\n').length - 1;
const RELEASED = 'steps 1 to 3 are released: leave their rows out of the next run';

for (const signal of ['SIGINT', 'SIGTERM']) {
  test(`state: ${signal} reports the released steps, and the next run continues`, async () => {
    const state = ['--state', freshState()];
    const { child, ended } = await running([...target, ...state], ({ stdout }) => {
      return numLines(stdout) === 4;
    });
    child.kill(signal);
    const { stderr, ...end } = await ended;
    assert.deepEqual([end.code, end.signal], [null, signal]);
    assert.ok(stderr.endsWith(`release: interrupted by ${signal}; ${RELEASED}\n`), stderr);
    assert.ok(!existsSync(`${state[1]}.lock`));
    assert.match((await rowsOf([...target, ...state], 'x\n1\n')).join(), /^4,/);
  });

  test(`state: ${signal} leaves the released steps in --output`, async () => {
    for (const json of [[], ['--json']]) {
      const place = mkdtempSync(join(folder, 'output-'));
      const output = join(place, 'out');
      const args = [...target, ...json, '--state', join(place, 'state'), '--output', output];
      const { child, ended } = await running(args, () => {
        const part = readdirSync(place).find((name) => name.endsWith('.tmp'));
        // The first one only tests whether the place is writable.
        return part && /\n3,|"step":3,/.test(textIfThere(join(place, part)));
      });
      child.kill(signal);
      const { stderr, ...end } = await ended;
      assert.deepEqual([end.code, end.signal], [null, signal]);
      assert.ok(stderr.endsWith(`release: interrupted by ${signal}; ${RELEASED}\n`), stderr);
      const text = readFileSync(output, 'utf8');
      if (json.length === 0) {
        assert.equal(numLines(text), 4);
      } else {
        const { rows, complete, error } = JSON.parse(text);
        assert.deepEqual([rows.length, complete, error], [3, false, { code: 'interrupted' }]);
      }
      assert.deepEqual(readdirSync(place).sort(), ['out', 'state']);
    }
  });
}

test('state: a signal before the first step ends the run silently', async () => {
  const [state, output] = [freshState(), join(folder, 'nothing.csv')];
  const child = spawn(cli, [...target, '--state', state, '--output', output]);
  let said = '';
  child.stderr.on('data', (text) => (said += text));
  child.stdin.write('x\n');
  while (!existsSync(`${state}.lock`)) await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, 100));
  child.kill('SIGTERM');
  const [code, signal] = await once(child, 'close');
  assert.deepEqual([code, signal], [null, 'SIGTERM']);
  assert.doesNotMatch(said, /interrupted|released/);
  assert.ok(!existsSync(output) && !existsSync(state));
});

test('state: when the output pipe is closed, the released steps are reported', async () => {
  const state = ['--state', freshState()];
  const { child, ended } = await running([...target, ...state], ({ stdout }) => {
    return numLines(stdout) === 4;
  });
  child.stdout.destroy();
  child.stdin.write('1\n1\n');
  const { stderr, ...end } = await ended;
  assert.deepEqual([end.code, end.signal], [0, null]);
  assert.match(stderr, /^dp-ftrl release: the output was closed; steps 1 to 5 are released/m);
  assert.match((await rowsOf([...target, ...state], 'x\n1\n')).join(), /^6,/);
});

test('state: a user whose contributions are used up does not count in the next run', async () => {
  const once = ['--user-column', 'who', '--max-contributions', '1', ...daily];
  const [state, other] = [freshState(), freshState()];
  const day = (n, who, x) => `${header}2026-03-0${n},${who},${x}\n`;
  const run = (path, input) => rowsOf([...target, ...once, '--state', path], input);
  assert.deepEqual(await run(state, day(1, 'ann', 1)), await run(other, day(1, 'ann', 1)));
  // Releases do not depend on ann's contributions on the second day.
  assert.deepEqual(await run(state, day(2, 'ann', 3)), await run(other, day(2, 'ann', -3)));
  assert.notDeepEqual(await run(state, day(3, 'bob', 3)), await run(other, day(3, 'bob', -3)));
});

test('state: a user who counted yesterday does not count today if days must be apart', async () => {
  const [state, other] = [freshState(), freshState()];
  const day = (n, who, x) => `2026-03-0${n},${who},${x}\n`;
  const run = (path, input) =>
    rowsOf([...target, ...apart, ...daily, '--state', path], header + input);
  // The day on which ann counts is not the first day of the release.
  const begin = day(1, 'bob', 1) + day(2, 'ann', 1);
  assert.deepEqual(await run(state, begin), await run(other, begin));
  assert.deepEqual(await run(state, day(3, 'ann', 3)), await run(other, day(3, 'ann', -3)));
  assert.notDeepEqual(await run(state, day(4, 'ann', 3)), await run(other, day(4, 'ann', -3)));
});

test('state: all rows of a user in a bucket are clipped together, even if their sum overflows', async () => {
  const day = (...rows) => header + rows.map((row) => `2026-03-01,${row}\n`).join('');
  const run = (input) => rowsOf([...target, ...people, ...daily, '--state', freshState()], input);
  const [one] = await run(day('ann,3', 'bob,1'));
  assert.deepEqual(await run(day('ann,2', 'bob,1', 'ann,2')), [one]);
  assert.deepEqual(await run(day('ann,1.7e308', 'bob,1', 'ann,1.7e308')), [one]);
  const [below] = await run(day('ann,-3', 'bob,1'));
  assert.deepEqual(await run(day('ann,-1.7e308', 'bob,1', 'ann,-1.7e308')), [below]);
  assert.notEqual(one, below);
});

test('state: the last day of a run cannot be continued, and --to can end a run later', async () => {
  const path = freshState();
  const args = [...target, ...people, ...daily, '--state', path];
  const until = ['--from', '2026-03-01', '--to', '2026-03-03'];
  assert.equal((await rowsOf([...args, ...until], header + days[0] + days[1])).length, 3);
  const late = await fails(args, 2, /row 1 \(line 2\) is in a day that an earlier run/, {
    input: `${header}2026-03-03,ann,1\n`,
  });
  assert.equal(late.stdout.trim().split('\n').length, 1, 'only the header');
  // A row after --to is left out, and can be given to a later run.
  const next = '2026-03-05,ann,1\n';
  const ended = await rowsOf([...args, '--to', '2026-03-04'], header + days[3] + next);
  assert.deepEqual(
    ended.map((row) => row.split(',')[1]),
    ['2026-03-04'],
  );
  assert.equal((await rowsOf(args, header + next)).length, 1);
  await fails(
    [...args, '--from', '2026-02-01'],
    2,
    /begun with --from 2026-03-01, this run has --from 2026-02-01/,
    {
      input: header + days[3],
    },
  );
  await fails(args, 2, /past the horizon/, { input: `${header}2026-03-11,ann,1\n` });
});

test('state: rows of persons can be given again, and are released again', async () => {
  const run = [...target, ...apart, '--state', freshState()];
  const all = header + days.join('');
  const first = await rowsOf(run, header + days[0] + days[1]);
  const again = [...run, '--first-step', '2'];
  const rest = await rowsOf(again, all.replace('2026-03-01,ann,1\n', ''));
  assert.deepEqual([first[0], ...rest], await rowsOf([...target, ...apart], all));
  for (const other of ['2026-03-01,eve,2', '2026-03-01,bob,1']) {
    await fails(again, 2, /--state \S+: step 2 was released for another row/, {
      input: `${header}${other}\n`,
    });
  }
});

test('state: rows that add nothing can be given again, too', async () => {
  for (const own of [[], people]) {
    const run = [...target, ...own, '--missing', 'skip', '--state', freshState()];
    const input = 'who,x\nann,1\nbob,\nann,\neve,2\n';
    const first = await rowsOf(run, input);
    assert.deepEqual(await rowsOf([...run, '--first-step', '1'], input), first);
    await fails([...run, '--first-step', '1'], 2, /step 2 was released for another row/, {
      input: input.replace('bob,', 'bob,1'),
    });
  }
});

test('state: a changed byte in a state of persons is noticed', async () => {
  const path = freshState();
  const run = [...target, ...people, ...daily, '--state'];
  await rowsOf([...run, path], header + days[0] + days[1]);
  const damaged = copierOf(path);
  // The first 32 bytes are the key, which this run does not use.
  const positions = Array.from({ length: readFileSync(path).length - 32 }, (_, i) => 32 + i);
  for (const at of some(positions, 41)) {
    await fails([...run, damaged(flipped(at))], 2, /--state \S+: it (is|was|sums) /, {
      input: header + days[3],
    });
  }
});

test('state: the first bucket of a new state must be known', async () => {
  const path = freshState();
  const run = [...target, ...daily, '--state', path];
  const unknown = /--state \S+: the first day of a new state is not known: give --from, or a row$/;
  await fails(run, 2, unknown, { input: header });
  await fails(run, 2, /row 1 \(line 2\), column "when" must be a date/, {
    input: `${header}x,ann,1\n`,
  });
  assert.ok(!existsSync(path));
  const first = await rowsOf([...run, '--from', '2026-02-28'], header + days[0]);
  assert.match(first.join(), /^1,2026-02-28,.*2,2026-03-01,/);
  assert.match((await rowsOf(run, header + days[1])).join(), /^3,2026-03-02,/);
  const late = [...run, '--to', '2026-03-11'];
  await fails(late, 2, /--to is past the horizon of --steps 10$/, { input: header + days[3] });
});

const sums = ['release', '--epsilon', '1e6', '--delta', '1e-6', '--clip', '1000', '--quiet'];
const tree = [...sums, '--strategy', 'tree', '--steps', '6'];

/** Sums of the last step, in hundreds. */
function lastOf(stdout) {
  const [header, ...lines] = stdout.trimEnd().split('\n');
  const cells = lines.at(-1).split(',').slice(1, -1);
  return [header, cells.map((cell) => Math.round(Number(cell) / 100) + 0)];
}

test('state: columns are found by name, and others are refused', async () => {
  const run = [...tree, '--state', freshState()];
  assert.deepEqual(lastOf((await dpFtrl(run, { input: 'a,b\n100,0\n100,0\n' })).stdout), [
    'step,a,b,std',
    [2, 0],
  ]);
  const turned = await dpFtrl(run, { input: 'b,a\n0,100\n0,100\n' });
  assert.deepEqual(lastOf(turned.stdout), ['step,a,b,std', [4, 0]], turned.stderr);
  const both = /--state .*: it sums the columns "a", "b", this run "a", "c"$/;
  await fails(run, 2, both, { input: 'a,c\n1,2\n' });
  await fails(run, 2, /"a", "b", this run "a", "b", "c"$/, { input: 'a,b,c\n1,2,3\n' });
  await fails([...run, '--columns', 'a'], 2, /"a", "b", this run "a"$/, { input: 'a,b\n1,2\n' });
  const names = ['--columns', 'b', '--columns', 'a'];
  const chosen = await dpFtrl([...run, ...names], { input: 'a,b,c\n700,0,x\n' });
  assert.deepEqual(lastOf(chosen.stdout)[1], [11, 0]);
});

test('state: errors name the file and say what is wrong with it', async () => {
  const path = freshState();
  const input = 'x\n1\n';
  const other = copierOf(path);
  await rowsOf([...tree, '--state', path], input);
  const seeded = freshState();
  await dpFtrl([...tree, '--seed', '1', '--state', seeded], { input });
  for (const [file, words, ...more] of some(
    [
      [path, 'it was begun without --epochs$', '--epochs', '2'],
      [path, 'it was begun without --seed$', '--seed', '1'],
      [seeded, 'it was begun with --seed 1, this run has none$'],
      [seeded, 'it was begun with --seed 1, this run has --seed 2$', '--seed', '2'],
      [other(() => Buffer.alloc(0)), 'it is empty'],
      [other(() => Buffer.from('a,b\n')), 'it is damaged or cut short'],
      [other((bytes) => bytes.subarray(0, 50)), 'it is damaged or cut short'],
      [other((bytes) => bytes.subarray(0, -1)), 'it is damaged or cut short'],
      [other(flipped(-1)), 'it is damaged or cut short'],
      [other(flipped(0)), 'it is damaged'],
      [other(flipped(32)), 'it is damaged, or not a state of this version'],
      [folder, 'must be a file of one name, or the name of a new one, got a folder'],
    ],
    3,
  )) {
    const { stderr } = await fails([...tree, '--state', file, ...more], 2, /release: --state /, {
      input,
    });
    assert.match(stderr, new RegExp(`--state ${file}:? ${words}`, 'm'));
  }
});

test('state: --continue refuses a state that is not there, and goes on with one that is', async () => {
  const learn = [
    'learn',
    '--epsilon',
    '4',
    '--delta',
    '1e-6',
    '--clip',
    '1',
    '--label',
    'x',
    '--steps',
    '10',
  ];
  for (const [args, rows] of [
    [target, 'x\n1\n2\n'],
    [[...target, ...people], 'who,x\nann,1\nbob,2\n'],
    [
      [
        'moments',
        '--epsilon',
        '1',
        '--delta',
        '1e-6',
        '--columns',
        'x=0:3',
        '--steps',
        '10',
        '--quiet',
      ],
      'x\n1\n2\n',
    ],
    [
      [
        'histogram',
        '--epsilon',
        '1',
        '--delta',
        '1e-6',
        '--by',
        'x',
        '--domain',
        '1,2',
        '--steps',
        '10',
        '--quiet',
      ],
      'x\n1\n2\n',
    ],
    [[...learn, '--quiet'], 'y,x\n0.5,1\n0.25,-1\n'],
  ]) {
    const path = freshState();
    const state = ['--state', path, '--continue'];
    const refused = await dpFtrl([...args, ...state], { input: rows });
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, new RegExp(`--state ${path}: there is none to --continue`));
    assert.ok(!existsSync(path) && !existsSync(`${path}.lock`));
    for (const more of [state.slice(0, 2), state]) {
      const { code, stderr } = await dpFtrl([...args, ...more], { input: rows });
      assert.equal(code, 0, stderr);
    }
  }
  const alone = await dpFtrl([...target, '--continue'], { input: 'x\n1\n' });
  assert.match(alone.stderr, /--continue goes with --state/);
});
