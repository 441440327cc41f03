// SPDX-License-Identifier: Apache-2.0

// The noise chosen for a question, at any horizon, in release, moments, histogram, queries and
// count --for both: no known noise is less, a state keeps the choice, and some options leave none.
// Other choices of count are tested in cli-count.test.mjs.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const folder = scratchFolder('choice');
const header = 'time,who,x\n';

/** Runs over a table with only a header, and reads the output of `--json`. */
async function shown(...args) {
  const { code, stdout, stderr } = await dpFtrl([...args, '--json', '--quiet'], { input: header });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const each = ['release', '--count', '--workload', 'window=1'];

test('release: no noise that is known for single steps is less than the chosen one', async () => {
  const targets = [
    [1, 1e-6],
    [0.1, 1e-9],
    [8, 1e-3],
    [1, 0],
    [0.1, 0],
  ];
  const cases = [2, 3, 31, 365, 4000].flatMap((steps) =>
    targets.flatMap(([epsilon, delta]) =>
      [undefined, 1, 2, 12].flatMap((times) =>
        ['zero-out', 'replace-one'].map((neighbours) => ({
          ...{ steps, epsilon, delta, times, neighbours },
        })),
      ),
    ),
  );
  for (const { steps, epsilon, delta, times, neighbours } of some(cases, 13)) {
    if (times > steps) continue;
    const people = times ? ['--user-column', 'who', '--max-contributions', String(times)] : [];
    const { choice, certificate } = await shown(
      ...each,
      ...['--epsilon', String(epsilon), ...(delta === 0 ? ['--pure'] : ['--delta', String(delta)])],
      ...['--steps', String(steps), '--neighbours', neighbours],
      ...people,
    );
    const where = JSON.stringify({ steps, epsilon, delta, times, neighbours, choice });
    // Replacing a record moves it twice as far as leaving it out.
    const moved = neighbours === 'replace-one' ? 2 : 1;
    const { clipNorm, noiseMultiplier, meanError } = certificate;
    const std = moved * clipNorm * noiseMultiplier * meanError;
    assert.ok(std <= 1.01 * ((moved * Math.SQRT2 * (times ?? 1)) / epsilon), `${where}: ${std}`);
    if (delta === 0) {
      assert.equal(choice, undefined, where);
      assert.equal(certificate.delta, 0, where);
      continue;
    }
    assert.equal(certificate.delta, choice.noise === 'Laplace' ? 0 : delta, where);
    assert.ok(choice.std <= 1.01 * choice.next.std, where);
    assert.ok(Math.abs(choice.std / std - 1) < 0.02, `${where}: ${std}`);
    const { noiseMultiplier: gauss } = dp.calibrate({ epsilon, delta });
    assert.ok(std <= 1.01 * moved * gauss * Math.sqrt(times ?? 1), `${where}: ${std}`);
    const participation = times > 1 ? { times, apart: 1 } : undefined;
    const asked = { steps, workload: { window: 1 }, participation, objective: 'mean' };
    const { mechanisms } = dp.compare(asked).result();
    for (const { mechanism, meanError: unit } of mechanisms) {
      assert.ok(std <= 1.011 * moved * unit * gauss, `${where}: ${mechanism}`);
    }
  }
});

/** Root mean square of the first n numbers of a function. */
function rms(n, of) {
  let sum = 0;
  for (let i = 0; i < n; ++i) sum += of(i) ** 2;
  return Math.sqrt(sum / n);
}

/** All combinations of one value of each list. */
function combined(lists) {
  return Object.entries(lists).reduce(
    (all, [name, values]) =>
      all.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}

test('release: no noise that is known for sums over steps is less than the chosen one', async () => {
  const workloads = {
    prefix: 'prefix',
    'window=7': { window: 7 },
    'momentum=0,decay=0.9': { decay: 0.9 },
    'momentum=0.9': { momentum: 0.9 },
  };
  // Largest norms of rows, for Gaussian and for Laplace noise.
  const columns = { 'x=0:1': [1, 1], 'time=0:3,x=-4:2': [5, 7] };
  const cases = combined({
    columns: Object.keys(columns),
    workload: Object.keys(workloads),
    steps: [31, 2, 365, 1, 8, 4000],
    bound: [[1], [4, 7], [12, 1]],
    neighbours: ['zero-out', 'replace-one'],
    target: [
      [1, 1e-6],
      [8, 1e-9],
    ],
  });
  const isAsked = ({ workload, steps, bound: [times, apart = 1] }) =>
    (times - 1) * apart < steps && (workload !== 'window=7' || steps >= 7);
  const noises = new Set();
  for (const one of some(cases.filter(isAsked), 47)) {
    const { workload, steps, neighbours } = one;
    const [times, apart] = one.bound;
    const [epsilon, delta] = one.target;
    const { choice, certificate } = await shown(
      ...['release', '--columns', one.columns, '--workload', workload, '--steps', String(steps)],
      ...['--epsilon', String(epsilon), '--delta', String(delta), '--neighbours', neighbours],
      ...['--user-column', 'who', '--max-contributions', String(times)],
      ...(apart ? ['--min-separation', String(apart)] : []),
    );
    const where = JSON.stringify({ ...one, choice });
    const isPure = choice.noise === 'Laplace';
    assert.equal(certificate.delta, isPure ? 0 : delta, where);
    assert.equal(certificate.epsilon, epsilon, where);
    assert.equal(certificate.maxParticipations, times, where);
    assert.ok(!choice.next || choice.std <= 1.011 * choice.next.std, where);
    // Replacing a record moves it twice as far as leaving it out.
    const moved = neighbours === 'replace-one' ? 2 : 1;
    const [long, longL1] = columns[one.columns].map((norm) => moved * norm);
    assert.equal(moved * certificate.clipNorm, isPure ? longL1 : long, where);
    const { noiseMultiplier, meanError } = certificate;
    const std = (isPure ? longL1 : long) * noiseMultiplier * meanError;
    assert.ok(Math.abs(choice.std / std - 1) < 0.02, `${where}: ${std}`);
    const gauss = dp.calibrate({ epsilon, delta }).noiseMultiplier;
    const asked = { steps, workload: workloads[workload], objective: 'mean' };
    const participation = times === 1 ? 'once' : { times, apart };
    const { mechanisms } = dp.compare({ ...asked, participation }).result();
    for (const { mechanism, meanError: unit } of mechanisms) {
      assert.ok(std <= 1.012 * long * unit * gauss, `${where}: ${std}, ${mechanism}`);
    }
    if (workload === 'prefix') {
      // Steps with Laplace noise of their own, added up.
      const naive = (longL1 * rms(steps, (i) => Math.sqrt(i + 1)) * Math.SQRT2 * times) / epsilon;
      assert.ok(std <= 1.01 * naive, `${where}: ${naive}`);
      const problem = { steps, participation, neighbours, epsilon, delta: 0, clip: longL1 / moved };
      const pure = dp.counter(problem);
      const own = rms(steps, (i) => pure.stddev(i));
      pure.dispose();
      assert.ok(std <= 1.01 * own, `${where}: ${own}`);
    }
    noises.add(choice.noise);
  }
  assert.equal(noises.size, 2);
});

test('release: the noise follows from the options alone, never from the rows', async () => {
  const args = ['release', '--epsilon', '1', '--delta', '1e-6', '--columns', 'x=0:1'];
  const choices = [];
  for (const x of [0, 1, 1e9]) {
    const input = `${header}${`a,b,${x}\n`.repeat(9)}`;
    const { stdout } = await dpFtrl([...args, '--json', '--quiet'], { input });
    choices.push(JSON.parse(stdout).choice);
  }
  for (const choice of choices) assert.deepEqual(choice, choices[0]);
  assert.equal(choices[0].noise, 'Laplace');
});

test('release: --state keeps the noise that its first run chose', async () => {
  const state = ['--state', join(folder, 'state')];
  const args = ['release', '--steps', '9', '--epsilon', '1', '--columns', 'x=0:1', '--json'];
  const run = (...options) =>
    dpFtrl([...args, ...state, ...options], { input: `${header}a,b,1\na,b,0\n` });
  const first = await run('--delta', '1e-6');
  assert.equal(first.code, 0, first.stderr);
  const second = await run('--delta', '1e-6');
  assert.equal(second.code, 0, second.stderr);
  const [one, two] = [first, second].map(({ stdout }) => JSON.parse(stdout));
  assert.equal(one.choice.noise, 'Laplace');
  assert.deepEqual(two.choice, one.choice);
  assert.deepEqual(two.certificate, one.certificate);
  assert.deepEqual(
    two.rows.map(({ step }) => step),
    [3, 4],
  );
  // A larger delta, with which Gaussian noise would be less, is another question.
  const changed = [
    [['--delta', '0.3'], '--delta 0.000001, this run has --delta 0.3'],
    [['--pure'], '--delta 0.000001, this run has --pure'],
    [['--delta', '1e-6', '--workload', 'window=2'], '--workload prefix, this run has --workload w'],
    [['--delta', '1e-6', '--strategy', 'tree'], 'without --strategy'],
    [['--delta', '1e-6', '--bands', '2'], 'without --bands'],
    [['--delta', '1e-6', '--mode', 'lattice'], '--mode grid, this run has --mode lattice'],
    [['--delta', '1e-6', '--user-column', 'who', '--max-contributions', '9'], '--user-column'],
    [['--delta', '1e-6', '--epochs', '9'], 'without --epochs'],
    [['--delta', '1e-6', '--neighbours', 'replace-one'], '--neighbours zero-out, this run has'],
  ];
  for (const [options, what] of changed) {
    const { code, stdout, stderr } = await run(...options);
    assert.equal(code, 2, stderr);
    assert.equal(stdout, '');
    assert.ok(stderr.includes(what), stderr);
  }
});

test('moments, histogram: no mechanism that is known has less noise for persons', async () => {
  const questions = [
    ['moments', '--columns', 'x=0:1'],
    ['histogram', '--by', 'x', '--domain', '0,1', '--total'],
  ];
  const cases = questions.flatMap((question) =>
    ['prefix', 'window=7'].flatMap((workload) =>
      [12, 31, 100, 365].flatMap((steps) =>
        [
          [12, 1],
          [4, 7],
          [2, 30],
        ].flatMap(([times, apart]) =>
          ['zero-out', 'replace-one'].map((neighbours) => ({
            ...{ question, workload, steps, times, apart, neighbours },
          })),
        ),
      ),
    ),
  );
  const { noiseMultiplier } = dp.calibrate({ epsilon: 1, delta: 1e-6 });
  for (const { question, workload, steps, times, apart, neighbours } of some(cases, 6)) {
    if ((times - 1) * apart >= steps) continue;
    const people = ['--user-column', 'who', '--max-contributions', String(times)];
    const { choice, certificate } = await shown(
      ...[...question, '--epsilon', '1', '--delta', '1e-6', '--steps', String(steps)],
      ...['--workload', workload, '--neighbours', neighbours],
      ...[...people, '--min-separation', String(apart)],
    );
    const where = JSON.stringify({ question, workload, steps, times, apart, neighbours, choice });
    assert.ok(choice.mechanism.startsWith(certificate.mechanism), where);
    assert.ok(choice.std <= 1.011 * choice.next.std, where);
    // The noise multiplier is the same for all mechanisms.
    const chosen = certificate.meanError * certificate.noiseMultiplier;
    const asked = {
      ...{ steps, participation: { times, apart }, objective: 'mean' },
      workload: workload === 'prefix' ? workload : { window: 7 },
    };
    for (const { mechanism, meanError } of dp.compare(asked).result().mechanisms) {
      assert.ok(chosen <= 1.011 * meanError * noiseMultiplier, `${where}: ${mechanism}`);
    }
  }
});

test('count --for both: days are added up where no number is noisier then', async () => {
  const table = join(folder, 'both.csv');
  writeFileSync(table, header);
  const days = (n) => new Date(Date.UTC(2026, 0, n)).toISOString().slice(0, 10);
  const cases = [31, 57, 1, 56, 400].flatMap((steps) =>
    [[], ['--user-column', 'who', '--max-contributions', '3']].map((people) => ({ steps, people })),
  );
  for (const { steps, people } of some(cases, 4)) {
    if (people.length > 0 && steps < 3) continue;
    const range = ['--from', days(1), '--to', days(steps), '--time-column', 'time'];
    const target = ['--epsilon', '1', '--delta', '1e-6', '--bucket', 'day', '--for', 'both'];
    const { choice, rows, certificate } = await shown('count', ...target, ...range, ...people);
    const stds = (of) => rms(steps, (i) => rows[i][of]);
    for (const part of ['count', 'total']) {
      const ratio = stds(`${part}Std`) / choice.std[part];
      assert.ok(Math.abs(ratio - 1) < 0.01, JSON.stringify({ steps, people, choice, ratio }));
    }
    const isOfDays = choice.mechanism.endsWith('added up');
    const times = people.length > 0 ? 3 : 1;
    const alone = Math.SQRT2 * times;
    assert.equal(certificate.delta, isOfDays ? 0 : 1e-6);
    // The choice is no noisier than Laplace noise of days in at least one of the two numbers.
    const last = rows.at(-1).totalStd;
    assert.ok(choice.std.count <= 1.01 * alone || last <= 1.01 * alone * Math.sqrt(steps));
    if (times === 1) assert.equal(isOfDays, steps <= 56, `${steps}`);
  }
});

test('release: the guarantee says the chosen noise, and the numbers have it', async () => {
  const args = [...each, '--epsilon', '1', '--delta', '1e-6', '--steps', '400'];
  const input = `${header}${'2026-01-01,a,1\n'.repeat(400)}`;
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /1-differentially private \(pure\)/);
  const said =
    /chosen for this question: Laplace noise \(independent\), of standard deviation 1\.41, where Gaussian noise \(independent\) would have 4\.22$/m;
  assert.match(stderr, said);
  const errors = stdout
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',')[1]) - 1);
  assert.equal(errors.length, 400);
  const std = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length);
  // The root mean square of 400 draws of Laplace noise, relative to its expectation, is within 6
  // standard deviations, 0.33, of 1.
  assert.ok(Math.abs(std / Math.SQRT2 - 1) < 0.33, `${std}`);
});

