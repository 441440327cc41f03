// SPDX-License-Identifier: Apache-2.0

// Budgets: what was charged is never below the exact sum, nothing beyond the limit is accepted, and
// a budget in a store has recorded all that was read.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, rejects, wellTold } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const counters = await (await importEntry('dp-ftrl/counter')).load();
const target = { epsilon: 1, delta: 1e-6 };
const scratch = scratchFolder('budgets');

/** A budget to which these costs were charged. */
function charged(options, costs) {
  const budget = dp.budget(options);
  costs.forEach((cost, i) => budget.charge(`release ${i}`, cost));
  return budget;
}

/** A limit that everything here fits. */
const wide = { epsilon: 1000, delta: 0.5 };
const total = (account, costs) =>
  charged(
    { ...wide, account },
    costs.map((cost) => ({ [account]: cost })),
  ).spent.total;

/** A double as an integer, in units of 2^-1074. */
function exact(value) {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0];
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  return exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
}

/** The double a given number of units in the last place away. */
function neighbour(value, units) {
  const bits = new BigUint64Array(Float64Array.of(value).buffer);
  bits[0] += BigInt(units);
  return new Float64Array(bits.buffer)[0];
}

test('budget: the total is never below the exact one, and two units above it at most', () => {
  const random = generator(5);
  const sum = (values) => values.reduce((all, value) => all + value, 0n);
  let numBelow = 0;
  for (let k = 0; k < 400; ++k) {
    const costs = Array.from({ length: 2 + (k % 9) }, () => random() * 10 ** (-6 * random()));
    const squares = sum(costs.map((cost) => exact(cost) ** 2n));
    const mu = total('mu', costs);
    assert.ok(exact(mu) ** 2n >= squares, `mu of ${costs}`);
    assert.ok(exact(neighbour(mu, -2)) ** 2n < squares, `mu of ${costs}`);
    const naive = Math.sqrt(costs.reduce((all, cost) => all + cost * cost, 0));
    if (exact(naive) ** 2n < squares) ++numBelow;
    const sums = sum(costs.map(exact));
    const rho = total('rho', costs);
    assert.ok(exact(rho) >= sums, `rho of ${costs}`);
    assert.ok(exact(neighbour(rho, -2)) < sums, `rho of ${costs}`);
  }
  // Without rounding up, many totals would be below.
  assert.ok(numBelow > 100, `${numBelow}`);
});

test('budget: totals and limits have their known values', () => {
  assert.equal(total('mu', [3, 4]), 5);
  assert.equal(total('rho', [0.5, 0.25, 4]), 4.75);
  // zCDP does not capture everything known about a Gaussian, so rho leaves less room.
  const limits = { mu: dp.calibrate(target).mu, rho: 0.024355970359538303 };
  for (const [account, limit] of Object.entries(limits)) {
    const options = { ...target, account };
    const none = dp.budget(options);
    assert.deepEqual({ ...none.spent }, { epsilon: 0, delta: 0, pure: 0, total: 0 });
    const all = charged(options, [{ [account]: limit * (1 - 1e-15) }]);
    close(all.spent.epsilon, 1, 3e-12);
    assert.equal(all.spent.delta, 1e-6);
    assert.deepEqual({ ...all.left }, { epsilon: 0, delta: 1e-6 });
    assert.equal(none.fits({ [account]: limit * (1 + 1e-11) }), false);
    const half = charged(options, [{ [account]: limit / 2 }]);
    close(half.spent.epsilon, dp.calibrate({ [account]: limit / 2, delta: 1e-6 }).epsilon, 1e-14);
  }
  const { mu: limit } = limits;
  // A relative excess of 2^-40 is accepted, and lies within the target.
  const most = neighbour(limit + limit * 2 ** -40, -1);
  for (const [mus, fits] of [
    [[limit], true],
    [[most], true],
    [[neighbour(most, 2)], false],
    // A cost too small to change the sum still increases it.
    [[neighbour(most, 1), 1e-300], false],
  ]) {
    const last = { mu: mus.at(-1) };
    const budget = charged(
      target,
      mus.slice(0, -1).map((mu) => ({ mu })),
    );
    assert.equal(budget.fits(last), fits, `${mus}`);
    if (!fits) continue;
    budget.charge('all', last);
    assert.ok(budget.spent.epsilon <= target.epsilon);
  }
});

