// SPDX-License-Identifier: Apache-2.0

// dp-ftrl release with several workloads: writes the releases of the library.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const folder = scratchFolder('cli-sums');

const days = [1, 1, 1, 2, 4, 4, 5];
const rows = days.map((day, i) => [
  `2026-03-0${day}`,
  ['ann', 'bob', 'ann'][i % 3],
  (i % 4) / 2,
  i % 3,
]);
const input = `when,who,a,b\n${rows.map((row) => `${row.join()}\n`).join('')}`;
const sums = ['--workloads', 'prefix=prefix,window_3=window:3,decay_0.5=momentum:0+decay:0.5'];
const columns = ['--columns', 'a', '--columns', 'b'];
const args = [
  'release',
  '--epsilon',
  '1',
  '--delta',
  '1e-6',
  '--clip',
  '2',
  ...columns,
  ...sums,
  '--quiet',
];
const seeded = [...args, '--seed', '9'];
const daily = ['--time-column', 'when', '--bucket', 'day'];
const people = ['--user-column', 'who', '--max-contributions', '2'];

const workloads = { prefix: 'prefix', window_3: { window: 3 }, 'decay_0.5': { decay: 0.5 } };
const names = Object.keys(workloads);
const what = { workloads, dimension: 2, clip: 2 };
const target = { epsilon: 1, delta: 1e-6, insecureSeed: 9 };
const records = rows.map(([, , a, b]) => [a, b]);

/** Lines of the output, as numbers except for times. */
function tableOf(stdout) {
  const [head, ...lines] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  return {
    head,
    lines: lines.map((line) => line.map((cell) => (/^\d{4}-/.test(cell) ? cell : Number(cell)))),
  };
}

async function table(...given) {
  const { code, stdout, stderr } = await dpFtrl(given, { input });
  assert.equal(code, 0, stderr);
  return tableOf(stdout);
}

/** Cells of a step: for each workload, both columns and the standard deviation of their noise. */
const cellsOf = ({ sums: found }) =>
  Object.values(found).flatMap(({ values, stddev }) => [...values, stddev]);

/** Calls `use` with the stream of the library, and returns its result. */
function released(options, use) {
  const stream = dp.sums({ ...what, ...target, ...options });
  const result = use(stream);
  stream.dispose();
  return result;
}

test('several workloads: rows have the numbers of the library, in columns by workload and column', async () => {
  for (const [options, more] of [
    [[], {}],
    [['--importance', '1,4,2'], { importance: { prefix: 1, window_3: 4, 'decay_0.5': 2 } }],
    [
      ['--strategy', 'honaker', '--neighbours', 'replace-one'],
      { strategy: 'honaker', neighbours: 'replace-one' },
    ],
    [['--participations', '2', '--min-separation', '3'], { participation: { times: 2, apart: 3 } }],
  ]) {
    const { head, lines } = await table(...seeded, ...options);
    assert.equal(
      head.join(),
      'step,a_prefix,b_prefix,prefix_std,a_window_3,b_window_3,window_3_std,a_decay_0.5,b_decay_0.5,decay_0.5_std',
    );
    const expected = released({ ...more, steps: 7 }, (it) => it.releaseMany(records.flat()));
    assert.deepEqual(
      lines,
      expected.map((step, t) => [t + 1, ...cellsOf(step)]),
    );
  }
});

test('several workloads: buckets and persons are those of the library', async () => {
  const { head, lines } = await table(...seeded, ...daily);
  assert.deepEqual(head.slice(0, 4), ['step', 'when', 'a_prefix', 'b_prefix']);
  const at = (day) => rows.flatMap((row, i) => (row[0].endsWith(day) ? [i] : []));
  const recordsAt = (day) => at(day).flatMap((i) => records[i]);
  const expected = released({ steps: 5 }, (it) =>
    [1, 2, 3, 4, 5].map((day) => it.releaseBatch(recordsAt(day))),
  );
  const named = (steps) => steps.map((step, t) => [t + 1, `2026-03-0${t + 1}`, ...cellsOf(step)]);
  assert.deepEqual(lines, named(expected));
  const ofPeople = released({ steps: 5, people: { times: 2, apart: 1 } }, (it) =>
    [1, 2, 3, 4, 5].map((day) => {
      const who = at(day).map((i) => rows[i][1]);
      return it.releaseBatch(who, recordsAt(day));
    }),
  );
  const found = await table(...seeded, ...daily, ...people);
  assert.deepEqual(found.lines, named(ofPeople));
  assert.notDeepEqual(found.lines, lines);
});

test('several workloads: several runs with a state give the rows of one run, also with persons', async () => {
  for (const options of [[], [...daily, ...people]]) {
    const whole = await table(...seeded, ...options, '--steps', '7');
    const state = ['--state', join(folder, `state-${options.length}`), '--steps', '7'];
    const header = input.slice(0, input.indexOf('\n') + 1);
    const lines = input.slice(header.length).split(/(?<=\n)/);
    const parts = [];
    for (const part of [lines.slice(0, 3), lines.slice(3, 4), lines.slice(4)]) {
      const { code, stdout, stderr } = await dpFtrl([...seeded, ...options, ...state], {
        input: header + part.join(''),
      });
      assert.equal(code, 0, stderr);
      parts.push(...tableOf(stdout).lines);
    }
    assert.deepEqual(parts, whole.lines);
  }
});