test('release: a named strategy, a budget and several columns are not overruled', async () => {
  const target = ['--epsilon', '1', '--delta', '1e-6', '--steps', '9'];
  const named = await shown(...each, ...target, '--strategy', 'tree');
  assert.equal(named.choice, undefined);
  assert.equal(named.certificate.mechanism, 'tree');
  // --clip of several columns bounds the l2-norm, which only Gaussian noise uses.
  const columns = ['release', '--columns', 'time,x', '--clip', '1'];
  for (const workload of ['window=1', 'prefix']) {
    const { choice, certificate } = await shown(...columns, '--workload', workload, ...target);
    assert.equal(choice.noise, 'Gaussian');
    assert.equal(certificate.clipNorm, 1);
  }
  const lattice = ['release', '--count', '--mode', 'lattice', '--strategy', 'tree'];
  assert.equal((await shown(...lattice, ...target)).choice, undefined);
  const budget = ['--budget', join(folder, 'one.json'), '--budget-epsilon', '4'];
  const paid = await shown(...each, ...target, ...budget, '--budget-delta', '1e-5');
  assert.equal(paid.choice.noise, 'Gaussian');
  assert.equal(paid.certificate.delta, 1e-6);
  const again = [...target, ...budget, '--budget-delta', '1e-5'];
  const { stderr } = await dpFtrl([...each, ...again], { input: header });
  const why =
    /Gaussian .* of standard deviation 4\.22, where Laplace .* would have 1\.41 and cost more of the --budget$/m;
  assert.match(stderr, why);
  const open = await dpFtrl([...each, ...target], { input: header });
  assert.equal(open.stderr.includes('--budget'), false);
});

