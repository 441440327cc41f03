// SPDX-License-Identifier: Apache-2.0

// --budget: releases of one data set add up, and a release beyond the limit is refused.

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, linkSync, readdirSync, readFileSync } from 'node:fs';
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { close } from './support/check.mjs';
import { fails, runningOn } from './support/command.mjs';
import { dpFtrl, dpFtrlProcess, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('budget');

const input = 'who,x\na,1\nb,0\na,1\nc,1\n';
let numBudgets = 0;
const freshPath = () => join(folder, `budget-${++numBudgets}.json`);
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const limit = ['--budget-epsilon', '1', '--budget-delta', '1e-6'];

function release(path, epsilon, more = []) {
  const privacy = ['--epsilon', String(epsilon), '--delta', '1e-6', '--clip', '1'];
  return ['release', ...privacy, '--column', 'x', '--mechanism', 'tree', '--budget', path, ...more];
}

async function accepted(args, given = { input }) {
  const { code, stderr } = await dpFtrl(args, given);
  assert.equal(code, 0, stderr);
}

const dp = await (await importEntry('dp-ftrl')).load();
const muOf = (epsilon) => dp.calibrate({ epsilon, delta: 1e-6 }).mu;

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
  assert.ok(spent.epsilon >= 1 - 1e-12 && spent.epsilon <= 1 + 1e-12);
  assert.deepEqual(Object.keys(releases[0]), [
    'when',
    'mu',
    'epsilon',
    'delta',
    'mechanism',
    'numSteps',
    'columns',
  ]);
  const { stdout } = await fails(release(path, 1e-3), 2, /all 2 would spend .* beyond the limit/, {
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
  const shown = new RegExp(dp.calibrate({ mu: 2 * target, delta: 1e-6 }).epsilon.toPrecision(4));
  await fails(release(path, epsilon), 2, shown, { input });
  assert.equal(read(path).releases.length, 3);
});

test('budget: every kind of release is charged its own cost, in either account', async () => {
  const at = (epsilon, delta) => ['--epsilon', String(epsilon), ...(delta ? ['--delta', delta] : [])];
  const counted = ['--column', 'x', '--domain', '0,1'];
  const lattice = ['--mechanism', 'tree', '--mode', 'lattice'];
  const sums = ['release', '--clip', '1', '--column', 'x'];
  const window = ['--workload', 'window=2'];
  const queries = ['queries', '--workload', 'identity', ...counted];
  const { mu } = dp.calibrate({ epsilon: 0.3, delta: 1e-6 });
  const { rho } = dp.calibrate({ mu, delta: 1e-6 });
  const gaussian = { mu, rho, epsilon: 0.3, delta: 1e-6 };
  // Noise of measurements is rounded up separately, so their mu can be slightly smaller.
  const made = dp.queries({ workload: { identity: 2 }, epsilon: 0.3, delta: 1e-6 });
  const answered = { ...gaussian, mu: made.mu, rho: dp.calibrate({ mu: made.mu, delta: 1e-6 }).rho };
  made.dispose();
  assert.ok(answered.mu <= mu && answered.mu >= mu * (1 - 1e-12));
  const pure = { mu: dp.pureMu(0.2), rho: dp.pureRho(0.2), epsilon: 0.2, delta: 0 };
  const { limit: most } = dp.compose({ account: 'rho', costs: [], epsilon: 0.3, delta: 1e-6 });
  const discrete = { rho: most, epsilon: 0.3, delta: 1e-6 };
  const learn = ['learn', '--label', 'y', '--clip', '1', '--mechanism', 'tree', '--steps', '4'];
  for (const account of ['mu', 'rho']) {
    const path = freshPath();
    const budget = ['--budget', path, '--budget-epsilon', '6', '--budget-delta', '1e-6', '--quiet'];
    const costs = [];
    for (const [args, cost] of [
      [[...sums, '--mechanism', 'tree', ...at(0.3, '1e-6')], gaussian],
      [[...sums, ...lattice, '--lattice-noise', 'rounded-gaussian', ...at(0.3, '1e-6')], gaussian],
      [[...sums, ...lattice, ...at(0.3, '1e-6')], discrete],
      [[...queries, ...at(0.3, '1e-6')], answered],
      [[...queries, ...at(0.2, '0')], pure],
      [['choose', '--winner', ...counted, ...at(0.2)], pure],
      [['choose', '--quantile', '1/2', ...counted, ...at(0.2)], pure],
      [[...learn, ...at(0.3, '1e-6')], gaussian],
      [[...sums, ...window, ...at(0.3, '1e-6')], gaussian],
      [[...sums, '--workload', 'prefix', ...window, ...at(0.3, '1e-6')], gaussian],
      [['moments', '--column', 'x', '--range', 'x=0:1', ...at(0.3, '1e-6')], gaussian],
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
      costs.push(cost[account]);
      const file = read(path);
      assert.deepEqual([file.format, file.account], ['dp-ftrl budget 2', account]);
      const { when, mechanism, numSteps, columns, ...rest } = file.releases.at(-1);
      assert.ok(!Number.isNaN(Date.parse(when)) && mechanism && numSteps && columns);
      const { epsilon, delta } = cost;
      assert.deepEqual(rest, { [account]: cost[account], epsilon, delta }, args.join(' '));
      const all = dp.compose({ account, costs, epsilon: 6, delta: 1e-6 });
      assert.deepEqual(file.spent, { [account]: all.total, epsilon: all.epsilon });
    }
    assert.equal(costs.length, account === 'mu' ? 12 : 13);
  }
});

test('budget: pure releases are charged to the chosen account and refused beyond its limit', async () => {
  // By their epsilons, two of 0.5 would add up to 1; as Gaussian DP or zCDP with a limit at 1e-6
  // they exceed it.
  const choose = ['choose', '--winner', '--column', 'x', '--domain', '0,1', '--quiet'];
  for (const [account, cost] of [
    ['mu', dp.pureMu],
    ['rho', dp.pureRho],
  ]) {
    const path = freshPath();
    const asked = (epsilon) => [...choose, '--budget', path, '--epsilon', String(epsilon)];
    const begun = [...limit, '--budget-account', account];
    const wanted = `beyond the limit .1, 0.000001. of .*, account ${account}$`;
    await fails([...asked(0.5), ...begun], 2, new RegExp(wanted), { input });
    assert.ok(!existsSync(path));
    const { limit: most } = dp.compose({ account, costs: [], epsilon: 1, delta: 1e-6 });
    let [low, high] = [0, 1];
    for (let step = 0; step < 40; ++step) {
      const middle = (low + high) / 2;
      if (cost(middle) <= most) low = middle;
      else high = middle;
    }
    await fails([...asked(low * 1.0001), ...begun], 2, new RegExp(wanted), { input });
    await accepted([...asked(low), ...begun]);
    await fails(asked(1e-3), 2, /with this release all 2 would spend/, { input });
    assert.equal(read(path).releases.length, 1);
  }
});

test('budget: the printed sum of a refused release exceeds the printed limit', async () => {
  const path = freshPath();
  const one = /: this release would spend \(1\.00000001, 0\.000001\), beyond the limit \(1, /;
  await fails(release(path, '1.00000001', limit), 2, one, { input });
  await accepted(release(path, 1, limit));
  const both = /with this release all 2 would spend \(1\.000\d+, 0\.000001\), beyond the limit/;
  await fails(release(path, 0.01), 2, both, { input });
});

test('budget: the account is chosen when a file begins, and stays', async () => {
  const path = freshPath();
  const account = (name) => ['--budget-account', name];
  for (const name of ['sigma', 'MU', 'both', 'NaN', '-1']) {
    const wanted = /--budget-account must be one of mu, rho, got "/;
    await fails(release(path, 0.1, [...limit, ...account(name)]), 2, wanted, { input });
  }
  assert.ok(!existsSync(path));
  await accepted(release(path, 0.1, [...limit, ...account('rho')]));
  const changed = /has the account rho, which cannot be changed/;
  await fails(release(path, 0.1, account('mu')), 2, changed, { input });
  assert.equal(read(path).releases.length, 1);
  await accepted(release(path, 0.1, account('rho')));
  await accepted(release(path, 0.1));
  assert.deepEqual([read(path).account, read(path).releases.length], ['rho', 3]);
  const usual = freshPath();
  const { stderr } = await dpFtrl(release(usual, 0.1, limit), { input });
  assert.match(stderr, /a new budget of .1, 0.000001. begins, account mu;/);
  assert.equal(read(usual).account, 'mu');
  const none = ['release', '--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--column', 'x'];
  await fails([...none, ...account('mu')], 2, /--budget-account needs --budget/, { input });
});

/** A file in the format from before accounts existed. */
function older(releases, more = {}) {
  const about = { limit: { epsilon: 1, delta: 1e-6 }, neighbours: 'zero-out', unit: 'one row' };
  const spent = { mu: 9, epsilon: 9 };
  return JSON.stringify({ format: 'dp-ftrl budget 1', ...about, spent, releases, ...more });
}

function olderEntry(epsilon, delta = 0) {
  const mu = delta === 0 ? dp.pureMu(epsilon) : dp.calibrate({ epsilon, delta }).mu;
  const about = { mechanism: 'winner', numSteps: 1, columns: ['x'] };
  return { when: '2026-01-01T00:00:00.000Z', mu, epsilon, delta, ...about };
}

test('budget: files of older versions are read as mu accounts, with a warning and the sound rule', async () => {
  const path = freshPath();
  const kept = [olderEntry(0.01), olderEntry(0.5, 1e-6)];
  writeFileSync(path, older(kept, { note: 'ours' }));
  const rho = ['--budget-account', 'rho'];
  await fails(release(path, 0.1, rho), 2, /has the account mu, which cannot be changed/, { input });
  assert.equal(readFileSync(path, 'utf8'), older(kept, { note: 'ours' }));
  const { code, stderr } = await dpFtrl(release(path, 0.1, ['--quiet']), { input });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^dp-ftrl: warning: --budget \S+ is of an older dp-ftrl: its account is mu/);
  const { releases, spent, format, account, note } = read(path);
  assert.deepEqual([format, account, note], ['dp-ftrl budget 2', 'mu', 'ours']);
  assert.deepEqual(releases.slice(0, 2), kept);
  const costs = releases.map(({ mu }) => mu);
  assert.equal(spent.mu, dp.compose({ account: 'mu', costs, epsilon: 1, delta: 1e-6 }).total);
  const again = await dpFtrl(release(path, 0.1, ['--quiet']), { input });
  assert.deepEqual([again.code, again.stderr], [0, '']);
  // 0.4 and 0.5 would fit by their sum, as would 0.1 + 0.1 + ..., but are no longer accepted.
  for (const next of ['0.4', '0.19']) {
    const text = older([olderEntry(0.5, 1e-6), olderEntry(0.1)]);
    writeFileSync(path, text);
    const asked = ['choose', '--winner', '--column', 'x', '--domain', '0,1', '--budget', path];
    const refused = /with this release all 3 would spend/;
    await fails([...asked, '--epsilon', next], 2, refused, { input });
    assert.equal(readFileSync(path, 'utf8'), text);
  }
});

test('budget: a file beyond its limit by the sound rule accepts no new release, but paid ones continue', async () => {
  const path = freshPath();
  const state = ['--steps', '100', '--state', `${path}.state`, '--quiet'];
  await accepted(release(path, 0.5, [...limit, ...state]));
  const [paid] = read(path).releases;
  // Two kinds of release that fitted by the sum of their epsilons.
  const text = older([paid, olderEntry(0.5)]);
  writeFileSync(path, text);
  const costs = [paid.mu, dp.pureMu(0.5)];
  const { epsilon } = dp.compose({ account: 'mu', costs, epsilon: 1, delta: 1e-6 });
  assert.ok(epsilon > 2);
  const shown = String(epsilon).slice(0, 4);
  const beyond = `its 2 releases spend .${shown}\\d*, 0.000001. in account mu, beyond its limit .1, 0.000001.`;
  await fails(release(path, 1e-6), 2, new RegExp(`${beyond}: no other release is accepted$`), { input });
  assert.equal(readFileSync(path, 'utf8'), text);
  const goesOn = await dpFtrl(release(path, 0.5, state), { input });
  assert.equal(goesOn.code, 0, goesOn.stderr);
  assert.match(goesOn.stderr, new RegExp(`warning: .*${beyond}; what is paid for continues`));
  assert.equal(read(path).releases.length, 2);
  assert.equal(read(path).releases[0].step, 8);
  await fails(release(path, 1e-6), 2, new RegExp(`${beyond}: no other`), { input });
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
  const { child, ended } = await runningOn('x\n1\n1\n1\n', run(state), (said) => numLines(said) === 4);
  copyFileSync(state, copy);
  child.stdin.end('1\n');
  const end = await ended;
  assert.deepEqual([end.code, numLines(end)], [0, 5], end.stderr);
  // The copy has the mark of the last run; only its number of steps differs from the state.
  const marks = (file) => readFileSync(file).subarray(-40).toString('latin1');
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
  // As if the run had been killed after storing its step but before updating the budget.
  const killed = { ...read(path), releases: [{ ...entry(), step: 3 }] };
  writeFileSync(path, JSON.stringify(killed));
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
  writeFileSync(path, JSON.stringify(afterwards));
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
  const flipped = (fromEnd) => {
    const bytes = Buffer.from(stored);
    bytes[bytes.length - fromEnd] ^= 1;
    return bytes;
  };
  const unreadable = /--state \S+: it is damaged or cut short/;
  for (const [bytes, message] of [
    [stored.subarray(0, -1), unreadable],
    [stored.subarray(0, -8), unreadable],
    [stored.subarray(0, -39), unreadable],
    [flipped(1), unreadable],
    [flipped(8), unreadable],
    [flipped(40), /is an old copy: .* knows of a later run/],
  ]) {
    writeFileSync(state, bytes);
    await fails(run, 2, message, { input: 'x\n0\n' });
    assert.deepEqual(readFileSync(state), Buffer.from(bytes));
    assert.equal(readFileSync(path, 'utf8'), before);
  }
  writeFileSync(state, stored);
  await accepted(run, { input: 'x\n1\n' });
});

test('budget: a state of an older version, without marks, continues and gets one', async () => {
  const path = freshPath();
  const state = `${path}.state`;
  const run = release(path, 1, [...limit, '--steps', '9', '--quiet', '--state', state]);
  await accepted(run, { input: 'x\n1\n' });
  const marks = 2 * 16 + 'dpf-runs'.length;
  const stored = readFileSync(state);
  assert.equal(stored.toString('latin1', stored.length - 8), 'dpf-runs');
  writeFileSync(state, stored.subarray(0, stored.length - marks));
  const { run: mark, ...older } = read(path).releases[0];
  assert.ok(mark);
  writeFileSync(path, JSON.stringify({ ...read(path), releases: [older] }));
  await accepted(run, { input: 'x\n1\n' });
  assert.equal(read(path).releases[0].step, 2);
  assert.match(read(path).releases[0].run, /^[0-9a-f]{32}$/);
  // Without its marks, the state is a copy from before the last run.
  writeFileSync(state, stored.subarray(0, stored.length - marks));
  await fails(run, 2, /is an old copy: 1 step is released in it, 2 by/, { input });
  const bad = { ...read(path), releases: [{ ...read(path).releases[0], run: 5 }] };
  writeFileSync(path, JSON.stringify(bad));
  await fails(run, 2, /a release in it has a run that is not a text/, { input });
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
    await fails(release(each, epsilon), 2, /all 3 would spend/, { input });
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
  const unpaid = release(path, 1, runs).filter((arg, i, all) => arg !== '--budget' && all[i - 1] !== '--budget');
  await accepted(unpaid);
  assert.equal(existsSync(path), false);
  // Continues with a budget that is too small, then with one that suffices.
  const small = ['--budget-epsilon', '0.1', '--budget-delta', '1e-6'];
  const tooMuch = await fails(release(path, 1, [...runs, ...small]), 2, /beyond the limit/, { input });
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
  // The same state under another path is the same release; a new state at the old path is not.
  const moved = join(folder, 'moved');
  renameSync(state, moved);
  await accepted(release(path, 1, ['--steps', '100', '--state', moved]));
  assert.equal(read(path).releases.length, 1, 'it has only moved');
  await fails(release(path, 1, runs), 2, /all 2 would spend/, { input });
  // Another state is another release.
  const other = ['--steps', '100', '--state', join(folder, 'other')];
  await fails(release(path, 1, other), 2, /all 2 would spend/, { input });
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

test('budget: a release that does not fit the budget creates no state', async () => {
  const path = freshPath();
  const state = ['--state', `${path}.state`, '--steps', '8'];
  await fails(release(path, 2, [...limit, ...state]), 2, /beyond the limit/, { input });
  assert.ok(!existsSync(`${path}.state`));
});

test('budget: a run that cannot work costs nothing', async () => {
  const path = freshPath();
  const queries = ['queries', '--workload', 'identity', '--column', 'x', '--domain', '0,1'];
  const asked = [...queries, '--epsilon', '1', '--delta', '1e-6', '--budget', path, ...limit];
  const sums = release(path, 1, limit);
  for (const [args, message] of [
    [[...asked, '--output', join(folder, 'none/x')], /--output .*\/x: the folder does not exist/],
    [[...asked, '--output', '/dev/null'], /--output \/dev\/null is not a regular file/],
    [[...asked, '--output', '/dev/null/x'], /the folder does not exist/],
    [[...asked, '--output', ''], /--output must be the name of a file, got ""/],
    [[...sums, '--output', ''], /--output must be the name of a file, got ""/],
    [[...sums, '--steps', '4', '--state', ''], /--state must be the name of a file, got ""/],
  ]) {
    await fails(args, 2, message, { input });
    assert.ok(!existsSync(path), args.join(' '));
  }
  await fails(release('', 1, limit), 2, /--budget must be the name of a file, got ""/, { input });
  const named = [...release(path, 1, limit), '--column', 'step'];
  await fails(named, 2, /two columns "step"/, { input: 'step,x\n1,1\n' });
  assert.ok(!existsSync(path));
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
  writeFileSync(path, JSON.stringify(behind));
  await fails(run(state), 2, /is not a number/, { input: 'x\nbad\n' });
  assert.equal(read(path).releases[0].step, 6);
  // Older files do not record progress.
  const { step, ...older } = read(path).releases[0];
  assert.equal(step, 6);
  writeFileSync(path, JSON.stringify({ ...read(path), releases: [older] }));
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
    const how = { ...privacy, mechanism: 'tree', numSteps: 4, dimension: 1, clipNorm: 1 };
    return dp.prefixSum(how).releaseMany(Float64Array.from(rows));
  };
  const blank = totals([1, 0, 1]);
  // The row changes every later total by at most the clip norm, and its line is kept.
  totals([1, 1, 1]).forEach((sum, i) => close(sum - blank[i], Number(i >= 1), 1e-6));
  assert.equal(blank.length, 3);
  const { insecureSeed, ...target } = privacy;
  const counts = dp.queries({ workload: { identity: 2 }, ...target });
  const answers = (histogram) => counts.release(histogram, { insecureSeed }).answers;
  const fewer = answers([0, 2]);
  assert.equal(fewer.length, 2);
  answers([0, 3]).forEach((answer, i) => close(answer - fewer[i], i, 1e-9));
});

test('budget: a release that protects another unit is refused', async () => {
  const path = freshPath();
  await accepted(release(path, 0.1, limit));
  const who = ['--user-column', 'who', '--max-contributions', '2'];
  await fails(release(path, 0.1, who), 2, /for unit "one row".*they do not add up/, { input });
  const other = ['--neighbours', 'replace-one'];
  await fails(release(path, 0.1, other), 2, /neighbours "zero-out", .*"replace-one"/, { input });
  const persons = freshPath();
  await accepted(release(persons, 0.1, [...limit, ...who]));
  // Any bound per person protects people.
  await accepted(release(persons, 0.1, ['--user-column', 'who', '--max-contributions', '1']));
  assert.equal(read(persons).unit, 'one person (column "who")');
  // Once in each of two epochs of 4 rows is a different bound from once in each of two epochs of 2.
  const users = freshPath();
  const epochs = (numSteps) => ['--epochs', '2', '--steps', `${numSteps}`];
  await accepted(release(users, 0.1, [...limit, ...epochs(8)]));
  await fails(release(users, 0.1, epochs(4)), 2, /2 epochs of 4 rows.*they do not add up/, { input });
});

test('budget: invalid files and options are refused', async () => {
  const path = freshPath();
  const ledger = () => ({
    format: 'dp-ftrl budget 1',
    limit: { epsilon: 1, delta: 1e-6 },
    neighbours: 'zero-out',
    unit: 'one row',
    spent: { mu: 0, epsilon: 0 },
    releases: [],
  });
  const newer = () => ({
    ...ledger(),
    format: 'dp-ftrl budget 2',
    account: 'rho',
    releases: [{ rho: 0.001, epsilon: 0.1, delta: 1e-6 }],
  });
  const cases = [
    ['{', /it is not JSON/],
    ['null', /its format is not/],
    [JSON.stringify({ ...ledger(), format: 'x' }), /its format is not/],
    [JSON.stringify({ ...ledger(), limit: { epsilon: 0, delta: 1 } }), /its limit is not/],
    [JSON.stringify({ ...ledger(), releases: [{ mu: -1 }] }), /a release in it has no mu > 0/],
    [JSON.stringify({ ...ledger(), releases: [{ mu: null }] }), /a release in it has no mu > 0/],
    [JSON.stringify({ ...ledger(), releases: [{ mu: 1, step: -1 }] }), /a step that is not a count/],
    [JSON.stringify({ ...ledger(), unit: 1 }), /does not say what it protects/],
    [JSON.stringify({ ...newer(), account: undefined }), /its account is not mu or rho/],
    [JSON.stringify({ ...newer(), account: null }), /its account is not mu or rho/],
    [JSON.stringify({ ...newer(), account: 'sigma' }), /its account is not mu or rho/],
    [JSON.stringify({ ...newer(), format: 'dp-ftrl budget 3' }), /its format is not/],
    [JSON.stringify({ ...newer(), format: 'dp-ftrl budget 1' }), /a release in it has no mu > 0/],
    [JSON.stringify({ ...newer(), account: 'mu' }), /a release in it has no mu > 0/],
    ...['0', '-1', 'null', '"1"', '1e999', 'true'].map((rho) => [
      JSON.stringify({ ...newer(), releases: [] }).replace('[]', `[{"rho":${rho}}]`),
      /a release in it has no rho > 0/,
    ]),
    [JSON.stringify({ ...newer(), limit: { epsilon: 1, delta: 0 } }), /its limit is not/],
    [JSON.stringify({ ...newer(), releases: {} }), /a release in it has no rho > 0/],
  ];
  for (const [text, message] of some(cases, 3)) {
    writeFileSync(path, text);
    await fails(release(path, 0.1), 2, message, { input });
    assert.equal(readFileSync(path, 'utf8'), text);
  }
  writeFileSync(path, JSON.stringify(ledger()));
  const wider = ['--budget-epsilon', '2', '--budget-delta', '1e-6'];
  await fails(release(path, 0.1, wider), 2, /has the limit \(1, 0.000001\)/, { input });
  await fails(release(path, 0.1, ['--seed', '1']), 2, /does not go with --seed/, { input });
  await fails(release(path, 0.1, ['--show-nonprivate']), 2, /--show-nonprivate/, { input });
  await fails(release(path, 0.1, ['--budget-epsilon', '1']), 2, /--budget-delta together/, {
    input,
  });
  const none = freshPath();
  await fails(release(none, 0.1), 2, /there is no file .*--budget-epsilon/, { input });
  assert.ok(!existsSync(none));
  await fails(release(join(folder, 'no/b.json'), 0.1, limit), 2, /folder does not exist/, {
    input,
  });
});

test('budget: a failed run that shows nothing is not charged, and one that shows rows says so', async () => {
  const path = freshPath();
  const output = join(folder, 'refunded.csv');
  const bad = { input: 'who,x\na,1\nb,oops\n' };
  const steps = ['--steps', '2'];
  await accepted(release(path, 0.1, limit));
  const before = readFileSync(path, 'utf8');
  const whole = release(path, 0.5, [...steps, '--output', output]);
  const { code, stdout, stderr } = await dpFtrl(whole, bad);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /not a number; nothing is released, and the budget is not charged\n$/);
  assert.match(stderr, /2 releases spend \(0\.\d+, 0\.000001\) of \(1, 0\.000001\) together/);
  assert.equal(existsSync(output), false);
  assert.equal(readFileSync(path, 'utf8'), before, 'the file is what it was');
  // Rows on standard output have been seen, even if the run fails later.
  const seen = await dpFtrl(release(path, 0.5, steps), bad);
  assert.match(seen.stderr, /the table is incomplete, and what it shows has been released; with --output only whole tables charge a budget/);
  assert.match(seen.stdout, /^step,x,std\n1,/);
  assert.equal(read(path).releases.length, 2);
  const learn = ['learn', '--label', 'x', '--epsilon', '0.1', '--delta', '1e-6', '--budget', path];
  const learned = readFileSync(path, 'utf8');
  const half = await dpFtrl([...learn, '--clip', '1', ...steps], { input: 'w,x\n0.5,1\n0.5,oops\n' });
  assert.match(half.stderr, /"x" is not a (number|class)/);
  assert.equal(readFileSync(path, 'utf8'), learned);
});

test('budget: a failure that may depend on the noise is charged', async () => {
  const path = freshPath();
  const output = join(folder, 'gone', 'out.csv');
  mkdirSync(join(folder, 'gone'));
  await accepted(release(path, 0.1, limit));
  const args = release(path, 0.2, ['--steps', '1', '--output', output]);
  const { child, ended } = await runningOn('who,x\n', args, () => read(path).releases.length === 2);
  rmSync(join(folder, 'gone'), { recursive: true });
  child.stdin.end('a,1\n');
  const { code, stderr } = await ended;
  assert.equal(code, 1, stderr);
  assert.doesNotMatch(stderr, /not charged/);
  assert.equal(read(path).releases.length, 2);
});

test('budget: a refund strikes out its own release alone', async () => {
  const path = freshPath();
  const output = join(folder, 'refunded-beside.csv');
  await accepted(release(path, 0.1, limit));
  const args = release(path, 0.2, ['--steps', '3', '--output', output]);
  const { child, ended } = await runningOn('who,x\na,1\n', args, () => read(path).releases.length === 2);
  const [unfinished] = readdirSync(folder).filter((name) => name.startsWith('.refunded-beside.csv.'));
  assert.equal(statSync(join(folder, unfinished)).mode & 0o077, 0, 'nobody else may read a part');
  await accepted(release(path, 0.3, ['--output', output]));
  assert.equal(statSync(output).mode & 0o777, 0o666 & ~process.umask(), 'all may read the whole');
  unlinkSync(output);
  child.stdin.end('b,oops\n');
  const { code, stderr } = await ended;
  assert.equal(code, 2);
  assert.match(stderr, /the budget is not charged/);
  assert.deepEqual(read(path).releases.map(({ epsilon }) => epsilon), [0.1, 0.3]);
  close(read(path).spent.mu, Math.hypot(muOf(0.1), muOf(0.3)), 1e-12);
});
