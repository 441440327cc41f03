// SPDX-License-Identifier: Apache-2.0

// Statistics of people: which records count, and equality with a statistic of these records alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';
import { using } from './support/statistics.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();

const numSteps = 12;
const target = { numSteps, epsilon: 1, delta: 1e-6, mechanism: 'tree', insecureSeed: 5 };
const categories = ['tea', 'coffee', 'other'];
const kinds = [
  {
    what: {
      statistic: 'moments',
      ranges: [
        [0, 10],
        [-1, 1],
      ],
      covariance: true,
    },
    draw: (random) => [12 * random() - 1, 3 * random() - 1.5],
    join: (records) => records.flat(),
  },
  {
    what: { statistic: 'histogram', categories, other: 'other' },
    draw: (random) => ['tea', 'coffee', 'milk'][Math.floor(3 * random())],
    join: (records) => records,
  },
];

const withPeople = (options, use) => using({ statistic: dp.peopleStatistic }, options, use);

/**
 * Rows that count: for each person the earliest steps that satisfy the pattern, and the first row
 * at each.
 */
function counting(rows, k, s) {
  const steps = new Map();
  return rows.filter(({ who, step }) => {
    const own = steps.get(who) ?? [];
    const counts = own.length < k && own.every((other) => step - other >= s);
    if (counts) steps.set(who, [...own, step]);
    return counts;
  });
}

function randomRows(random, draw) {
  const rows = Array.from({ length: 40 }, () => ({
    who: `p${Math.floor(4 * random())}`,
    step: Math.floor(numSteps * random()),
    record: draw(random),
  }));
  return rows.sort((a, b) => a.step - b.step);
}

const at = (rows, step) => rows.filter((row) => row.step === step);

test('people statistic: it equals the statistic of the records that count, bit for bit', () => {
  const random = generator(3);
  for (const { what, draw, join } of kinds) {
    for (const relation of [
      { neighbours: 'zero-out' },
      { neighbours: 'replace-one' },
      { neighbours: 'replace-one', fixedTimes: true },
    ]) {
      for (let round = 0; round < 12; ++round) {
        const [k, s] = [1 + Math.floor(4 * random()), 1 + Math.floor(4 * random())];
        const participation = { participations: k, minSeparation: s };
        const options = { ...what, ...target, ...relation, participation };
        const rows = randomRows(random, draw);
        const counted = counting(rows, k, s);
        const expected = using(dp, options, (statistic) => {
          return Array.from({ length: numSteps }, (_, t) => {
            statistic.contribute(join(at(counted, t).map(({ record }) => record)));
            return statistic.endSteps()[0];
          });
        });
        withPeople(options, (statistic) => {
          const found = Array.from({ length: numSteps }, (_, t) => {
            const own = at(rows, t);
            // Given in two calls, since a person may return.
            for (const part of [own.slice(0, 2), own.slice(2)]) {
              const people = part.map(({ who }) => who);
              statistic.contribute(people, join(part.map(({ record }) => record)));
            }
            return statistic.endSteps()[0];
          });
          assert.deepEqual(found, expected);
          assert.equal(statistic.numDropped, rows.length - counted.length);
        });
      }
    }
  }
});

test('people statistic: where rows are steps, so are those that do not count', () => {
  for (const { what, draw, join } of kinds) {
    const options = { ...what, ...target, participation: 'single' };
    const records = Array.from({ length: 4 }, () => draw(generator(8)));
    const expected = using(dp, options, (statistic) => [
      ...statistic.releaseMany(join(records.slice(0, 2))),
      ...statistic.endSteps(2),
    ]);
    withPeople(options, (statistic) => {
      const found = statistic.releaseEach(['ann', 'bob', 'ann', 'bob'], join(records));
      assert.deepEqual(found, expected);
      assert.equal(statistic.numDropped, 2);
      assert.equal(statistic.step, 4);
    });
  }
});