test('horizons: hours of a year and of eleven years need no mechanism by name', async () => {
  const table = join(folder, 'header.csv');
  writeFileSync(table, header);
  const hourly = ['--time-column', 'time', '--bucket', 'hour', '--epsilon', '1', '--delta', '1e-6'];
  const people = ['--user-column', 'who', '--max-contributions', '24'];
  const questions = [
    ['count'],
    ['count', '--for', 'totals'],
    ['count', '--for', 'both'],
    ['count', '--for', 'totals', ...people],
    ...['prefix', 'window=1', 'window=24', 'momentum=0.9'].map((workload) => [
      ...['release', '--count', '--workload', workload],
    ]),
    ['release', '--count', '--workload', 'window=24', ...people],
    ['histogram', '--by', 'who', '--domain', 'a,b'],
    ['histogram', '--by', 'who', '--domain', 'a,b', '--workload', 'window=24'],
    ['moments', '--columns', 'x=0:1'],
    ['moments', '--columns', 'x=0:1', '--workload', 'window=24'],
  ];
  const ends = [
    ['2026-12-31T23:00Z', 8760],
    ['2037-05-30T15:00Z', 100_024],
  ];
  for (const question of some(questions, 3)) {
    for (const [to, steps] of ends) {
      const range = ['--from', '2026-01-01', '--to', to, '--dry-run', '--json'];
      const { code, stdout, stderr } = await dpFtrl([...question, ...hourly, ...range, table]);
      assert.equal(code, 0, `${question.join(' ')}: ${stderr}`);
      assert.equal(JSON.parse(stdout).certificate.numSteps, steps);
    }
  }
});