/** The cost of a share; undefined if it is refused, which happens only for large deltas. */
function costOfShare(budget, fraction) {
  try {
    return dp.calibrate(budget.share(fraction));
  } catch (error) {
    assert.match(error.message, /^share: fraction must be large enough for an epsilon above 0/);
    assert.equal(budget.delta, 0.1);
    return undefined;
  }
}

test('budget: equal shares fit, however many and for every limit, and a little more does not', () => {
  for (const epsilon of [1e-3, 0.3, 1, 8, 500]) {
    for (const delta of [1e-12, 1e-6, 0.1]) {
      for (const account of ['mu', 'rho']) {
        for (const count of [1, 2, 3, 7, 10, 49]) {
          const name = `${account}, (${epsilon}, ${delta}), ${count}`;
          const budget = dp.budget({ epsilon, delta, account });
          const cost = costOfShare(budget, 1 / count);
          if (cost === undefined) continue;
          for (let i = 0; i < count; ++i) budget.charge(name, cost);
          assert.ok(budget.spent.epsilon <= epsilon, name);
          const worse = { [account]: cost[account] * (1 + 1e-9) };
          const others = charged({ epsilon, delta, account }, Array(count - 1).fill(cost));
          assert.ok(others.fits(cost), name);
          if (account === 'mu')
            assert.ok(
              !charged({ epsilon, delta, account }, Array(count - 1).fill(worse)).fits(worse),
              name,
            );
        }
      }
    }
  }
});

test('budget: what is left fits, and nothing is left after it', () => {
  for (const account of ['mu', 'rho']) {
    const budget = dp.budget({ epsilon: 2, delta: 1e-6, account });
    for (const part of [0.01, 0.3, 0.5, 0.9]) {
      budget.charge('part', dp.calibrate({ epsilon: part * budget.left.epsilon, delta: 1e-6 }));
      const { left } = budget;
      assert.ok(budget.fits(dp.calibrate({ ...left })), `${account}, ${part}`);
      assert.ok(!budget.fits(dp.calibrate({ ...left, epsilon: left.epsilon * 1.0001 })));
    }
    budget.charge('the rest', dp.calibrate(budget.left));
    assert.equal(budget.left.epsilon, 0);
  }
});

test('budget: pure releases add up in their part, and are charged to the account without one', () => {
  const half = dp.budget({ ...target, pure: 0.5 });
  for (let i = 0; i < 5; ++i) half.charge('tenth', { epsilon: 0.1, delta: 0 });
  assert.equal(half.pureLeft, 0);
  assert.ok(!half.fits({ epsilon: 1e-9, delta: 0 }));
  assert.ok(half.fits(dp.calibrate({ epsilon: 0.5 - 1e-12, delta: 1e-6 })));
  assert.ok(!half.fits(dp.calibrate({ epsilon: 0.5 + 1e-9, delta: 1e-6 })));
  assert.deepEqual(
    { ...half.spent, epsilon: 0.5 },
    { epsilon: 0.5, delta: 0, pure: half.spent.pure, total: 0 },
  );
  assert.deepEqual(half.charges[0], { name: 'tenth', part: 'pure', cost: 0.1 });
  const all = dp.budget({ ...target, pure: 1 });
  assert.deepEqual(all.share(1 / 4), { epsilon: 0.25 * (1 - 2 ** -52), delta: 0 });
  assert.ok(!all.fits({ mu: 1e-9 }), 'nothing is left for an account');
  for (const [account, cost] of [
    ['mu', 1.2320353853449013],
    ['rho', 0.46211715726000976],
  ]) {
    const none = charged({ epsilon: 20, delta: 1e-6, account }, [{ epsilon: 1, delta: 0 }]);
    assert.equal(none.charges[0].part, account);
    close(none.charges[0].cost, cost, 1e-10);
    // The exponential mechanism: its rho is known to be smaller.
    none.charge('choice', { epsilon: 1, delta: 0, rho: 1 / 8 });
    close(none.charges[1].cost, account === 'rho' ? 1 / 8 : cost, 1e-10);
  }
});