test('several workloads: JSON and JSON lines have the same numbers, and the errors of each', async () => {
  const { lines } = await table(...seeded);
  const { code, stdout, stderr } = await dpFtrl([...seeded, '--json'], { input });
  assert.equal(code, 0, stderr);
  const all = JSON.parse(stdout);
  assert.equal(all.certificate.workload, 'prefix + window=3 + momentum=0,decay=0.5');
  assert.deepEqual(all.columns, ['a', 'b']);
  const errors = released({ steps: 7 }, ({ certificate }) => certificate.workloads);
  const shown = ['prefix', 'window=3', 'momentum=0,decay=0.5'];
  assert.deepEqual(
    all.workloads,
    names.map((name, i) => ({ name, workload: shown[i], ...errors[name] })),
  );
  const cells = all.rows.map(({ step, sums: own, std }) => [
    step,
    ...names.flatMap((name) => [own[name].a, own[name].b, std[name]]),
  ]);
  assert.deepEqual(cells, lines);
  assert.equal(all.complete, true);
  const objects = await dpFtrl([...seeded, '--format', 'jsonl'], {
    input: rows.map(([, , a, b]) => `${JSON.stringify({ a, b })}\n`).join(''),
  });
  assert.equal(objects.code, 0, objects.stderr);
  assert.deepEqual(
    objects.stdout
      .trimEnd()
      .split('\n')
      .map((line) => Object.values(JSON.parse(line))),
    lines,
  );
});

test('several workloads: --show-nonprivate shows each as it is defined', async () => {
  const { head, lines } = await table(...seeded, '--show-nonprivate');
  const of = (name) => lines.map((line) => line[head.indexOf(name)]);
  const a = records.map(([x, y]) => x * Math.min(1, 2 / (Math.hypot(x, y) || 1)));
  const truths = {
    a_prefix_true: (t) => a.slice(0, t + 1),
    a_window_3_true: (t) => a.slice(Math.max(0, t - 2), t + 1),
    'a_decay_0.5_true': (t) => a.slice(0, t + 1).map((x, i) => x * 0.5 ** (t - i)),
  };
  for (const [name, termsOf] of Object.entries(truths)) {
    of(name).forEach((value, t) =>
      close(
        value,
        termsOf(t).reduce((sum, x) => sum + x, 0),
        1e-12,
        `${name} ${t}`,
      ),
    );
  }
});

test('several workloads: the guarantee is stated, the budget charged once, and each has its own panel', async () => {
  const [budget, plot] = [join(folder, 'budget'), join(folder, 'sums.html')];
  const paid = ['--budget', budget, '--budget-epsilon', '1.2', '--budget-delta', '1e-6'];
  const loud = args.filter((it) => it !== '--quiet');
  const { code, stderr } = await dpFtrl([...loud, ...paid, '--plot', plot], { input });
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /\(1, 0\.000001\)-differentially private: one row .* workload prefix \+ window=3 \+ momentum=0,decay=0\.5, mechanism optimal/,
  );
  assert.match(stderr, /no total of this run can be told from 0/);
  const { releases } = JSON.parse(readFileSync(budget, 'utf8'));
  const { mu } = released({ steps: 7 }, ({ certificate }) => certificate);
  assert.deepEqual(
    releases.map((it) => it.mu),
    [mu],
  );
  await fails([...args, ...paid], 2, /must fit what is left of the budget/, { input });
  const page = readFileSync(plot, 'utf8');
  for (const name of ['prefix', 'window_3', 'decay_0.5']) {
    assert.ok(page.includes(`>b: ${name}<`) && page.includes(`b_${name}_low`), name);
  }
});

test('several workloads: no notice is printed if the totals can be told from 0', async () => {
  const sure = args.filter((it) => it !== '--quiet').map((it) => (it === '1' ? '900' : it));
  const { stderr } = await dpFtrl(sure, { input });
  assert.doesNotMatch(stderr, /told from 0/);
});

test('several workloads: rates and matrices come from files', async () => {
  const [rates, matrix] = [join(folder, 'falling.csv'), join(folder, 'mixed.csv')];
  writeFileSync(rates, '1\n0.5\n0.25\n');
  writeFileSync(matrix, '1,0,0\n1,1,0\n0,1,2\n');
  const given = [
    'release',
    '--epsilon',
    '1',
    '--delta',
    '1e-6',
    '--clip',
    '1',
    '--steps',
    '3',
    '--seed',
    '2',
    '--quiet',
  ];
  const named = [`falling=${rates}`, `slowly=${rates}+momentum:0.5`, `mixed=${matrix}`];
  const files = named.flatMap((it) => ['--workloads', it]);
  const short = input.split('\n').slice(0, 4).join('\n');
  const { code, stdout, stderr } = await dpFtrl([...given, '--columns', 'a', ...files], {
    input: short,
  });
  assert.equal(code, 0, stderr);
  const headers = ['falling', 'slowly', 'mixed'].flatMap((name) => [`a_${name}`, `${name}_std`]);
  const found = tableOf(stdout);
  assert.deepEqual(found.head, ['step', ...headers]);
  const all = {
    falling: { rates: [1, 0.5, 0.25] },
    slowly: { rates: [1, 0.5, 0.25], momentum: 0.5 },
    mixed: { matrix: [1, 0, 0, 1, 1, 0, 0, 1, 2] },
  };
  const options = { ...target, insecureSeed: 2, steps: 3, workloads: all, dimension: 1 };
  const expected = dp.sums(options).releaseMany(rows.slice(0, 3).map(([, , a]) => a));
  assert.deepEqual(
    found.lines.map((line) => line.slice(1)),
    expected.map(cellsOf),
  );
});
