// SPDX-License-Identifier: Apache-2.0

// Sums of many contributions per step, bounded by the caller or bounded per person.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const target = { mechanism: 'tree', epsilon: 1, delta: 1e-6, insecureSeed: 3 };

function withHandle(make, use) {
  const handle = make();
  try {
    return use(handle);
  } finally {
    handle.dispose();
  }
}
const withPeople = (options, use) => withHandle(() => dp.peopleSum({ ...target, ...options }), use);
const withSums = (options, use) => withHandle(() => dp.prefixSum({ ...target, ...options }), use);

/** Increments of the steps, without noise. */
function increments(options, contribute) {
  const noise = withSums(options, (sums) => sums.endSteps(options.numSteps));
  return withPeople(options, (sums) => {
    let before = 0;
    return Array.from({ length: options.numSteps }, (_, t) => {
      contribute(sums, t);
      const total = sums.endSteps()[0] - noise[t];
      const added = total - before;
      before = total;
      return added;
    });
  });
}

test('people sum: its properties are right, and its grid and std are those of a prefix sum', () => {
  const options = { numSteps: 9, dimension: 3, clipNorm: 2 };
  withPeople(options, (sums) => {
    assert.deepEqual([sums.dimension, sums.numSteps, sums.step], [3, 9, 0]);
    assert.equal(sums.certificate.clipNorm, 2);
    assert.equal(sums.insecure, true);
    withSums(options, (plain) => {
      assert.equal(sums.grid, plain.grid);
      assert.equal(sums.stddev(5), plain.stddev(5));
    });
    assert.equal(sums.endSteps(4).length, 12);
    assert.equal(sums.step, 4);
  });
});

test('people sum: the earliest contributions that fit the pattern count, regardless of other people', () => {
  const random = generator(1);
  for (let round = 0; round < 60; ++round) {
    const [participations, minSeparation] = [
      1 + Math.floor(4 * random()),
      1 + Math.floor(5 * random()),
    ];
    const options = { numSteps: 20, participation: { participations, minSeparation } };
    const rows = Array.from({ length: 30 }, () => ({
      who: `p${Math.floor(3 * random())}`,
      step: Math.floor(20 * random()),
    }));
    rows.sort((a, b) => a.step - b.step);
    const run = (given) =>
      increments(options, (sums, t) => {
        for (const { who } of given.filter(({ step }) => step === t)) sums.contribute(who, [1]);
      });
    const counted = new Set();
    for (const who of new Set(rows.map((row) => row.who))) {
      const steps = [];
      for (const row of rows.filter((it) => it.who === who)) {
        const fits = steps.length < participations && row.step - steps.at(-1) >= minSeparation;
        if (steps.length === 0 || fits) steps.push(row.step);
      }
      for (const step of steps) counted.add(`${who} ${step}`);
    }
    const expected = Array.from(
      { length: 20 },
      (_, t) => [...counted].filter((it) => it.endsWith(` ${t}`)).length,
    );
    assert.deepEqual(run(rows), expected);
    // Without one person, the others are unchanged.
    const others = run(rows.filter(({ who }) => who !== 'p0'));
    const gone = expected.map((count, t) => count - others[t]);
    assert.deepEqual(
      gone,
      expected.map((_, t) => Number(counted.has(`p0 ${t}`))),
    );
  }
});

test('people sum: parts of a person are added, then clipped; everybody adds up', () => {
  const added = increments({ numSteps: 3, clipNorm: 2 }, (sums, t) => {
    if (t === 0) sums.contribute(['a', 'b', 'a', 'c'], [1.5, 1, 1.5, -7]);
    if (t === 2) sums.contribute('d', [0.5]);
  });
  assert.deepEqual(added, [1, 0, 0.5]);
  const crowd = Array.from({ length: 50 }, (_, i) => `person ${i}`);
  const ones = new Float64Array(50).fill(1);
  assert.deepEqual(
    increments({ numSteps: 1 }, (sums) => sums.contribute(crowd, ones)),
    [50],
  );
});

