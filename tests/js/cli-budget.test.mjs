// SPDX-License-Identifier: Apache-2.0

// --budget: releases of one data set add up, and a release beyond the limit is refused.

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, linkSync, readdirSync, readFileSync } from 'node:fs';
import {
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { readBudget, sealed } from './support/budgets.mjs';
import { close } from './support/check.mjs';
import { fails, runningOn } from './support/command.mjs';
import { cli, dpFtrl, dpFtrlProcess, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { commandsWith, requireCommandsWith } from './support/help.mjs';
import { scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('budget');

const input = 'who,x\na,1\nb,0\na,1\nc,1\n';
let numBudgets = 0;
const freshPath = () => join(folder, `budget-${++numBudgets}.json`);
const read = readBudget;
const limit = ['--budget-epsilon', '1', '--budget-delta', '1e-6'];

function release(path, epsilon, more = []) {
  const privacy = ['--epsilon', String(epsilon), '--delta', '1e-6', '--clip', '1'];
  return ['release', ...privacy, '--columns', 'x', '--strategy', 'tree', '--budget', path, ...more];
}

async function accepted(args, given = { input }) {
  const { code, stderr } = await dpFtrl(args, given);
  assert.equal(code, 0, stderr);
}

const dp = await (await importEntry('dp-ftrl')).load();
const muOf = (epsilon) => dp.calibrate({ epsilon, delta: 1e-6 }).mu;

/** The rho of a release of discrete Gaussian noise with all of an epsilon. */
function rhoLimit(epsilon) {
  const lattice = {
    steps: 2,
    epsilon,
    delta: 1e-6,
    strategy: 'tree',
    lattice: 'discrete-gaussian',
  };
  const stream = dp.counter(lattice);
  stream.dispose();
  return stream.certificate.rho;
}

function totalOf(account, costs) {
  const budget = dp.budget({ account, epsilon: 6, delta: 1e-6 });
  for (const cost of costs) budget.charge('', { [account]: cost });
  return budget.spent;
}

test('budget: one release may spend all of it, and then none is left', async () => {
  const path = freshPath();
  const { stderr } = await dpFtrl(release(path, 1, [...limit, '--quiet']), { input });
  // The warning tells a user who mistyped the name that this is a new budget.
  assert.match(stderr, /^dp-ftrl: warning: --budget \S+: a new budget of .1, 0.000001. begins/);
  const before = readFileSync(path, 'utf8');
  const { limit: kept, neighbours, unit, spent, releases } = JSON.parse(before);
  assert.deepEqual(kept, { epsilon: 1, delta: 1e-6 });
  assert.deepEqual([neighbours, unit, releases.length], ['zero-out', 'one row', 1]);
  assert.equal(spent.mu, muOf(1));
  assert.ok(spent.epsilon >= 1 - 3e-12 && spent.epsilon <= 1);
  assert.deepEqual([spent.pure, spent.delta], [0, 1e-6]);
  assert.deepEqual(Object.keys(releases[0]), [
    'when',
    'mu',
    'epsilon',
    'delta',
    'mechanism',
    'numSteps',
    'columns',
  ]);
  const { stdout } = await fails(release(path, 1e-3), 2, /what is left of the budget, mu 0 /, {
    input,
  });
  assert.equal(stdout, '', 'nothing is released');
  assert.equal(readFileSync(path, 'utf8'), before);
});

test('budget: mus add up as squares, so many small releases fit', async () => {
  const path = freshPath();
  // Three releases of 0.55 mu compose to 0.953, four to 1.1.
  const target = 0.55 * muOf(1);
  const { epsilon } = dp.calibrate({ mu: target, delta: 1e-6 });
  for (let i = 1; i <= 3; ++i) {
    await accepted(release(path, epsilon, i === 1 ? limit : []));
    close(read(path).spent.mu, target * Math.sqrt(i), 1e-10);
  }
  const { mu, epsilon: together } = read(path).spent;
  close(together, dp.calibrate({ mu, delta: 1e-6 }).epsilon, 1e-12);
  const left = Math.sqrt(muOf(1) ** 2 - 3 * target ** 2);
  const shown = `left of the budget, mu ${String(left).slice(0, 6)}\\d* \\(epsilon ([\\d.]+) at`;
  const { stderr } = await fails(release(path, epsilon), 2, new RegExp(shown), { input });
  // The epsilon that the message states fits, and a little more does not.
  const most = Number(new RegExp(shown).exec(stderr)[1]);
  await fails(release(path, 1.00001 * most), 2, /must fit what is left/, { input });
  assert.equal(read(path).releases.length, 3);
  await accepted(release(path, most));
  assert.equal(read(path).releases.length, 4);
});

test('budget: every kind of release is charged its own cost, in either account', async () => {
  const at = (epsilon, delta) => [
    '--epsilon',
    String(epsilon),
    ...(delta ? ['--delta', delta] : []),
  ];
  const counted = ['--columns', 'x', '--domain', '0,1'];
  const lattice = ['--strategy', 'tree', '--mode', 'lattice'];
  const sums = ['release', '--clip', '1', '--columns', 'x'];
  const window = ['--workload', 'window=2'];
  const queries = ['queries', '--workload', 'identity', ...counted];
  const { mu } = dp.calibrate({ epsilon: 0.3, delta: 1e-6 });
  const { rho } = dp.calibrate({ mu, delta: 1e-6 });
  const gaussian = { mu, rho, epsilon: 0.3, delta: 1e-6 };
  // Noise of measurements is rounded up separately, so their mu can be slightly smaller.
  const made = dp.queries.linear({ workload: { identity: 2 }, epsilon: 0.3, delta: 1e-6 }).result();
  const answered = {
    ...gaussian,
    mu: made.mu,
    rho: dp.calibrate({ mu: made.mu, delta: 1e-6 }).rho,
  };
  made.dispose();
  assert.ok(answered.mu <= mu && answered.mu >= mu * (1 - 1e-12));
  const pure = {
    mu: dp.calibrate({ epsilon: 0.2, delta: 0 }).mu,
    rho: dp.calibrate({ epsilon: 0.2, delta: 0 }).rho,
    epsilon: 0.2,
    delta: 0,
  };
  const choice = { ...pure, rho: 0.2 ** 2 / 8 };
  const most = rhoLimit(0.3);
  const discrete = { rho: most, epsilon: 0.3, delta: 1e-6 };
  const learn = ['learn', '--label', 'y', '--clip', '1', '--strategy', 'tree', '--steps', '4'];
  const files = ['mu', 'rho'].flatMap((account) => [
    [account, 0],
    [account, 1.5],
  ]);
  for (const [account, share] of files) {
    const path = freshPath();
    const most = [
      '--budget-epsilon',
      '7.5',
      '--budget-delta',
      '1e-6',
      '--budget-pure',
      String(share),
    ];
    const budget = ['--budget', path, ...most, '--quiet'];
    const costs = [];
    const epsilons = [];
    for (const [args, cost] of [
      [[...sums, '--strategy', 'tree', ...at(0.3, '1e-6')], gaussian],
      [[...sums, ...lattice, '--lattice-noise', 'rounded-gaussian', ...at(0.3, '1e-6')], gaussian],
      [[...sums, ...lattice, ...at(0.3, '1e-6')], discrete],
      [[...queries, ...at(0.3, '1e-6')], answered],
      [[...queries, ...at(0.2, '0')], pure],
      [['choose', '--winner', ...counted, ...at(0.2)], choice],
      [['choose', '--quantile', '1/2', ...counted, ...at(0.2)], choice],
      [[...learn, ...at(0.3, '1e-6')], gaussian],
      [[...sums, ...window, ...at(0.3, '1e-6')], gaussian],
      [[...sums, '--workloads', 'all=prefix,last=window:2', ...at(0.3, '1e-6')], gaussian],
      [['moments', '--columns', 'x=0:1', ...at(0.3, '1e-6')], gaussian],
      [['histogram', '--by', 'who', '--domain', 'a,b', ...at(0.3, '1e-6')], gaussian],
      [[...sums, '--pure', ...at(0.2)], pure],
    ]) {
      const run = [...args, ...budget, '--budget-account', account];
      const given = { input: args[0] === 'learn' ? 'x,y\n0,1\n1,0\n' : 'who,x\na,1\nb,0\n' };
      if (cost[account] === undefined) {
        const wanted = /has the account mu, .*rounded-gaussian .*--budget-account rho/;
        await fails(run, 2, wanted, given);
        continue;
      }
      const { code, stderr } = await dpFtrl(run, given);
      assert.equal(code, 0, stderr);
      const isPure = share > 0 && cost.delta === 0;
      const file = read(path);
      if (isPure) epsilons.push(cost.epsilon);
      else costs.push(file.releases.at(-1)[account]);
      assert.deepEqual(
        [file.format, file.account, file.pure],
        ['dp-ftrl budget 3', account, share],
      );
      const { when, mechanism, numSteps, columns, ...rest } = file.releases.at(-1);
      assert.ok(!Number.isNaN(Date.parse(when)) && mechanism && numSteps && columns);
      const { epsilon, delta } = cost;
      const paid = isPure ? { pure: epsilon } : { [account]: rest[account] };
      assert.deepEqual(rest, { ...paid, epsilon, delta }, args.join(' '));
      if (!isPure) close(rest[account], cost[account], cost === choice ? 1e-15 : 0);
      const all = totalOf(account, costs);
      const sum = epsilons.reduce((one, other) => one + other, 0);
      assert.deepEqual(file.spent.delta, costs.length > 0 ? 1e-6 : 0);
      assert.equal(file.spent[account], all.total);
      assert.ok(file.spent.pure >= sum * (1 - 1e-15) && file.spent.pure <= sum * (1 + 1e-14));
      const together = file.spent.pure + all.epsilon;
      assert.ok(file.spent.epsilon >= together && file.spent.epsilon <= together * (1 + 1e-15));
    }
    assert.equal(epsilons.length, share > 0 ? 4 : 0);
    assert.equal(costs.length + epsilons.length, account === 'mu' ? 12 : 13);
  }
});

test('budget: without a share for them, pure releases are charged to the account', async () => {
  const choose = ['choose', '--winner', '--columns', 'x', '--domain', '0,1', '--quiet'];
  for (const [account, cost] of [
    ['mu', (epsilon) => dp.calibrate({ epsilon, delta: 0 }).mu],
    ['rho', (epsilon) => (epsilon ** 2 / 8) * (1 + 2 ** -51)],
  ]) {
    const path = freshPath();
    const asked = (epsilon) => [...choose, '--budget', path, '--epsilon', String(epsilon)];
    const begun = [...limit, '--budget-account', account, '--budget-pure', '0'];
    const wanted = `must fit what is left .* .limit .1, 0.000001., account ${account}.$`;
    await fails([...asked(0.9), ...begun], 2, new RegExp(wanted), { input });
    assert.ok(!existsSync(path));
    const most = account === 'mu' ? muOf(1) : rhoLimit(1);
    let [low, high] = [0, 1];
    for (let step = 0; step < 40; ++step) {
      const middle = (low + high) / 2;
      if (cost(middle) <= most) low = middle;
      else high = middle;
    }
    await fails([...asked(low * 1.0001), ...begun], 2, new RegExp(wanted), { input });
    await accepted([...asked(low), ...begun]);
    await fails(asked(1e-3), 2, /must fit what is left of the budget/, { input });
    assert.equal(read(path).releases.length, 1);
  }
});

const choose = (path, epsilon, more = []) => [
  ...['choose', '--winner', '--columns', 'x', '--domain', '0,1', '--quiet'],
  ...['--epsilon', String(epsilon), '--budget', path, ...more],
];

test('budget: a file that begins with a pure release is all for pure ones, whose epsilons add up', async () => {
  for (const parts of [1, 2, 3, 7, 10, 49]) {
    const path = freshPath();
    const { stderr } = await dpFtrl(choose(path, 1 / parts, limit), { input });
    assert.match(stderr, /a new budget of .1, 0.000001. begins, all of it for pure releases/);
    for (let i = 1; i < parts; ++i) await accepted(choose(path, 1 / parts));
    const { spent, pure, releases } = read(path);
    assert.deepEqual([pure, spent.mu, spent.delta, releases.length], [1, 0, 0, parts]);
    close(spent.pure, 1, 1e-15);
    assert.equal(spent.epsilon, spent.pure);
    const beyond = /what is left of the budget, epsilon 0 at delta 0, got epsilon 0.00001 /;
    await fails(choose(path, 1e-5), 2, beyond, { input });
    await fails(
      release(path, 0.01),
      2,
      /must fit what is left of the budget, mu 0 .* beside its --budget-pure 1\)$/,
      { input },
    );
    assert.equal(read(path).releases.length, parts);
  }
});

test('budget: the shares of a file are filters of their own, and the split stays', async () => {
  for (const pure of [0.01, 0.25, 0.5, 0.75, 0.99]) {
    const rest = Number((1 - pure).toPrecision(3));
    const path = freshPath();
    const begun = [...limit, '--budget-pure', String(pure)];
    await fails(
      choose(path, pure * 1.001, begun),
      2,
      /this release must fit what is left of the budget, epsilon 0.* at delta 0, got epsilon/,
      { input },
    );
    await fails(release(path, rest * 1.001, begun), 2, /account mu, beside its --budget-pure/, {
      input,
    });
    assert.ok(!existsSync(path));
    // Whichever kind comes first, each share is used up on its own.
    const both = [choose(path, pure, begun), release(path, rest, begun)];
    for (const run of pure < 0.5 ? both : both.reverse()) await accepted(run);
    await fails(choose(path, pure / 100), 2, /what is left of the budget, epsilon 0 at delta 0/, {
      input,
    });
    await fails(release(path, rest / 100), 2, /what is left of the budget, mu 0 /, {
      input,
    });
    const { spent } = read(path);
    close(spent.epsilon, 1, 3e-12);
    assert.equal(spent.delta, 1e-6);
    const changed = ['--budget-pure', String(pure / 2)];
    await fails(
      choose(path, 1e-3, changed),
      2,
      new RegExp(`has --budget-pure ${pure}, which cannot be changed`),
      { input },
    );
  }
  const path = freshPath();
  await fails(
    choose(path, 0.1, [...limit, '--budget-pure', '2']),
    2,
    /--budget-pure must be at most --budget-epsilon 1, got 2/,
    { input },
  );
  await fails(
    choose(path, 0.1, [...limit, '--budget-pure', '-1']),
    2,
    /--budget-pure must be a number of at least 0, got "-1"/,
    { input },
  );
  await fails(
    [
      'choose',
      '--winner',
      '--columns',
      'x',
      '--domain',
      '0,1',
      '--epsilon',
      '1',
      '--budget-pure',
      '1',
    ],
    2,
    /--budget-pure needs --budget/,
    { input },
  );
  assert.ok(!existsSync(path));
});

test('budget: three releases that share a limit fit it, by mu and by rho', async () => {
  for (const parts of [2, 3, 7]) {
    const path = freshPath();
    const { epsilon } = dp.calibrate({ mu: muOf(1) / Math.sqrt(parts), delta: 1e-6 });
    for (let i = 0; i < parts; ++i) await accepted(release(path, epsilon, i === 0 ? limit : []));
    await fails(release(path, 1e-4), 2, /what is left of the budget, mu 0 /, { input });
  }
});

test('budget: a file of an earlier version is refused and left as it is', async () => {
  const path = freshPath();
  for (const format of ['dp-ftrl budget 1', 'dp-ftrl budget 2']) {
    const text = JSON.stringify({ format, limit: { epsilon: 1, delta: 1e-6 }, releases: [] });
    writeFileSync(path, text);
    const wanted =
      /--budget \S+: it is of an earlier version of dp-ftrl: begin another file, with what this one has spent taken off its limit$/;
    await fails(release(path, 0.1, limit), 2, wanted, { input });
    assert.equal(readFileSync(path, 'utf8'), text);
  }
});

test('budget: a file that was edited by hand is refused, whatever was changed in its form', async () => {
  const path = freshPath();
  const state = ['--steps', '9', '--quiet', '--state', `${path}.state`];
  assert.equal((await dpFtrl(release(path, 1, [...limit, ...state]), { input })).code, 0);
  const text = readFileSync(path, 'utf8');
  const changes = [];
  const walk = (object, where) => {
    const change = (name, value) => {
      const changed = structuredClone(read(path));
      let at = changed;
      for (const key of where) at = at[key];
      at[name] = value;
      return sealed(changed);
    };
    changes.push(
      ['an unknown field', change('note', 'x')],
      ['__proto__', change('constructor', 1)],
    );
    for (const [name, value] of Object.entries(object)) {
      const own = JSON.stringify(value);
      const twice = `${own}, ${JSON.stringify(name)}: ${own}`;
      changes.push([`${name} twice`, change(name, '@@').replace('"@@"', twice)]);
      const optional = ['state', 'step', 'run'].includes(name) || where[0] === 'spent';
      if (!optional) changes.push([`no ${name}`, change(name, undefined)]);
      for (const other of [null, true, [5], { value: 5 }, -1])
        if (JSON.stringify(other) !== own)
          changes.push([`${name} as ${other}`, change(name, other)]);
      if (!Array.isArray(value) && typeof value === 'object') walk(value, [...where, name]);
    }
  };
  walk(read(path), []);
  walk(read(path).releases[0], ['releases', 0]);
  assert.ok(changes.length > 100, `${changes.length}`);
  for (const [what, changed] of some(changes, 3)) {
    writeFileSync(path, changed);
    const { code, stderr } = await dpFtrl(release(path, 0.01, ['--quiet']), { input });
    assert.deepEqual([code, what], [2, what], stderr);
    assert.match(stderr, /--budget \S+: /, what);
    assert.equal(readFileSync(path, 'utf8'), changed, what);
  }
  writeFileSync(path, text);
  assert.equal((await dpFtrl(release(path, 0.01, ['--quiet']), { input })).code, 2);
});

test('budget: a file that says something else than was written is refused, however it looks', async () => {
  const path = freshPath();
  for (const epsilon of [0.2, 0.3]) await accepted(release(path, epsilon, limit));
  const text = readFileSync(path, 'utf8');
  const [first, second] = read(path).releases;
  const other = (changes) => JSON.stringify({ ...JSON.parse(text), ...changes });
  for (const changed of [
    other({ releases: [second] }),
    other({ releases: [second, first] }),
    other({ releases: [{ ...first, mu: first.mu / 10 }, second] }),
    other({ releases: [first, second, second] }),
    other({ limit: { epsilon: 2, delta: 1e-6 } }),
    other({ spent: { ...read(path).spent, mu: 0 } }),
    other({ unit: 'one row ' }),
    other({ checksum: undefined }),
    other({ checksum: '0 0' }),
  ]) {
    writeFileSync(path, changed);
    const message = /--budget \S+: it was damaged or edited, as its checksum says; restore a copy/;
    await fails(release(path, 0.01, ['--quiet']), 2, message, { input });
    assert.equal(readFileSync(path, 'utf8'), changed);
  }
  // Another layout with the same content counts as the same file.
  writeFileSync(path, other({}));
  await accepted(release(path, 0.01, ['--quiet']));
  assert.equal(read(path).releases.length, 3);
});

test('budget: a copy of a state one step behind is refused, and an up-to-date copy continues', async () => {
  const path = freshPath();
  const state = `${path}.state`;
  const run = (file) => release(path, 1, [...limit, '--steps', '9', '--quiet', '--state', file]);
  const steps = (file, rows) => dpFtrl(run(file), { input: `x\n${'1\n'.repeat(rows)}` });
  assert.equal((await steps(state, 3)).code, 0);
  copyFileSync(state, `${state}.same`);
  assert.equal((await steps(state, 1)).code, 0);
  assert.equal(read(path).releases[0].step, 4);
  const before = readFileSync(path, 'utf8');
  const behind = /is an old copy: 3 steps are released in it, 4 by --budget/;
  const { stdout } = await fails(run(`${state}.same`), 2, behind, { input: 'x\n0\n' });
  assert.equal(stdout, '');
  assert.equal(readFileSync(path, 'utf8'), before);
  copyFileSync(state, `${state}.same`);
  assert.equal((await steps(`${state}.same`, 1)).code, 0);
  assert.equal(read(path).releases[0].step, 5);
});

test('budget: a copy made while the last run went on is refused, one step behind', async () => {
  const path = freshPath();
  const [state, copy] = [`${path}.state`, `${path}.copy`];
  const run = (file) => release(path, 1, [...limit, '--steps', '9', '--quiet', '--state', file]);
  const numLines = ({ stdout }) => stdout.split('\n').length - 1;
  const { child, ended } = await runningOn(
    'x\n1\n1\n1\n',
    run(state),
    (said) => numLines(said) === 4,
  );
  copyFileSync(state, copy);
  child.stdin.end('1\n');
  const end = await ended;
  assert.deepEqual([end.code, numLines(end)], [0, 5], end.stderr);
  // The copy has the mark of the last run; only its number of steps differs from the state.
  const marks = (file) => readFileSync(file).subarray(0, 40).toString('latin1');
  assert.equal(marks(copy), marks(state));
  const before = readFileSync(path, 'utf8');
  const behind = /is an old copy: 3 steps are released in it, 4 by --budget/;
  const { stdout } = await fails(run(copy), 2, behind, { input: 'x\n0\n' });
  assert.equal(stdout, '');
  assert.equal(readFileSync(path, 'utf8'), before);
  await accepted(run(state), { input: 'x\n1\n' });
});

test('budget: a copy is refused if a later run of the original was killed before updating the budget', async () => {
  const path = freshPath();
  const [state, copy] = [`${path}.state`, `${path}.copy`];
  const run = (file) => release(path, 1, [...limit, '--steps', '9', '--quiet', '--state', file]);
  const steps = (file, rows) => accepted(run(file), { input: `x\n${'1\n'.repeat(rows)}` });
  const entry = () => read(path).releases[0];
  await steps(state, 3);
  copyFileSync(state, copy);
  const known = entry();
  await steps(state, 1);
  assert.match(entry().run, /^[0-9a-f]{32}$/);
  assert.notEqual(entry().run, known.run);
  // The budget looks as if the run had been killed after storing its step but before updating it.
  const killed = { ...read(path), releases: [{ ...entry(), step: 3 }] };
  writeFileSync(path, sealed(killed));
  const old = /--state is an old copy: --budget \S+ knows of a later run; releasing/;
  const { stdout } = await fails(run(copy), 2, old, { input: 'x\n0\n' });
  assert.equal(stdout, '');
  assert.deepEqual(read(path), killed);
  await steps(state, 1);
  assert.equal(entry().step, 5);
});

test('budget: a run killed between marking the state and the budget does not lock out later runs', async () => {
  const path = freshPath();
  const [state, copy] = [`${path}.state`, `${path}.copy`];
  const run = (file) => release(path, 1, [...limit, '--steps', '9', '--quiet', '--state', file]);
  const none = { input: 'x\n' };
  await accepted(run(state), { input: 'x\n1\n' });
  const first = readFileSync(path);
  await accepted(run(state), none);
  copyFileSync(state, copy);
  // The state has the mark of a run unknown to the budget, twice.
  writeFileSync(path, first);
  await accepted(run(state), none);
  writeFileSync(path, first);
  await accepted(run(state), { input: 'x\n1\n' });
  assert.equal(read(path).releases[0].step, 2);
  const afterwards = { ...read(path), releases: [{ ...read(path).releases[0], step: 1 }] };
  writeFileSync(path, sealed(afterwards));
  await fails(run(copy), 2, /knows of a later run/, none);
});

test('budget: a state paid for by a budget cannot run without it', async () => {
  const path = freshPath();
  const state = ['--steps', '9', '--quiet', '--state', `${path}.state`];
  await accepted(release(path, 1, [...limit, ...state]));
  const without = release(path, 1, state).filter((arg) => arg !== '--budget' && arg !== path);
  const before = readFileSync(`${path}.state`);
  const message = /--state \S+: it is paid for by a --budget: name that in every run/;
  await fails(without, 2, message, { input });
  assert.deepEqual(readFileSync(`${path}.state`), before);
});

test('budget: a state whose marks are damaged or cut short is refused, and left as it is', async () => {
  const path = freshPath();
  const state = `${path}.state`;
  const run = release(path, 1, [...limit, '--steps', '9', '--quiet', '--state', state]);
  await accepted(run, { input: 'x\n1\n' });
  const stored = readFileSync(state);
  const before = readFileSync(path, 'utf8');
  const flipped = (at) => {
    const bytes = Buffer.from(stored);
    bytes[at] ^= 1;
    return bytes;
  };
  const unreadable = /--state \S+: it is damaged/;
  for (const [bytes, message] of [
    [stored.subarray(1), unreadable],
    [stored.subarray(8), unreadable],
    [stored.subarray(39), unreadable],
    [stored.subarray(0, 39), unreadable],
    [flipped(0), unreadable],
    [flipped(7), unreadable],
    [flipped(8), /is an old copy: .* knows of a later run/],
  ]) {
    writeFileSync(state, bytes);
    await fails(run, 2, message, { input: 'x\n0\n' });
    assert.deepEqual(readFileSync(state), Buffer.from(bytes));
    assert.equal(readFileSync(path, 'utf8'), before);
  }
  writeFileSync(state, stored);
  await accepted(run, { input: 'x\n1\n' });
});

test('budget: a state without its marks is refused', async () => {
  const path = freshPath();
  const state = `${path}.state`;
  const run = release(path, 1, [...limit, '--steps', '9', '--quiet', '--state', state]);
  await accepted(run, { input: 'x\n1\n' });
  const marks = 2 * 16 + 'dpf-runs'.length;
  const stored = readFileSync(state);
  assert.equal(stored.toString('latin1', 0, 8), 'dpf-runs');
  writeFileSync(state, stored.subarray(marks));
  await fails(run, 2, /is an old copy: --budget \S+ knows of a later run/, { input });
  const bad = { ...read(path), releases: [{ ...read(path).releases[0], run: 5 }] };
  writeFileSync(path, JSON.stringify(bad));
  await fails(run, 2, /a release in it has no fitting "run"/, { input });
});

test('budget: a release is recorded before its first number, and stays recorded when it fails', async () => {
  const path = freshPath();
  const args = release(path, 0.5, [...limit, '--steps', '2']);
  await fails(args, 2, /past the horizon/, { input });
  assert.equal(read(path).releases.length, 1);
  // The file is refused before any number is released, so nothing is spent.
  const output = join(folder, 'no/where.csv');
  await fails(release(path, 0.1, ['--output', output]), 2, /does not exist/, { input });
  assert.equal(read(path).releases.length, 1);
});

test('budget: simultaneous releases are all counted', async () => {
  const path = freshPath();
  const { epsilon } = dp.calibrate({ mu: 0.4 * muOf(1), delta: 1e-6 });
  await accepted(release(path, epsilon, limit));
  const results = await Promise.all(
    Array.from({ length: 4 }, () => dpFtrlProcess(release(path, epsilon), { input })),
  );
  // The runs wait for each other and together spend 0.9 of the budget.
  for (const { code, stderr } of results) assert.equal(code, 0, stderr);
  assert.equal(read(path).releases.length, 5);
  const left = readdirSync(folder).filter((name) => /\.(lock|new)$/.test(name));
  assert.deepEqual(left, []);
});

test('budget: the lock of a crash is taken over, that of a living process is waited for', async () => {
  const path = freshPath();
  writeFileSync(`${path}.lock`, '999999999 1');
  await accepted(release(path, 0.1, limit));
  writeFileSync(`${path}.lock`, `${process.pid}`);
  const using = /another release is using it \(process \d+\); remove .*\.lock/;
  const start = performance.now();
  const { stdout } = await fails(release(path, 0.1), 1, using, { input });
  assert.ok(performance.now() - start > 4000, 'it waited');
  assert.equal(stdout, '');
  assert.equal(read(path).releases.length, 1);
});

test('budget: a file is the same budget through a symbolic link, and hard links are refused', async () => {
  const path = freshPath();
  const name = join(folder, 'link.json');
  const { epsilon } = dp.calibrate({ mu: 0.6 * muOf(1), delta: 1e-6 });
  await accepted(release(path, epsilon, limit));
  symlinkSync(path, name);
  await accepted(release(name, epsilon));
  for (const each of [path, name]) {
    await fails(release(each, epsilon), 2, /must fit what is left of the budget/, { input });
  }
  assert.equal(read(path).releases.length, 2);
  unlinkSync(name);
  linkSync(path, name);
  for (const each of [path, name]) {
    await fails(release(each, 1e-3), 2, /a file of one name.*one of 2 names/, { input });
  }
  unlinkSync(name);
  symlinkSync(join(folder, 'nothing'), name);
  await fails(release(name, 1e-3, limit), 2, /a file of one name.*a link to nothing/, { input });
  await fails(release(folder, 1e-3, limit), 2, /a file of one name/, { input });
});

test('budget: a state is paid for once, even if it was begun without a budget', async () => {
  const path = freshPath();
  const state = join(folder, 'state');
  const runs = ['--steps', '100', '--state', state];
  const unpaid = release(path, 1, runs).filter(
    (arg, i, all) => arg !== '--budget' && all[i - 1] !== '--budget',
  );
  await accepted(unpaid);
  assert.equal(existsSync(path), false);
  // Continues with a budget that is too small, then with one that suffices.
  const small = ['--budget-epsilon', '0.1', '--budget-delta', '1e-6'];
  const tooMuch = await fails(
    release(path, 1, [...runs, ...small]),
    2,
    /must fit what is left of the budget/,
    {
      input,
    },
  );
  assert.equal(tooMuch.stdout, '', 'nothing is released');
  const late = await dpFtrl(release(path, 1, [...runs, ...limit]), { input });
  assert.equal(late.code, 0);
  assert.match(late.stderr, /--state has released \d+ steps that --budget .* does not list/);
  const entry = read(path).releases;
  assert.equal(entry.length, 1);
  assert.match(entry[0].state, /^[0-9a-f]{32}$/);
  const again = await dpFtrl(release(path, 1, [...runs, '--quiet']), { input });
  assert.deepEqual([again.code, again.stderr], [0, ''], 'not a new budget');
  assert.equal(read(path).releases.length, 1, 'the same release goes on');
  // A state that moved to another path is still the same release; a new state at the old path is
  // not.
  const moved = join(folder, 'moved');
  renameSync(state, moved);
  await accepted(release(path, 1, ['--steps', '100', '--state', moved]));
  assert.equal(read(path).releases.length, 1, 'it has only moved');
  await fails(release(path, 1, runs), 2, /must fit what is left of the budget/, { input });
  // Another state is another release.
  const other = ['--steps', '100', '--state', join(folder, 'other')];
  await fails(release(path, 1, other), 2, /must fit what is left of the budget/, { input });
});

test('budget: a state without a step is paid for once', async () => {
  for (const [name, first] of [
    ['no rows', 'who,x\n'],
    ['a bad row', 'who,x\na,secret\n'],
  ]) {
    const path = freshPath();
    const state = ['--state', `${path}.state`, '--steps', '8'];
    await dpFtrl(release(path, 1, [...limit, ...state]), { input: first });
    assert.equal(read(path).releases.length, 1, name);
    for (let run = 0; run < 2; ++run) {
      await accepted(release(path, 1, state));
      assert.equal(read(path).releases.length, 1, name);
    }
    assert.equal(read(path).releases[0].step, 8);
  }
});

test('budget: steps shown before a kill -9 are counted, and older copies of the state are refused', async () => {
  const path = freshPath();
  const state = `${path}.state`;
  const run = release(path, 1, [...limit, '--steps', '8', '--quiet', '--state', state]);
  await dpFtrl(run, { input: 'who,x\n' });
  copyFileSync(state, `${state}.old`);
  const { child, ended } = await runningOn(input, run, ({ stdout }) => stdout.includes('\n4,'));
  child.kill('SIGKILL');
  assert.equal((await ended).signal, 'SIGKILL');
  assert.equal(read(path).releases[0].step, 4);
  const old = /--state is an old copy: 0 steps are released in it, 4 by --budget/;
  await fails(run.with(-1, `${state}.old`), 2, old, { input });
  await accepted(run);
});

test('budget: a step is not shown before the budget knows of it', async () => {
  const path = freshPath();
  const run = release(path, 1, [...limit, '--steps', '8', '--quiet', '--state', `${path}.state`]);
  const { child, ended } = await runningOn('x\n1\n', run, ({ stdout }) => stdout.includes('\n1,'));
  let later = '';
  child.stdout.on('data', (text) => (later += text));
  // While another process has the budget, the run waits.
  writeFileSync(`${path}.lock`, `${process.pid}`);
  child.stdin.write('1\n');
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(later, '');
  unlinkSync(`${path}.lock`);
  child.stdin.end();
  const { code, stderr } = await ended;
  assert.equal(code, 0, stderr);
  assert.match(later, /^2,/);
  assert.equal(read(path).releases[0].step, 2);
});

test('budget: an old copy of a state and a simultaneous run of a copy are refused', async () => {
  const path = freshPath();
  const state = join(folder, 'forward');
  const run = (file, more = []) =>
    release(path, 1, ['--steps', '100', '--state', file, '--quiet', ...more]);
  const refused = (file, message) => fails(run(file), 2, message, { input });
  const two = { input: 'x\n1\n0\n' };
  const copy = join(folder, 'copy');
  assert.equal((await dpFtrl(run(state, limit), two)).code, 0);
  assert.equal(read(path).releases[0].step, 2);
  copyFileSync(state, copy);
  // An error ends the run after two more released steps.
  await fails(run(state), 2, /steps 3 to 4 are released/, { input: 'x\n1\n0\nbad\n' });
  assert.equal(read(path).releases[0].step, 4);
  const old = /is an old copy: 2 steps are released in it, 4 by --budget/;
  const { stdout } = await refused(copy, old);
  assert.equal(stdout, '', 'nothing is released');
  const kept = readFileSync(state);
  copyFileSync(copy, state);
  await refused(state, old);
  writeFileSync(state, kept);
  // Released steps may be repeated: they get the same releases.
  assert.equal((await dpFtrl(run(state, ['--first-step', '3']), two)).code, 0);
  assert.equal((await dpFtrl(run(state), two)).code, 0);
  assert.equal(read(path).releases[0].step, 6);
  // If a run could not record its progress, the next one does so before it begins.
  const behind = read(path);
  behind.releases[0].step = 2;
  writeFileSync(path, sealed(behind));
  await fails(run(state), 2, /is not a number/, { input: 'x\nbad\n' });
  assert.equal(read(path).releases[0].step, 6);
  // Older files do not record progress.
  const { step, ...older } = read(path).releases[0];
  assert.equal(step, 6);
  writeFileSync(path, sealed({ ...read(path), releases: [older] }));
  assert.equal((await dpFtrl(run(state), two)).code, 0);
  assert.equal(read(path).releases[0].step, 8);
  // A copy that runs at the same time does not see the other run.
  const { state: identity } = read(path).releases[0];
  writeFileSync(`${path}.${identity}.lock`, `${process.pid}`);
  await refused(state, /process \d+ is releasing from a copy of it/);
  unlinkSync(`${path}.${identity}.lock`);
});

test('budget: all releases together protect the same change: a blank row, or one count less', () => {
  const privacy = { epsilon: 1, delta: 1e-6, insecureSeed: 5 };
  const totals = (rows) => {
    const counter = dp.counter({ ...privacy, strategy: 'tree', steps: 4 });
    return counter.releaseMany(rows).map(({ value }) => value);
  };
  const blank = totals([1, 0, 1]);
  // The row changes every later total by at most the clip norm, and its line is kept.
  totals([1, 1, 1]).forEach((sum, i) => close(sum - blank[i], Number(i >= 1), 1e-6));
  assert.equal(blank.length, 3);
  const { insecureSeed, ...target } = privacy;
  const counts = dp.queries.linear({ workload: { identity: 2 }, ...target }).result();
  const answers = (histogram) => counts.release(histogram, { insecureSeed }).answers;
  const fewer = answers([0, 2]);
  assert.equal(fewer.length, 2);
  answers([0, 3]).forEach((answer, i) => close(answer - fewer[i], i, 1e-9));
});

test('budget: invalid files are refused and left as they are', async () => {
  const path = freshPath();
  const ledger = () => ({
    format: 'dp-ftrl budget 3',
    account: 'mu',
    limit: { epsilon: 1, delta: 1e-6 },
    pure: 0.25,
    neighbours: 'zero-out',
    unit: 'one row',
    spent: { pure: 0, mu: 0, epsilon: 0, delta: 0 },
    releases: [],
  });
  const entry = { mu: 0.01, epsilon: 0.1, delta: 1e-6 };
  const made = { when: '2026-11-30', mechanism: 'tree', numSteps: 4, columns: ['x'] };
  const paid = /a release in it has not one cost, pure or mu > 0/;
  const cases = [
    ['{', /it is not JSON/],
    ['null', /its format is not "dp-ftrl budget 3"/],
    [JSON.stringify({ ...ledger(), format: 'x' }), /its format is not/],
    [JSON.stringify({ ...ledger(), format: 'dp-ftrl budget 4' }), /its format is not/],
    [JSON.stringify({ ...ledger(), format: 3 }), /its format is not/],
    [JSON.stringify({ ...ledger(), limit: { epsilon: 0, delta: 1 } }), /its limit is not/],
    [JSON.stringify({ ...ledger(), limit: { epsilon: 1, delta: 0 } }), /its limit is not/],
    [JSON.stringify({ ...ledger(), unit: 1 }), /does not say what it protects/],
    ...[undefined, null, 'sigma'].map((account) => [
      JSON.stringify({ ...ledger(), account }),
      /its account is not mu or rho/,
    ]),
    ...[undefined, null, -1, 1.1, '0.5', true].map((pure) => [
      JSON.stringify({ ...ledger(), pure }),
      /its pure share is not a number from 0 to the epsilon of its limit/,
    ]),
    ...['0', '-1', 'null', '"1"', '1e999', 'true'].map((mu) => [
      JSON.stringify(ledger()).replace('[]', `[{"mu":${mu},"epsilon":1,"delta":0.1}]`),
      paid,
    ]),
    [JSON.stringify({ ...ledger(), account: 'rho', releases: [entry] }), /pure or rho > 0/],
    [
      JSON.stringify({ ...ledger(), pure: 0, releases: [{ pure: 0.1, delta: 0 }] }),
      /not one cost, mu > 0/,
    ],
    [JSON.stringify({ ...ledger(), releases: [{ ...entry, pure: 0.1 }] }), paid],
    [
      JSON.stringify({ ...ledger(), releases: [{ pure: 0.1, delta: 1e-6 }] }),
      /with a delta is not pure/,
    ],
    [JSON.stringify({ ...ledger(), releases: [null] }), paid],
    [JSON.stringify({ ...ledger(), releases: {} }), paid],
    [JSON.stringify({ ...ledger(), releases: [entry] }), /no fitting "when"/],
    [
      JSON.stringify({ ...ledger(), releases: [{ ...entry, ...made, step: -1 }] }),
      /no fitting "step"/,
    ],
  ];
  for (const [text, message] of some(cases, 3)) {
    writeFileSync(path, text);
    await fails(release(path, 0.1), 2, message, { input });
    assert.equal(readFileSync(path, 'utf8'), text);
  }
});

const bad = 'who,x\na,1\nb,oops\n';

test('budget: a fault of the input that is found before any noise costs nothing', async () => {
  const cells = join(folder, 'cells.csv');
  writeFileSync(cells, bad);
  const output = join(folder, 'never.csv');
  const counted = ['--columns', 'x', '--domain', '0,1'];
  const privacy = ['--epsilon', '0.2', '--delta', '1e-6'];
  const bucket = [
    '--time-column',
    't',
    '--bucket',
    'day',
    '--from',
    '2026-03-01',
    '--to',
    '2026-03-09',
  ];
  const days = 't,x,who\n2026-03-01,1,a\n2026-03-02,1,b\n';
  const persons = ['--user-column', 'who', '--max-contributions', '2'];
  const sums = ['release', ...privacy, '--clip', '1', '--columns', 'x'];
  const learn = ['learn', ...privacy, '--label', 'y', '--clip', '1', '--steps', '3'];
  const rows = 'x,y\n1,1\n0,0\n';
  const faults = [
    // A cell, a row or a time that cannot be read, in each command.
    [[...sums, '--steps', '2'], bad, /not a number/],
    [[...sums, '--steps', '1'], 'x\n1\n1\n', /past the horizon of --steps 1/],
    [[...sums, '--steps', '3', ...persons], 'who,x\na,1\n,1\n', /row 2 .* is empty/],
    [[...sums, ...bucket], `${days}2026-03-01,1,a\n`, /earlier day than the row above/],
    [[...sums, ...bucket], `${days}soon,1,a\n`, /row 3 /],
    [[...sums, '--steps', '3', '--workloads', 'all=prefix,last=window:2'], bad, /not a number/],
    [
      ['release', '--pure', '--epsilon', '0.2', '--clip', '1', '--columns', 'x', '--steps', '2'],
      bad,
      /not a number/,
    ],
    [['count', ...privacy, ...bucket], `${days}soon,1,a\n`, /row 3 /],
    [['count', ...privacy, ...bucket, ...persons], `${days}2026-03-03,1,\n`, /row 3 /],
    [
      ['active', ...privacy, '--window', 'week', '--time-column', 't', '--user-column', 'who'],
      `${days}2026-03-03,1,\n`,
      /row 3 .* is empty/,
    ],
    [['moments', ...privacy, '--columns', 'x=0:1', '--steps', '3'], 'x\n1\nno\n', /not a number/],
    [
      ['histogram', ...privacy, '--by', 'x', '--domain', '0,1', '--steps', '3'],
      'x\n1\n2\n',
      /outside --domain/,
    ],
    [
      ['queries', '--workload', 'identity', ...counted, ...privacy],
      'x\n1\n2\n',
      /outside --domain/,
    ],
    [['choose', '--winner', ...counted, '--epsilon', '0.2'], 'x\n1\n2\n', /outside --domain/],
    [
      ['choose', '--winner', ...counted, '--epsilon', '1e-12'],
      'x\n1\n',
      /--epsilon must be between/,
    ],
    [
      ['choose', '--quantile', '1/2', ...counted, '--epsilon', '1e9'],
      'x\n1\n',
      /--epsilon must be between/,
    ],
    [learn, `${rows}oops,1\n`, /not a number/],
    [learn, `${rows}1,2\n`, /label must be/],
    [learn, `${rows}${rows.slice(4)}`, /past the horizon of --steps 3/],
    [['learn', ...privacy, '--label', 'y'], `${rows}1,oops\n`, /is not a class/],
  ];
  await requireCommandsWith(
    'budget',
    faults.map(([[command]]) => command),
  );
  const writes = await commandsWith('output');
  for (const [args, text, message] of faults) {
    writeFileSync(cells, text);
    const sources = [[[cells], {}]];
    // Rows of standard input that are shown as they arrive cannot be checked before.
    if (writes.includes(args[0])) sources.push([['--output', output], { input: text }]);
    else sources.push([[], { input: text }]);
    for (const [more, given] of sources) {
      const path = freshPath();
      const run = [
        ...args,
        '--budget',
        path,
        '--budget-epsilon',
        '9',
        '--budget-delta',
        '1e-5',
        '--quiet',
      ];
      const { stdout } = await fails([...run, ...more], 2, message, given);
      assert.equal(stdout, '', args.join(' '));
      assert.ok(!existsSync(path), `charged: ${args.join(' ')}`);
      assert.ok(!existsSync(output));
    }
  }
});

test('budget: rows that are shown as they arrive are charged, whatever follows', async () => {
  const path = freshPath();
  const seen = await dpFtrl(release(path, 0.5, [...limit, '--steps', '2']), { input: bad });
  assert.match(
    seen.stderr,
    /the table is incomplete, and what it shows has been released; rows of a FILE or for --output are checked before they are charged/,
  );
  assert.match(seen.stdout, /^step,x,std\n1,/);
  assert.equal(read(path).releases.length, 1);
});

/** Rows the first of which to fail, if any, depends on a weight and so on the noise. */
function probe(scale) {
  const lines = ['x,y'];
  for (let i = 0; i < 40; ++i) lines.push(`1,${Number(i < 30)}`);
  for (let t = 60; t > 1; t *= 0.97) lines.push(`${(scale / t).toExponential(9)},0`);
  return `${lines.join('\n')}\n`;
}

test('budget: an error that may depend on noisy weights stays charged, in every way to learn', async () => {
  // The row at which a prediction leaves the doubles reveals the weight. There are probes of many
  // sizes, for several losses and settings.
  const table = join(folder, 'probe.csv');
  const begin = [
    'learn',
    '--label',
    'y',
    '--epsilon',
    '0.5',
    '--delta',
    '1e-6',
    '--clip',
    '1',
    '--quiet',
  ];
  const space = ['--no-intercept', '--domain', 'whole-space', '--regularisation', '0.005'];
  const ways = [
    ['--batch', '40', '--steps', '6'],
    ['--batch', '40', '--passes', '1'],
    ['--loss', 'squared', '--batch', '20', '--steps', '9'],
    ['--loss', 'hinge', '--batch', '40', '--steps', '6', '--average', 'last'],
    ['--loss', 'absolute', '--batch', '40', '--steps', '6'],
  ];
  let numFailed = 0;
  for (const scale of [1.797693e308, 1e308, 1e300, 1e160]) {
    writeFileSync(table, probe(scale));
    for (const way of ways) {
      for (const [more, given] of [
        [[table], {}],
        [[], { input: probe(scale) }],
      ]) {
        const path = freshPath();
        const limit = ['--budget-epsilon', '0.5', '--budget-delta', '1e-6'];
        const run = [...begin, ...space, ...way, '--budget', path, ...limit, ...more];
        const { code, stderr } = await dpFtrl(run, given);
        if (code !== 0) {
          ++numFailed;
          assert.match(
            stderr,
            /prediction must be finite; --budget \S+ stays charged, as what fails after the first noise may depend on it$/m,
          );
        }
        assert.equal(read(path).releases.length, 1, `${way} ${scale}: ${stderr}`);
        // A question is not answered a second time.
        await fails(run, 2, /must fit what is left of the budget/, given);
      }
    }
  }
  assert.ok(numFailed > 0, 'some probe read a weight');
});

/**
 * Returns a function that is true once a partial file exists and stays; the first partial file is
 * made only as a trial.
 */
function staysIn(where, start) {
  let numSeen = 0;
  return () => {
    const isThere = readdirSync(where).some((name) => name.startsWith(start));
    numSeen = isThere ? numSeen + 1 : 0;
    return numSeen > 30;
  };
}

test('budget: a failure that may depend on the noise is charged', async () => {
  const path = freshPath();
  const output = join(folder, 'gone', 'out.csv');
  mkdirSync(join(folder, 'gone'));
  const args = release(path, 0.2, [...limit, '--steps', '2', '--output', output]);
  const { child, ended } = await runningOn(
    'who,x\n',
    args,
    staysIn(join(folder, 'gone'), '.out.csv.'),
  );
  rmSync(join(folder, 'gone'), { recursive: true });
  child.stdin.end('a,1\n');
  const { code, stderr } = await ended;
  assert.equal(code, 1, stderr);
  assert.match(stderr, /--output \S+: .*; --budget \S+ stays charged/);
  assert.equal(read(path).releases.length, 1);
});

test('budget: a table appears whole, with the usual permissions, and is charged once', async () => {
  const path = freshPath();
  const output = join(folder, 'whole.csv');
  const hidden = () => readdirSync(folder).filter((name) => name.startsWith('.whole.csv.'));
  const args = release(path, 0.2, [...limit, '--steps', '3', '--output', output]);
  const { child, ended } = await runningOn('who,x\na,1\n', args, staysIn(folder, '.whole.csv.'));
  assert.equal(statSync(join(folder, hidden()[0])).mode & 0o077, 0, 'nobody else may read a part');
  // Nothing is charged before all rows are read.
  assert.ok(!existsSync(path));
  child.stdin.end('b,1\n');
  assert.equal((await ended).code, 0);
  assert.equal(statSync(output).mode & 0o777, 0o666 & ~process.umask(), 'all may read the whole');
  assert.deepEqual(
    read(path).releases.map(({ epsilon }) => epsilon),
    [0.2],
  );
});

/** Runs the command where no file may exceed some blocks of 512 or 1024 bytes. */
function limitedTo(blocks, args, given) {
  return new Promise((resolve, reject) => {
    const shell = ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', process.execPath, cli, ...args];
    const child = spawn('sh', shell);
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (text) => (said.stdout += text));
    child.stderr.on('data', (text) => (said.stderr += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...said, code }));
    child.stdin.end(given);
  });
}

test('budget: where a file cannot be written, one sentence names it and says why', async () => {
  const path = freshPath();
  const full = await limitedTo(0, release(path, 0.2, [...limit, '--steps', '4', '--quiet']), input);
  assert.equal(full.code, 1, full.stderr);
  assert.match(
    full.stderr,
    /^dp-ftrl release: --budget \S+ could not be written: the file would be too large$/m,
  );
  assert.equal(full.stdout, '');
  assert.ok(!existsSync(path));
  // The table is in place when the figure does not fit.
  const [output, plot] = [join(folder, 'fits.csv'), join(folder, 'large.html')];
  const args = release(path, 0.2, [...limit, '--output', output, '--plot', plot, '--quiet']);
  const { code, stderr } = await limitedTo(4, args, input);
  assert.equal(code, 1, stderr);
  assert.match(
    stderr,
    /--plot \S+: the file would be too large; the table is complete and released$/m,
  );
  assert.doesNotMatch(stderr, /incomplete/);
  assert.match(readFileSync(output, 'utf8'), /^step,x,std\n1,/);
  assert.ok(!existsSync(plot));
  assert.equal(read(path).releases.length, 1);
});
