// SPDX-License-Identifier: Apache-2.0

// compose: the total spent by several releases is never below the exact sum.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const target = { epsilon: 1, delta: 1e-6 };
const total = (account, costs) => dp.compose({ account, costs, ...target }).total;

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

test('compose: the total is never below the exact one, and two units above it at most', () => {
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

test('compose: totals and limits have their known values', () => {
  assert.equal(total('mu', [3, 4]), 5);
  assert.equal(total('rho', [0.5, 0.25, 4]), 4.75);
  assert.equal(total('mu', [0.7]), 0.7);
  assert.equal(total('rho', Float64Array.of(0.7)), 0.7);
  for (const account of ['mu', 'rho']) {
    const none = dp.compose({ account, costs: [], ...target });
    assert.deepEqual([none.total, none.epsilon, none.fits], [0, 0, true]);
    const { limit } = none;
    const all = dp.compose({ account, costs: [limit], ...target });
    assert.deepEqual([all.total, all.fits, all.limit], [limit, true, limit]);
    close(all.epsilon, 1, 3e-12);
    // A relative excess of 2^-40 is accepted, and lies within the target.
    const most = neighbour(limit + limit * 2 ** -40, -1);
    for (const [costs, fits] of [
      [[neighbour(limit, 1)], true],
      [[most], true],
      [[neighbour(most, 2)], false],
      [[limit * (1 + 1e-12)], false],
      // A cost too small to change the sum still increases it.
      [[neighbour(most, 1), 1e-300], false],
    ]) {
      const found = dp.compose({ account, costs, ...target });
      assert.equal(found.fits, fits, `${account}: ${costs}`);
      if (fits) assert.ok(found.epsilon <= target.epsilon, `${account}: ${costs}`);
    }
    const two = dp.compose({ account, costs: [limit / 2, limit / 3], ...target });
    close(two.epsilon, dp.calibrate({ [account]: two.total, delta: 1e-6 }).epsilon, 0);
  }
  const { mu } = dp.calibrate(target);
  assert.equal(mu, dp.compose({ account: 'mu', costs: [], ...target }).limit);
  // zCDP does not capture everything known about a Gaussian, so rho leaves less room.
  const { limit } = dp.compose({ account: 'rho', costs: [], ...target });
  close(limit, 0.024355970359538303, 1e-12);
  assert.ok(limit < dp.calibrate(target).rho);
  // epsilon tanh(epsilon / 2).
  close(dp.pureRho(1), 0.46211715726000976, 1e-14);
  close(dp.pureRho(0.1), 0.0049958374957880026, 1e-14);
});

test('compose: parts of a limit fit it, however many and for every target', () => {
  for (const epsilon of [1e-6, 0.01, 0.3, 1, 3, 8, 20, 500]) {
    for (const delta of [1e-300, 1e-12, 1e-6, 0.1, 0.9]) {
      const { mu } = dp.calibrate({ epsilon, delta });
      for (const count of [1, 2, 3, 5, 7, 10, 100, 365, 1000]) {
        const { limit } = dp.compose({ account: 'rho', costs: [], epsilon, delta });
        for (const [account, cost] of [
          ['mu', mu / Math.sqrt(count)],
          ['rho', limit / count],
        ]) {
          const costs = Array(count).fill(cost);
          const name = `${account}, (${epsilon}, ${delta}), ${count}`;
          const found = dp.compose({ account, costs, epsilon, delta });
          assert.ok(found.fits && found.epsilon <= epsilon, name);
          const more = costs.with(0, cost * (1 + 1e-9 * count));
          assert.equal(dp.compose({ account, costs: more, epsilon, delta }).fits, false, name);
        }
      }
    }
  }
});

test('compose: invalid options are refused', () => {
  const given = { account: 'mu', costs: [1], ...target };
  for (const [change, code, message] of [
    [{ account: 'epsilon' }, 'invalid_argument', /account must be one of mu, rho, got "epsilon"/],
    [{ account: undefined }, 'wrong_type', /account must be a string, got undefined/],
    [{ costs: undefined }, 'wrong_type', /costs must be an array of numbers, got undefined/],
    [{ costs: ['1'] }, 'wrong_type', /costs\[0\] must be a number, got string "1"/],
    [{ costs: [1, null] }, 'wrong_type', /costs\[1\] must be a number, got null/],
    ...[0, -1, NaN, Infinity].flatMap((cost) => [
      [{ costs: [1, cost] }, 'invalid_argument', /costs\[1\] must be positive/],
      [{ account: 'rho', costs: [cost] }, 'invalid_argument', /costs\[0\] must be positive/],
    ]),
    ...[0, -1, NaN, Infinity].flatMap((epsilon) => [
      [{ epsilon }, 'invalid_argument', /epsilon must be positive/],
      [{ epsilon, account: 'rho' }, 'invalid_argument', /epsilon must be positive/],
    ]),
    ...[0, 1, -1, NaN].map((delta) => [{ delta }, 'invalid_argument', /delta must be/]),
    [{ rho: 1 }, 'wrong_type', /rho is an unknown option/],
  ]) {
    const Kind = code === 'wrong_type' ? TypeError : RangeError;
    rejects(() => dp.compose({ ...given, ...change }), Kind, code, message);
  }
  for (const epsilon of [0, -1, NaN, Infinity]) {
    const message = /pureRho: epsilon must be positive/;
    rejects(() => dp.pureRho(epsilon), RangeError, 'invalid_argument', message);
  }
});