test('people sum: releaseEach gives the totals of single steps, and fills the given array', () => {
  const participation = { participations: 2, minSeparation: 3 };
  const options = { numSteps: 6, dimension: 2, participation };
  const people = ['a', 'b', 'a', 'a', 'b', 'b'];
  const records = Float64Array.from({ length: 12 }, (_, i) => (i % 5) / 8);
  const single = withPeople(options, (sums) =>
    people.flatMap((name, i) => {
      sums.contribute(name, records.subarray(2 * i, 2 * i + 2));
      return [...sums.endSteps()];
    }),
  );
  withPeople(options, (sums) => {
    const out = new Float64Array(12);
    assert.equal(sums.releaseEach(people, records, out), out);
    assert.deepEqual([...out], single);
    assert.equal(sums.numDropped, 2);
  });
});

test('prefix sum: contributions of a step are clipped one by one and added up', () => {
  const options = { numSteps: 4, dimension: 2 };
  const noise = withSums(options, (sums) => sums.endSteps(4));
  withSums(options, (sums) => {
    sums.contribute([3, 4, 0, -9, 0.5, 0]);
    sums.contribute([]);
    const first = sums.endSteps();
    const out = new Float64Array(6);
    assert.equal(sums.endSteps(3, out), out);
    const added = [first[0] - noise[0], first[1] - noise[1]];
    assert.ok(Math.abs(added[0] - 1.1) <= 3 * sums.grid, `${added}`);
    assert.ok(Math.abs(added[1] + 0.2) <= 3 * sums.grid, `${added}`);
    assert.equal(out[4] - noise[6], added[0]);
  });
  // A record is one contribution.
  const records = [0.25, 0.5, -1, 0];
  const plain = withSums({ numSteps: 2, dimension: 2 }, (sums) => sums.releaseMany(records));
  withSums({ numSteps: 2, dimension: 2 }, (sums) => {
    sums.contribute(records.slice(0, 2));
    assert.deepEqual(sums.endSteps(), plain.subarray(0, 2));
    assert.deepEqual(sums.release(records.slice(2)), plain.subarray(2));
  });
});

test('bad input: errors name the problem, and what came before it is kept', () => {
  withPeople({ numSteps: 3 }, (sums) => {
    const cases = [
      [() => sums.contribute(5, [1]), TypeError, 'wrong_type', /people must be a string or an/],
      [() => sums.contribute(['a', 5], [1, 1]), TypeError, 'wrong_type', /people\[1\] must be a /],
      [() => sums.contribute(['a'], [1, 1]), TypeError, 'wrong_length', /one string for each of 2/],
      [() => sums.contribute('a', ['1']), TypeError, 'wrong_type', /records\[0\] must be a number/],
      [() => sums.releaseEach(null, [1]), TypeError, 'wrong_type', /people must be a string/],
      [() => sums.endSteps('1'), TypeError, 'wrong_type', /numSteps must be a number/],
      [() => sums.endSteps(-1), RangeError, 'invalid_argument', /numSteps must be an integer/],
      [() => sums.endSteps(1, new Float64Array(2)), TypeError, 'wrong_length', /out must have 1/],
      [() => sums.endSteps(1, []), TypeError, 'wrong_type', /out must be a Float64Array/],
    ];
    for (const [call, Kind, code, message] of cases) rejects(call, Kind, code, message);
    assert.throws(
      () => sums.contribute(['a', 'b'], [1, NaN]),
      ({ message, contributed }) => /record 1: .*got NaN/.test(message) && contributed === 1,
    );
    const out = new Float64Array(5);
    assert.throws(
      () => sums.endSteps(5, out),
      ({ code, released }) => code === 'past_horizon' && released.length === 3,
    );
    assert.ok(out[2] !== 0 && out[3] === 0);
    rejects(() => sums.contribute('c', [1]), DpError, 'past_horizon', /below the horizon 3/);
  });
  rejects(
    () => dp.peopleSum({ ...target, numSteps: 4, participation: { epochs: 2 } }),
    RangeError,
    'invalid_argument',
    /participation must be 'single', or participations and minSeparation, got epochs/,
  );
});