test('budget: invalid options, costs and fractions are refused', async () => {
  for (const [change, code, message] of [
    [{ account: 'epsilon' }, 'invalid_argument', /account must be one of mu, rho, got "epsilon"/],
    ...[0, -1, NaN, Infinity].map((epsilon) => [
      { epsilon },
      'invalid_argument',
      /^budget: epsilon must be positive/,
    ]),
    ...[0, 1, -1, NaN].map((delta) => [{ delta }, 'invalid_argument', /^budget: delta must be/]),
    [{ delta: undefined }, 'wrong_type', /delta must be a number/],
    ...[-1, 1.1, NaN].map((pure) => [
      { pure },
      'invalid_argument',
      /pure must be from 0 to epsilon/,
    ]),
    [{ neighbours: 'one' }, 'invalid_argument', /neighbours must be one of/],
    [{ store: undefined }, 'wrong_type', /store must be defined or left out/],
    [{ mustExist: true }, 'invalid_argument', /mustExist must be left out without store/],
    [{ rho: 1 }, 'wrong_type', /rho is an unknown option/],
  ]) {
    const Kind = code === 'wrong_type' ? TypeError : RangeError;
    rejects(() => dp.budget({ ...target, ...change }), Kind, code, message);
  }
  const budget = dp.budget(target);
  for (const [cost, message] of [
    [undefined, /^charge: cost must be an object/],
    [{}, /cost must have mu, rho, or an epsilon with delta 0/],
    // An approximate guarantee of unknown kind has no mu and no rho.
    [{ epsilon: 0.1, delta: 1e-7 }, /cost must have mu, rho, or an epsilon with delta 0/],
    [{ mu: '1' }, /cost: mu must be a number/],
    [{ mu: 0 }, /cost: mu must be positive and finite, got 0/],
    [{ mu: 5e-324 }, /: cost: mu must be large enough for a finite noise multiplier, got /],
    [{ rho: NaN }, /cost: rho must be positive/],
    [{ epsilon: -1, delta: 0 }, /cost: epsilon must be positive/],
    [{ rho: 0.01 }, /cost must have a mu/],
  ]) {
    assert.throws(
      () => budget.charge('it', cost),
      (error) => {
        wellTold(error);
        assert.match(error.message, message);
        return true;
      },
    );
  }
  assert.throws(() => budget.charge(1, { mu: 0.1 }), /name must be a string/);
  for (const fraction of [0, -1, 1.5, NaN]) {
    assert.throws(() => budget.share(fraction), /fraction must be above 0 and at most 1/);
  }
  // Delta alone covers so small a loss, and no stream has an epsilon of 0.
  const wide = dp.budget({ epsilon: 0.1, delta: 0.02 });
  assert.throws(
    () => wide.share(1 / 64),
    /^RangeError: share: fraction must be large enough for an epsilon above 0 at delta 0.02, got 0.015625$/,
  );
  assert.ok(wide.share(1 / 2).epsilon > 0);
  assert.deepEqual(budget.charges, []);
  assert.throws(
    () => dp.counter({ steps: 8, ...target, budget: {} }),
    /budget must be a budget of this package/,
  );
  assert.throws(
    () => dp.counter({ steps: 8, ...target, budget: undefined }),
    /budget must be defined/,
  );
  const seeded = { steps: 8, epsilon: 0.1, delta: 1e-6, insecureSeed: 1, budget };
  assert.throws(() => dp.counter(seeded), /insecureSeed must be left out with budget/);
  budget.dispose();
  assert.throws(() => budget.fits({ mu: 0.1 }), { code: 'disposed' });
  assert.throws(() => dp.counter({ steps: 8, ...target, budget }), { code: 'disposed' });
});

