// SPDX-License-Identifier: Apache-2.0

// Streams of people: which records count, and equality with a stream of these records alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';
import { KINDS, TARGET } from './support/streams.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

/** Kinds of which only the first record of a person in a step counts. */
const HAS_FIRST = ['moments', 'histogram'];
const RELATIONS = [
  {},
  { neighbours: 'replace-one' },
  { neighbours: 'replace-one', fixedTimes: true },
];
const steps = 12;

/**
 * Rows that count: for each person the earliest steps that the bound allows, and the first row at
 * each.
 */
function counting(rows, { times, apart }) {
  const stepsOf = new Map();
  return rows.filter(({ who, step }) => {
    const own = stepsOf.get(who) ?? [];
    const counts = own.length < times && own.every((other) => step - other >= apart);
    if (counts) stepsOf.set(who, [...own, step]);
    return counts;
  });
}

/** Draws rows in the order of their steps. */
function randomRows(random, records, isRepeated) {
  const rows = Array.from({ length: 40 }, () => ({
    who: `p${Math.floor(4 * random())}`,
    step: Math.floor(steps * random()),
    record: records[Math.floor(records.length * random())],
  }));
  rows.sort((a, b) => a.step - b.step);
  if (isRepeated) return rows;
  const keys = rows.map(({ who, step }) => `${who} ${step}`);
  return rows.filter((_, i) => keys.indexOf(keys[i]) === i);
}

for (const [name, { kind, options, records, flat, learns, ofRecordsOnly }] of Object.entries(
  KINDS,
)) {
  if (learns || ofRecordsOnly) continue;
  const recordsOf = (rows) => {
    const list = rows.map(({ record }) => record);
    return flat ? list.flat() : list;
  };
  const hasFirst = HAS_FIRST.includes(kind);
  test(`people: a stream is that of the records that count, bit for bit (${name})`, () => {
    const random = generator(3);
    for (const relation of hasFirst ? RELATIONS : RELATIONS.slice(0, 2)) {
      for (let round = 0; round < 12; ++round) {
        const bound = { times: 1 + Math.floor(4 * random()), apart: 1 + Math.floor(4 * random()) };
        const rows = randomRows(random, records, hasFirst);
        const counted = counting(rows, bound);
        const own = { ...TARGET, ...options, ...relation, steps };
        const [stream, alone] = [
          dp[kind]({ ...own, people: bound }),
          dp[kind]({ ...own, participation: bound }),
        ];
        assert.deepEqual(stream.certificate, alone.certificate);
        for (let t = 0; t < steps; ++t) {
          const here = rows.filter(({ step }) => step === t);
          // Given in two calls, since a person may return.
          for (const part of [here.slice(0, 2), here.slice(2)]) {
            const people = part.map(({ who }) => who);
            stream.addMany(people, recordsOf(part));
          }
          const found = stream.end();
          assert.equal(stream.stddev(t), alone.stddev(t));
          const wanted = alone.releaseBatch(recordsOf(counted.filter(({ step }) => step === t)));
          assert.deepEqual(found, wanted);
        }
        assert.equal(stream.dropped, rows.length - counted.length);
        for (const each of [stream, alone]) each.dispose();
      }
    }
  });
}

test('people: everybody adds up', () => {
  const [stream, silent] = [0, 1].map(() => dp.counter({ ...TARGET, people: 'once' }));
  const crowd = Array.from({ length: 50 }, (_, i) => `person ${i}`);
  const { value } = stream.releaseBatch(crowd, new Float64Array(50).fill(1));
  assert.equal(value - silent.end().value, 50);
});

test('people: the records of a person in one step are added, then clipped together', () => {
  for (const [kind, own] of [
    ['totals', {}],
    ['totals', { lattice: 'discrete-gaussian', strategy: 'honaker' }],
    ['sums', { workloads: { all: 'prefix', week: { window: 2 } } }],
  ]) {
    const options = { ...TARGET, ...own, dimension: 2 };
    const people = dp[kind]({ ...options, people: 'once' });
    people.add('ann', [0.9, 0]);
    people.addMany(['bob', 'ann'], [0.25, 0.5, 0.6, 0]);
    assert.deepEqual(people.end(), dp[kind](options).releaseBatch([1, 0, 0.25, 0.5]));
  }
});