test('queries: no noise for the same measurements is less than the chosen one', async () => {
  const table = ['a', 'b', 'c', 'd', 'e'].map((value) => `${value},x\n`).join('');
  const workloads = {
    identity: { identity: 5 },
    prefix: { prefix: 5 },
    ranges: { ranges: 5 },
    'identity+prefix': { union: [{ identity: 5 }, { prefix: 5 }] },
  };
  const targets = [
    [1, 1e-6],
    [8, 1e-3],
    [0.1, 0.01],
  ];
  const cases = Object.keys(workloads).flatMap((workload) =>
    targets.flatMap(([epsilon, delta]) =>
      [1, 12].flatMap((times) =>
        ['mean', 'max'].flatMap((objective) =>
          ['zero-out', 'replace-one'].map((neighbours) => ({
            ...{ workload, epsilon, delta, times, objective, neighbours },
          })),
        ),
      ),
    ),
  );
  const noises = new Set();
  for (const { workload, epsilon, delta, times, objective, neighbours } of some(cases, 7)) {
    // Replace-one is for rows alone.
    if (times > 1 && neighbours === 'replace-one') continue;
    const asked = ['queries', '--workload', workload, '--columns', 'v', '--domain', 'a,b,c,d,e'];
    const input = `v,who\n${table}`;
    const { code, stdout, stderr } = await dpFtrl(
      [
        ...asked,
        ...['--epsilon', String(epsilon), '--delta', String(delta), '--objective', objective],
        ...['--neighbours', neighbours, '--json', '--quiet'],
        ...(times > 1 ? ['--user-column', 'who', '--max-contributions', String(times)] : []),
      ],
      { input },
    );
    assert.equal(code, 0, stderr);
    const shown = JSON.parse(stdout);
    const errorOf = (errors) =>
      objective === 'max' ? Math.max(...errors) : Math.hypot(...errors) / Math.sqrt(errors.length);
    const where = JSON.stringify({ workload, epsilon, delta, times, objective, neighbours });
    const used = errorOf(shown.answers.map(({ std }) => std));
    assert.ok(Math.abs(used / shown.choice.std - 1) < 1e-9, where);
    for (const noise of ['laplace', 'gaussian']) {
      const queries = dp.queries
        .linear({
          workload: workloads[workload],
          epsilon,
          delta: noise === 'laplace' ? 0 : delta,
          maxContributions: times,
          ...{ objective, neighbours },
        })
        .result();
      const { std } = shown.choice.noise.toLowerCase() === noise ? shown.choice : shown.choice.next;
      const own = errorOf(queries.standardErrors);
      assert.ok(Math.abs(own / std - 1) < 1e-9, `${where}: ${noise}`);
      assert.ok(used <= own * (1 + 1e-9), `${where}: ${noise}`);
      queries.dispose();
    }
    assert.equal(shown.delta, shown.noise === 'laplace' ? 0 : delta, where);
    assert.equal(shown.choice.noise.toLowerCase(), shown.noise, where);
    noises.add(shown.noise);
  }
  assert.equal(noises.size, 2);
});