/** Options of a stream of each kind. */
const KINDS = {
  counter: {},
  totals: { dimension: 2 },
  sums: { workloads: { all: 'prefix', week: { window: 7 } } },
  moments: { columns: { age: [0, 100] } },
  histogram: { categories: ['a', 'b'] },
  increments: { dimension: 2, clippedTo: 1 },
  gradientLearner: { dimension: 2, rate: 0.1 },
};

test('budget: every kind of stream is charged its certificate once, and exhaustion tells what is left', () => {
  const before = dp.liveHandles;
  for (const [kind, own] of Object.entries(KINDS)) {
    const budget = dp.budget(target);
    const share = budget.share(1 / 2);
    const streams = [1, 2].map(() => dp[kind]({ steps: 21, ...own, ...share, budget }));
    const { mu } = streams[0].certificate;
    assert.deepEqual(budget.charges, [
      { name: kind, part: 'mu', cost: mu },
      { name: kind, part: 'mu', cost: mu },
    ]);
    assert.equal(budget.left.epsilon, 0);
    streams[0].end();
    assert.equal(budget.charges.length, 2);
    const spent =
      /^\w+: epsilon must fit what is left of the budget, mu 0 \(epsilon 0 at delta 0.000001\), got mu 0\.\d+$/;
    const refused = { steps: 21, ...own, epsilon: 1e-3, delta: 1e-6, budget };
    assert.throws(
      () => dp[kind](refused),
      (error) => error.code === 'budget_spent' && spent.test(error.message),
    );
    for (const stream of streams) stream.dispose();
    const part = dp.budget(target);
    part.charge('a survey', dp.calibrate({ epsilon: 0.5, delta: 1e-6 }));
    const left = / mu 0.2015\d+ \(epsilon 0.841\d+ at delta/;
    assert.throws(() => dp[kind]({ ...refused, ...target, budget: part }), left);
  }
  assert.equal(dp.liveHandles, before, 'a refused stream is disposed of');
});

test('budget: counters of another entry, and those without a delta, draw from the same budget', () => {
  const budget = dp.budget({ ...target, pure: 0.25 });
  counters.counter({ steps: 8, epsilon: 0.5, delta: 1e-6, budget }).dispose();
  dp.totals({ steps: 8, epsilon: 0.25, delta: 0, dimension: 3, budget }).dispose();
  assert.deepEqual(
    budget.charges.map(({ name, part }) => [name, part]),
    [
      ['counter', 'mu'],
      ['totals', 'pure'],
    ],
  );
});

test('budget: losses of other neighbours, and noise without a mu, are refused', () => {
  const steps = 8;
  const zero = dp.budget(target);
  const replacing = { steps, ...target, neighbours: 'replace-one' };
  assert.throws(
    () => dp.counter({ ...replacing, budget: zero }),
    /neighbours must be as in budget/,
  );
  const replace = dp.budget({ ...target, neighbours: 'replace-one' });
  assert.throws(
    () => dp.counter({ steps, ...target, budget: replace }),
    /neighbours must be as in/,
  );
  const fixed = { ...replacing, categories: ['a', 'b'], fixedTimes: true };
  assert.throws(
    () => dp.histogram({ ...fixed, budget: replace }),
    /fixedTimes must be as in budget/,
  );
  const timed = dp.budget({ ...target, neighbours: 'replace-one', fixedTimes: true });
  dp.histogram({ ...fixed, ...timed.share(0.5), budget: timed }).dispose();
  dp.counter({ ...replacing, ...timed.share(0.5), budget: timed }).dispose();
  const lattice = {
    steps,
    epsilon: 0.1,
    delta: 1e-6,
    strategy: 'tree',
    lattice: 'discrete-gaussian',
  };
  assert.throws(() => dp.counter({ ...lattice, budget: zero }), {
    code: 'unsupported',
    message: /counter: budget must have a mu.*use account 'rho'/,
  });
  const rho = dp.budget({ ...target, account: 'rho' });
  dp.counter({ ...lattice, budget: rho }).dispose();
  assert.deepEqual([zero.charges.length, rho.charges.length], [0, 1]);
});

/**
 * Stores that share a list of all their bytes after each write, so that a crash between any two
 * writes can be simulated.
 */
function recorded() {
  const moments = [];
  const now = {};
  const open = (name, bytes) => {
    if (bytes) now[name] = bytes;
    const store = {
      fails: false,
      load: async () => now[name],
      async save(given) {
        if (store.fails) throw new Error('no room');
        now[name] = given;
        moments.push({ ...now });
      },
      close: async () => {},
    };
    return store;
  };
  return { open, moments };
}

test('budget in a store: at each crash it knows of all that was read, and a stream goes on', async () => {
  const { open, moments } = recorded();
  const part = { epsilon: 0.5, delta: 1e-6 };
  const readings = [];
  const note = (stream, { step, value }) =>
    readings.push({ at: moments.length, stream, step, value });
  const run = async (account, streams) => {
    const budget = await dp.budget({ ...target, store: account });
    for (const [name, store] of Object.entries(streams)) {
      const stream = await dp.counter({ steps: 8, ...part, store, budget });
      note(name, await stream.release(1));
      await stream.dispose();
    }
    await budget.dispose();
  };
  await run(open('budget'), { a: open('a'), b: open('b') });
  // The empty budget; and for each stream the charge, its key and its first step.
  assert.equal(moments.length, 7);
  for (const [i, kept] of moments.entries()) {
    const again = recorded();
    const budget = await dp.budget({ ...target, store: again.open('budget', kept.budget) });
    const known = budget.charges.length;
    const read = readings.filter(({ at }) => at <= i + 1);
    assert.ok(known >= new Set(read.map(({ stream }) => stream)).size, `crash ${i}`);
    for (const name of ['a', 'b']) {
      const had = kept[name] !== undefined;
      const before = budget.charges.length;
      const options = { steps: 8, ...part, store: again.open(name, kept[name]), budget };
      const charges = budget.charges.map(({ stream }) => stream);
      const stream = await dp.counter(options).catch((error) => error);
      if (stream instanceof Error) {
        // Charged before the crash, and its key was lost: more was spent than was read.
        assert.equal(stream.code, 'budget_spent');
        assert.ok(!had && before === 2, `crash ${i}`);
        continue;
      }
      assert.equal(budget.charges.length, had ? before : before + 1, `crash ${i}`);
      if (had) assert.ok(charges.includes(stream.identity));
      const earlier = read.find((it) => it.stream === name);
      if (earlier) assert.equal((await stream.at(0)).value, earlier.value);
      await stream.dispose();
    }
  }
});

test('budget in a store: a stream that it does not list is refused', async () => {
  const { open } = recorded();
  const kept = open('a');
  const part = { steps: 8, epsilon: 0.5, delta: 1e-6, store: kept };
  const free = await dp.counter(part);
  await free.release();
  await free.dispose();
  const budget = await dp.budget({ ...target, store: open('budget') });
  await assert.rejects(dp.counter({ ...part, budget }), {
    code: 'bad_state',
    message: /budget must be the one that the stored stream was charged to/,
  });
  // A budget in memory, which forgets its charges, is refused, too.
  await assert.rejects(dp.counter({ ...part, budget: dp.budget(target) }), { code: 'bad_state' });
  assert.deepEqual(budget.charges, []);
  const again = await dp.counter(part);
  assert.equal(again.step, 1, 'the refused calls freed the store');
  await again.dispose();
});

test('budget in a store: overlapping calls take their turn, and none is lost', async () => {
  const path = join(scratch, 'overlapping');
  const options = { epsilon: 4, delta: 1e-6 };
  {
    const budget = await dp.budget({ ...options, store: await FileStore.open(path) });
    const third = await budget.share(1 / 3);
    const made = await Promise.allSettled([
      dp.counter({ steps: 8, ...third, budget }),
      dp.histogram({ steps: 8, categories: ['a'], ...third, budget }),
      budget.charge('a survey', dp.calibrate(third)),
      dp.counter({ steps: 8, ...third, budget }),
      budget.fits({ mu: 1e-3 }),
    ]);
    assert.deepEqual(
      made.map(({ reason, value }) => reason?.code ?? typeof value),
      ['object', 'object', 'undefined', 'budget_spent', 'boolean'],
    );
    assert.equal(made[4].value, false);
    // A stream in memory is synchronous, whatever its budget.
    assert.equal(made[0].value.release().step, 0);
    const taken = await FileStore.open(path).catch((error) => error);
    assert.equal(taken.code, 'store_in_use');
    await budget.dispose();
    await assert.rejects(budget.fits({ mu: 1 }), { code: 'disposed' });
  }
});

test('budget in a store: what could not be stored stays charged, and is stored by the next call', async () => {
  const { open, moments } = recorded();
  const store = open('budget');
  const budget = await dp.budget({ ...target, store });
  store.fails = true;
  await assert.rejects(budget.charge('lost', { mu: 0.1 }), { code: 'store_failed' });
  await assert.rejects(dp.counter({ steps: 8, epsilon: 0.1, delta: 1e-6, budget }), {
    code: 'store_failed',
  });
  assert.equal(
    budget.charges.length,
    1,
    'a call before which nothing could be stored does nothing',
  );
  store.fails = false;
  assert.ok(await budget.fits({ mu: 0.1 }));
  const kept = moments.at(-1).budget;
  const again = await dp.budget({ ...target, store: recorded().open('budget', kept) });
  assert.deepEqual(again.charges, budget.charges);
});

test('budget in a store: bytes that it did not write, and other options, are refused', async () => {
  const { open, moments } = recorded();
  const options = { ...target, pure: 0.25 };
  const budget = await dp.budget({ ...options, store: open('budget') });
  await budget.charge('one', { mu: 0.1 });
  await budget.charge('pure', { epsilon: 0.125, delta: 0 });
  const text = new TextDecoder().decode(moments.at(-1).budget);
  const reopen = (given, more) => {
    const bytes = typeof given === 'string' ? new TextEncoder().encode(given) : given;
    return dp.budget({ ...options, ...more, store: recorded().open('budget', bytes) });
  };
  assert.deepEqual((await reopen(text)).charges, budget.charges);
  const edited = [
    text.replace('"cost": 0.1', '"cost": 0.01'),
    text.replace('"cost": 0.1', '"cost": 0.1, "cost": 0.01'),
    text.replace('"name": "one"', '"name": "one", "note": "paid"'),
    text.replace('"epsilon": 1', '"epsilon": 1, "epsilon": 2'),
    text.replace('"part": "pure"', '"part": "mu"'),
    text.replace(/\{\s+"name": "one"[^}]*\},/, ''),
    text.replace('"version": 4', '"version": 4, "version": 4'),
    text.replace('"charges": [', '"charges": [null,'),
    text.trimEnd(),
    text.slice(0, -20),
    `${text} `,
    '{"format": "dp-ftrl budget", "version": 4}',
    '{"format": "dp-ftrl budget", "version": 5}',
    'null',
    '',
    new Uint8Array(64).fill(255),
  ];
  for (const [i, bytes] of edited.entries()) {
    assert.notEqual(bytes, text, `${i}`);
    const error = await reopen(bytes).catch((refused) => refused);
    wellTold(error);
    assert.equal(error.code, 'bad_state', `${i}: ${error.message}`);
  }
  const other = { code: 'other_options', message: /^budget: epsilon must be 1, .*, got 2$/ };
  await assert.rejects(reopen(text, { epsilon: 2 }), other);
  await assert.rejects(reopen(text, { pure: 0.5 }), { code: 'other_options', parameter: 'pure' });
  await assert.rejects(reopen(undefined, { mustExist: true }), { code: 'bad_state' });
});
