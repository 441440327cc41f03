// SPDX-License-Identifier: Apache-2.0

// Streams of active people: their noise, who counts, what a crash leaves, and what is refused. The
// laws of all streams hold for them, too (streams.test.mjs).

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { wellTold } from './support/check.mjs';
import { entryUrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { appendingStore } from './support/stores.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const { FileStore } = await importEntry('dp-ftrl/file-store');
const { connect } = await importEntry('dp-ftrl/worker-client');
const client = connect({ worker: new Worker(entryUrl('dp-ftrl/worker')) });
after(() => client.terminate());
const scratch = scratchFolder('active');

const TARGET = { epsilon: 1, delta: 1e-6 };
const YEAR = { ...TARGET, steps: 365 };
const SMALL = { ...TARGET, steps: 12, windows: { day: 1, week: 3 }, insecureSeed: 5 };

async function failing(call) {
  try {
    await call();
  } catch (error) {
    wellTold(error);
    return error;
  }
  return assert.fail('nothing was refused');
}

/** Standard deviation of one window of a year. */
function stddevOf(window, more) {
  const people = dp.active({ ...YEAR, windows: { own: window }, ...more });
  try {
    const { own } = people.certificate.active;
    assert.equal(people.stddev(0).toFixed(2), people.stddev(364).toFixed(2));
    assert.ok(Math.abs(own.stddev / people.stddev(0) - 1) < 1e-3); // rounded to whole people
    return own.stddev;
  } finally {
    people.dispose();
  }
}

// [window, noise with an open start, with a closed start, with replace-one neighbours]:
// docs/math/active.md, from tests/reference/active_oracle.py.
const KNOWN = [
  [1, 42.47, 42.47, 80.71],
  [7, 37.37, 37.32, 67.65],
  [30, 28.48, 28.2, 49.52],
];

for (const [window, open, closed, replaced] of KNOWN) {
  test(`active: a year of a window of ${window} has the noise that is known`, () => {
    const near = (found, wanted) => assert.ok(Math.abs(found - wanted) < 0.01, `${found}`);
    near(stddevOf(window), open);
    near(stddevOf(window, { closedStart: true }), closed);
    near(stddevOf(window, { neighbours: 'replace-one' }), replaced);
  });
}

/**
 * Upper bounds on the noise of a window in a stream without an end;
 * tests/golden/active_endless.json.
 */
const ENDLESS = [
  [1, 45.4],
  [7, 40.6],
  [30, 31.9],
];

for (const [window, most] of ENDLESS) {
  test(`active: without an end, a window of ${window} has the noise that is known`, () => {
    const people = dp.active({ ...YEAR, steps: 'endless', windows: { own: window } });
    const { active, protectedSteps, sensitivityExactness } = people.certificate;
    assert.ok(active.own.stddev <= most && active.own.stddev > most - 0.06, active.own.stddev);
    assert.equal(active.own.mechanism, 'endless-ar');
    assert.equal(protectedSteps, 365);
    assert.equal(sensitivityExactness, 'upper bound');
    assert.ok(people.stddev(0) < people.stddev(3000) + 1e-9);
    people.dispose();
  });
}

test('active: a stream without an end goes on after the years, and after restarts', async () => {
  const windows = { day: 1, month: 30 };
  const options = { ...TARGET, steps: 'endless', windows, insecureSeed: 7 };
  const whole = dp.active(options);
  const store = appendingStore();
  let parts = await dp.active({ ...options, store });
  for (let year = 0; year < 3; ++year) {
    whole.add('ann');
    await parts.add('ann');
    const wanted = whole.endMany(365);
    assert.deepEqual(await parts.endMany(365), wanted);
    await parts.dispose();
    parts = await dp.active({ ...options, store });
  }
  assert.equal(parts.step, 3 * 365);
  await parts.dispose();
  const error = await failing(() => dp.active({ ...options, steps: 365, store }));
  assert.deepEqual([error.code, error.parameter], ['other_options', 'steps']);
});

/**
 * Noise of each window relative to that of the same window alone; docs/math/active.md, theorem 7.
 */
const FACTORS = [
  [{ day: 1, week: 7, month: 30 }, 1.566],
  [{ day: 1, week: 7 }, 1.328],
  [{ day: 1, month: 30 }, 1.316],
  [{ month: 30, week: 7 }, 1.288],
];

test('active: several windows cost less than each on its own', () => {
  for (const [windows, factor] of FACTORS) {
    const people = dp.active({ ...YEAR, windows });
    for (const [name, { stddev }] of Object.entries(people.certificate.active)) {
      const found = stddev / stddevOf(windows[name]);
      assert.ok(Math.abs(found - factor) < 1e-3, `${JSON.stringify(windows)}: ${found}`);
    }
    people.dispose();
  }
});

test('active: several windows share the budget, and have the same factor', () => {
  const windows = { day: 1, week: 7, month: 30 };
  const people = dp.active({ ...YEAR, windows });
  const { certificate } = people;
  assert.deepEqual(Object.keys(certificate.active), ['day', 'week', 'month']);
  const { mu } = certificate;
  for (const [name, window] of Object.entries(windows)) {
    const { stddev, mechanism, window: own } = certificate.active[name];
    assert.equal(own, window);
    assert.equal(mechanism, 'offset-ar');
    const factor = stddev / stddevOf(window);
    assert.ok(Math.abs(factor / (certificate.active.day.stddev / stddevOf(1)) - 1) < 1e-9);
  }
  const replaced = { windows, neighbours: 'replace-one' };
  for (const [name, { stddev }] of Object.entries(
    dp.active({ ...YEAR, ...replaced }).certificate.active,
  )) {
    const alone = stddevOf(windows[name], { neighbours: 'replace-one' });
    assert.ok(Math.abs(stddev / alone - Math.sqrt(3)) < 1e-9);
  }
  const one = dp.active({ ...YEAR, windows: { month: 30 } }).certificate;
  assert.equal(one.sensitivityExactness, 'exact');
  assert.equal(certificate.sensitivityExactness, 'upper bound');
  assert.equal(certificate.mu, one.mu);
  assert.equal(mu, dp.calibrate(TARGET).mu);
  assert.equal(certificate.participation, 'active');
});

/**
 * Days of events, by the first letters of names; a small letter is a request to forget that person.
 */
const DAYS = ['A', 'AAB', '', 'B', 'a', 'A', '', 'AC', 'CbB', 'B', '', ''];
/** Numbers of people who are active in a window of 1 day and of 3 days. */
const COUNTS = [
  [1, 1],
  [2, 2],
  [0, 2],
  [1, 2],
  [0, 1],
  [0, 1],
  [0, 0],
  [2, 2],
  [1, 2],
  [0, 2],
  [0, 1],
  [0, 0],
];

async function play(stream, day) {
  for (const letter of DAYS[day]) {
    const person = letter.toUpperCase();
    await (letter === person ? stream.add(person) : stream.forget(person));
  }
  return stream.end();
}

const valuesOf = ({ active }) => Object.values(active).map(({ value }) => value);

const PLACES = {
  memory: () => dp.active(SMALL),
  store: () => dp.active({ ...SMALL, store: appendingStore() }),
  file: async () => dp.active({ ...SMALL, store: await FileStore.open(join(scratch, 'people')) }),
  worker: () => client.active(SMALL),
};
for (const [place, make] of Object.entries(PLACES)) {
  test(`active: counts are those of the events, with the noise of nobody (${place})`, async () => {
    const stream = await make();
    const nobody = dp.active(SMALL);
    for (const day of DAYS.keys()) {
      const [counts, noise] = [await play(stream, day), nobody.end()];
      assert.equal(counts.step, day);
      const found = valuesOf(counts).map((value, i) => value - valuesOf(noise)[i]);
      assert.deepEqual(found, COUNTS[day], `day ${day}`);
      for (const { value, low, high, stddev } of Object.values(counts.active)) {
        assert.ok(low < value && value < high && Math.abs(high - low - 3.92 * stddev) < 1.1);
      }
    }
    await stream.dispose();
  });
}

/** A store that begins with some bytes and keeps a copy of its content after each write. */
function snapshots(bytes) {
  const writes = [];
  const store = appendingStore(bytes);
  const keep = (write) => async (given) => {
    await write(given);
    writes.push(await store.load());
  };
  return { ...store, writes, save: keep(store.save), append: keep(store.append) };
}

test('active: an event that resolved survives a crash, and no day has two counts', async () => {
  const store = snapshots();
  const stream = await dp.active({ ...SMALL, store });
  const readings = [];
  for (const day of DAYS.keys()) readings.push(await play(stream, day));
  let write = -1;
  /** Day of the last request to forget each person. */
  const asked = new Map();
  for (const [day, letters] of DAYS.entries()) {
    const seen = new Set();
    for (const [i, letter] of [...letters].entries()) {
      const isRequest = letter !== letter.toUpperCase();
      const isBarred = day - asked.get(letter.toLowerCase()) < 3;
      if (isRequest) asked.set(letter, day);
      if (seen.has(letter) || (isBarred && !isRequest)) continue;
      seen.add(letter);
      write += 1;
      const again = await dp.active({ ...SMALL, store: snapshots(store.writes[write]) });
      assert.equal(again.step, day);
      for (const rest of letters.slice(i + 1)) {
        const person = rest.toUpperCase();
        await (rest === person ? again.add(person) : again.forget(person));
      }
      assert.deepEqual(await again.end(), readings[day], `day ${day}, after event ${i}`);
    }
    write += 1;
    const again = await dp.active({ ...SMALL, store: snapshots(store.writes[write]) });
    assert.equal(again.step, day + 1);
    assert.deepEqual(await again.at(day), readings[day]);
    if (day + 1 < DAYS.length) assert.deepEqual(await play(again, day + 1), readings[day + 1]);
  }
  assert.equal(store.writes.length, write + 1, 'and events that change nothing are not written');
});

test('active: a day is asked for again, but never counted twice', async () => {
  const store = appendingStore();
  const stream = await dp.active({ ...SMALL, store });
  const reading = await stream.releaseAt(0, ['ann', 'bob', 'ann']);
  assert.deepEqual(await stream.releaseAt(0, ['ann', 'bob', 'ann']), reading);
  const error = await failing(() => stream.releaseAt(0, ['ann', 'carl']));
  assert.equal(error.code, 'already_released');
  assert.deepEqual(await stream.at(-1), reading);
});

test('active: names are told apart by the rule of persons', async () => {
  const distinct = (names, more) => {
    const [people, nobody] = [dp.active({ ...SMALL, ...more }), dp.active({ ...SMALL, ...more })];
    people.addMany(names);
    return valuesOf(people.end())[0] - valuesOf(nobody.end())[0];
  };
  assert.equal(distinct(['7', '7.0', '007']), 3);
  assert.equal(distinct(['7', '7.0', '007'], { numericNames: true }), 1);
  assert.equal(distinct(['\u00e9', 'e\u0301', ' \u00e9 ']), 1);
  assert.equal(distinct(['Ann', 'ann']), 2);
});

const BAD_OPTIONS = [
  [{ windows: { day: 0 } }, 'windows.day', /an integer from 1 to steps = 12, got 0$/],
  [{ windows: { month: 13 } }, 'windows.month', /from 1 to steps = 12, got 13$/],
  [{ windows: { day: 1.5 } }, 'windows.day', /an integer .*, got 1.5$/],
  [{ windows: { day: '1' } }, 'windows.day', /a number, got string "1"$/],
  [{ windows: {} }, 'windows', /at least 1 name, got 0 names$/],
  [{ windows: 7 }, 'windows', /an object with a number of steps for each of its names/],
  [{ windows: undefined }, 'windows', /an object with a number of steps/],
  [{ people: 'once' }, 'people', /is an unknown option/],
  [{ participation: 'once' }, 'participation', /is an unknown option/],
  [{ strategy: 'optimal' }, 'strategy', /is an unknown option/],
  [{ closedStart: 1 }, 'closedStart', /must be a boolean/],
  [{ neighbours: 'add-remove' }, 'neighbours', /one of zero-out, replace-one/],
  [{ delta: 0 }, 'delta', /between 0 and 1/],
  [{ steps: 0 }, 'steps', /at least 1, got 0$/],
  [
    { steps: 'endless', windows: { a: 14 } },
    'windows.a',
    /must be 1, 7 or 30 with steps 'endless', got 14$/,
  ],
  [
    { steps: 'endless', windows: { day: 1 }, closedStart: false },
    'closedStart',
    /left out with steps 'endless'/,
  ],
  [
    { steps: 'endless', windows: { day: 1 }, neighbours: 'replace-one' },
    'neighbours',
    /zero-out with steps 'endless'/,
  ],
  [{ steps: 'forever' }, 'steps', /must be a number, got string "forever"$/],
  [{ steps: 20000, windows: { day: 1 } }, 'steps', /16384/],
];

for (const [change, parameter, message] of BAD_OPTIONS) {
  test(`active: ${JSON.stringify(change)} is refused`, async () => {
    const error = await failing(() => dp.active({ ...SMALL, ...change }));
    assert.equal(error.parameter, parameter, error.message);
    assert.match(error.message, message);
    assert.match(error.message, /^active: /);
  });
}

test('active: what is no person is refused, and nothing is lost', async () => {
  const [people, nobody] = [dp.active(SMALL), dp.active(SMALL)];
  people.add('ann');
  for (const [call, parameter, message] of [
    [() => people.add(''), 'person', /^add: person must be a name, not an empty text/],
    [() => people.add('   '), 'person', /not an empty text/],
    [() => people.add(7), 'person', /^add: person must be a string, got number 7$/],
    [() => people.add(), 'person', /must be a string, got undefined/],
    [() => people.forget(''), 'person', /^forget: person must be a name/],
    [() => people.addMany(['bob', '']), 'people[1]', /^addMany: people\[1\] must be a name/],
    [() => people.addMany('bob'), 'people', /must be an array of strings, got string "bob"/],
    [() => people.addMany(), 'people', /must be an array of strings/],
    [() => people.add('bob', 1), undefined, /^add: takes person alone, got 2 arguments$/],
  ]) {
    const error = await failing(call);
    assert.equal(error.parameter, parameter, error.message);
    assert.match(error.message, message);
  }
  assert.equal(people.records, 1);
  assert.deepEqual(valuesOf(people.end())[0] - valuesOf(nobody.end())[0], 1);
});

test('active: after the last step nothing is counted', async () => {
  const store = appendingStore();
  const stream = await dp.active({ ...SMALL, store });
  await stream.endMany(12);
  for (const call of [() => stream.add('ann'), () => stream.end(), () => stream.forget('ann')]) {
    const error = await failing(call);
    assert.equal(error.code, 'past_horizon');
    assert.match(
      error.message,
      /below the horizon 12; with steps 'endless' there is none, got 12$/,
    );
  }
  assert.equal(stream.step, 12);
});

test('active: a state of other windows is refused by name', async () => {
  const store = appendingStore();
  const stream = await dp.active({ ...SMALL, store });
  await stream.add('ann');
  await stream.dispose();
  for (const [change, option] of [
    [{ windows: { day: 1, week: 4 } }, 'windows'],
    [{ windows: { week: 3, day: 1 } }, 'windows'],
    [{ windows: { day: 1 } }, 'windows'],
    [{ closedStart: true }, 'closedStart'],
    [{ neighbours: 'replace-one' }, 'neighbours'],
    [{ steps: 13 }, 'steps'],
    [{ numericNames: true }, 'numericNames'],
  ]) {
    const error = await failing(() => dp.active({ ...SMALL, ...change, store }));
    assert.equal(error.code, 'other_options');
    assert.equal(error.parameter, option);
  }
});

test('active: a budget pays for all windows together', async () => {
  const budget = dp.budget({ epsilon: 2, delta: 1e-6 });
  const people = dp.active({ ...SMALL, insecureSeed: undefined, budget });
  assert.equal(budget.charges.length, 1);
  assert.equal(budget.charges[0].name, 'active');
  assert.ok(budget.left.epsilon < 1.8);
  const error = await failing(() =>
    dp.active({ ...YEAR, epsilon: 1.9, windows: { month: 30 }, budget }),
  );
  assert.equal(error.code, 'budget_spent');
  people.dispose();
});

test('active: a half-width is for sums, and the readings have intervals', async () => {
  const error = await failing(() => dp.active(SMALL).halfWidth({ probability: 0.05 }));
  assert.equal(error.code, 'unsupported');
});