test('people statistic: noise and certificate are those of a user with as many records', () => {
  for (const { what } of kinds) {
    const participation = { participations: 3, minSeparation: 2 };
    const options = { ...what, ...target, neighbours: 'replace-one', participation };
    const facts = ({ certificate, dimension, insecure, categories: names, stddev }) => ({
      certificate,
      dimension,
      insecure,
      names,
      hasStddev: typeof stddev,
    });
    const [of, std] = using(dp, options, (it) => [facts(it), it.stddev(3)]);
    withPeople(options, (it) => {
      assert.deepEqual(facts(it), of);
      assert.equal(it.stddev(3), std);
    });
  }
});

test('people statistic: many categories are contributed in pieces, with their people', () => {
  const many = Array.from({ length: 3000 }, (_, j) => `c${j}`);
  const options = {
    statistic: 'histogram',
    categories: many,
    ...target,
    numSteps: 1,
    epsilon: 1e5,
  };
  withPeople(options, (statistic) => {
    const people = Array.from({ length: 90 }, (_, i) => `p${i % 60}`);
    statistic.contribute(
      people,
      people.map((_, i) => many[i]),
    );
    const { count } = statistic.endSteps()[0];
    count.forEach(({ value }, j) => assert.ok(Math.abs(value - (j < 60 ? 1 : 0)) < 0.1));
    assert.equal(statistic.numDropped, 30);
  });
});

test('people statistic: consistent monotone counts are not negative and do not fall', () => {
  const { what } = kinds[1];
  withPeople({ ...what, ...target }, (statistic) => {
    statistic.contribute('ann', ['tea']);
    const days = statistic.endSteps(4);
    const [first, , , last] = statistic.consistentCounts(days, 'monotone');
    first.count.forEach((value, j) => assert.ok(value >= 0 && value <= last.count[j]));
  });
});

test('people statistic: refused calls change nothing', () => {
  rejects(
    () => dp.peopleStatistic({ ...kinds[0].what, ...target, participation: { epochs: 2 } }),
    RangeError,
    'invalid_argument',
    /^peopleStatistic: participation must be 'single', or participations and minSeparation/,
  );
  withPeople({ ...kinds[0].what, ...target }, (it) => {
    rejects(
      () => it.contribute(['ann'], [1, 0, 2, 0]),
      TypeError,
      'wrong_length',
      /^contribute: people must have/,
    );
    rejects(
      () => it.contribute(['ann', 7], [1, 0, 2, 0]),
      TypeError,
      'wrong_type',
      /^contribute: people\[1\]/,
    );
    rejects(
      () => it.contribute(['ann', 'bob'], [1, 0, 2, NaN]),
      RangeError,
      'invalid_argument',
      /record/,
    );
    rejects(
      () => it.releaseEach(['ann'], [1, 0, 2, 0]),
      TypeError,
      'wrong_length',
      /^releaseEach: people must/,
    );
    assert.equal(it.step, 0);
    assert.equal(it.numDropped, 0);
    it.contribute(['ann'], [1, 0]);
    assert.equal(it.numDropped, 0);
    it.endSteps(numSteps);
    rejects(() => it.contribute(['bob'], [1, 0]), DpError, 'past_horizon', /contribute/);
    rejects(() => it.endSteps(), DpError, 'past_horizon', /endSteps/);
  });
  withPeople({ ...kinds[1].what, other: undefined, ...target }, (it) => {
    rejects(
      () => it.contribute(['ann', 'ann'], ['tea', 'milk']),
      RangeError,
      'invalid_argument',
      /record/,
    );
    it.contribute(['ann'], ['tea']);
    assert.equal(it.numDropped, 0);
  });
  const disposed = dp.peopleStatistic({ ...kinds[0].what, ...target });
  disposed.dispose();
  rejects(() => disposed.endSteps(), DpError, 'disposed', /statistic/);
  rejects(() => disposed.numDropped, DpError, 'disposed', /statistic/);
});