test('queries: the noise follows from the options alone, never from the rows', async () => {
  const asked = ['queries', '--workload', 'prefix', '--columns', 'v', '--domain', 'a,b,c'];
  for (const target of [
    ['--epsilon', '1', '--delta', '1e-6'],
    ['--epsilon', '1', '--delta', '0.1'],
  ]) {
    const choices = [];
    for (const rows of ['', 'a\n', 'c\n'.repeat(1000), 'a\nb\nc\n'.repeat(40)]) {
      const args = [...asked, ...target, '--json', '--quiet'];
      const { stdout } = await dpFtrl(args, { input: `v\n${rows}` });
      choices.push(JSON.parse(stdout).choice);
    }
    for (const choice of choices) assert.deepEqual(choice, choices[0]);
  }
});

test('queries: with a budget, whose account is of one kind, the noise is Gaussian', async () => {
  const asked = ['queries', '--workload', 'identity', '--columns', 'v', '--domain', 'a,b'];
  const target = ['--epsilon', '1', '--delta', '1e-6', '--json', '--quiet'];
  const budget = ['--budget', join(folder, 'queries.json'), '--budget-epsilon', '4'];
  const { code, stdout, stderr } = await dpFtrl(
    [...asked, ...target, ...budget, '--budget-delta', '1e-5'],
    { input: 'v\na\n' },
  );
  assert.equal(code, 0, stderr);
  const { noise, delta, choice } = JSON.parse(stdout);
  assert.deepEqual({ noise, delta, choice }, { noise: 'gaussian', delta: 1e-6, choice: undefined });
});
