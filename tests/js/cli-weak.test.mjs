// SPDX-License-Identifier: Apache-2.0

// Targets with a weak guarantee are reported on standard error, once each, and never in the output.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, root } from './support/consumer.mjs';

const example = (name) => join(root, `examples/${name}.csv`);
const minutes = ['--columns', 'minutes', '--domain', '0:180'];
const daily = ['--time-column', 'time', '--bucket', 'day'];

/** Commands that release, each with 840 rows or a number of rows that is not public. */
const COMMANDS = {
  release: ['--clip', '1', '--columns', 'count', example('shop_day')],
  // A named mechanism has Gaussian noise, and so a delta.
  count: [...daily, '--strategy', 'independent', example('site_visits')],
  learn: ['--label', 'label', '--passes', '1', '--clip', '1', example('pendulum')],
  queries: ['--workload', 'identity', ...minutes, example('gym_visits')],
  choose: ['--winner', ...minutes, example('gym_visits')],
};

const EPSILON =
  /^dp-ftrl [a-z]+: warning: --epsilon (\S+) is above 20 and promises next to nothing: one row may make an output e\^\1 times as likely$/gm;
const DELTA =
  /^dp-ftrl [a-z]+: warning: --delta (\S+) is above 0\.001: publishing each row in full with probability \1 would keep that promise$/gm;
const COUNT =
  /^dp-ftrl [a-z]+: warning: --delta (\S+) is above 1\/n for n = (\d+) (rows|users): publishing one of the \3 in full would keep that promise$/gm;

async function warned(command, more, options) {
  const args = [command, ...more, ...COMMANDS[command].slice(0, options ? -1 : undefined)];
  const { code, stdout, stderr } = await dpFtrl([...args, '--seed', '1', '--json'], options);
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stdout, /warning|promise/);
  JSON.parse(stdout);
  const all = [EPSILON, DELTA, COUNT].map((pattern) => [...stderr.matchAll(pattern)]);
  const others = stderr.split('\n').filter((line) => /is above/.test(line));
  assert.equal(others.length, all.flat().length, stderr);
  return all.map((found) => found.map(([, ...numbers]) => numbers.join(' ')));
}

test('warnings: every command warns of epsilon above 20 and delta above 1e-3, with the number', async () => {
  for (const command of Object.keys(COMMANDS)) {
    const delta = (value) => (command === 'choose' ? [] : ['--delta', value]);
    for (const more of [[], ['--quiet']]) {
      const [epsilons] = await warned(command, ['--epsilon', '20.5', ...delta('1e-6'), ...more]);
      assert.deepEqual(epsilons, ['20.5'], command);
    }
    const least = await warned(command, ['--epsilon', '20', ...delta('1e-4')]);
    assert.deepEqual(least, [[], [], []], command);
    if (command === 'choose') continue;
    const [, deltas] = await warned(command, ['--epsilon', '1', '--delta', '0.0011']);
    assert.deepEqual(deltas, ['0.0011'], command);
  }
});

test('warnings: commands warn of delta above 1/n where n is public, and only there', async () => {
  const weak = ['--epsilon', '1', '--delta', '5e-4'];
  const counts = async (command, more, options) =>
    (await warned(command, [...weak, ...more], options))[2];
  const input = `count\n${'1\n'.repeat(10)}`;
  assert.deepEqual(await counts('release', []), []);
  assert.deepEqual(await counts('release', ['--steps', '2000'], { input }), []);
  assert.deepEqual(await counts('release', ['--steps', '2001'], { input }), ['0.0005 2001 rows']);
  const epochs = (steps) => ['--steps', steps, '--epochs', '2'];
  assert.deepEqual(await counts('release', epochs('4000'), { input }), []);
  assert.deepEqual(await counts('release', epochs('4002'), { input }), ['0.0005 2001 users']);
  const several = ['--steps', '9000', '--participations', '2', '--min-separation', '4'];
  assert.deepEqual(await counts('release', several, { input }), []);
  // Neither the number of rows in buckets nor the number of people is public.
  assert.deepEqual(await counts('count', []), []);
  const persons = `user,count\n${'a,1\n'.repeat(10)}`;
  const people = ['--steps', '9000', '--user-column', 'user', '--max-contributions', '1'];
  assert.deepEqual(await counts('release', people, { input: persons }), []);
  // The number of 3000 rows is protected with zero-out neighbours and public with replace-one.
  const visits = { input: `minutes\n${'5\n'.repeat(3000)}` };
  assert.deepEqual(await counts('queries', [], visits), []);
  const replaced = await counts('queries', ['--neighbours', 'replace-one'], visits);
  assert.deepEqual(replaced, ['0.0005 3000 rows']);
  const examples = `x,label\n${'1,0\n'.repeat(3000)}`;
  assert.deepEqual(await counts('learn', [], { input: examples }), ['0.0005 3000 rows']);
  const batched = await counts('learn', ['--batch', '100'], { input: examples });
  assert.deepEqual(batched, ['0.0005 3000 rows']);
});

test('delta 0: the error names the commands that are pure', async () => {
  const pure =
    /--delta must be above 0, .* never pure: dp-ftrl release --pure and count --pure, dp-ftrl queries --delta 0 \(Laplace noise\) and dp-ftrl choose are pure$/;
  for (const zero of ['0', '0.0', '0e5']) {
    for (const command of ['release', 'count', 'learn']) {
      await fails([command, '--epsilon', '1', '--delta', zero, ...COMMANDS[command]], 2, pure);
    }
    await fails(['calibrate', '--epsilon', '1', '--delta', zero], 2, pure);
  }
  const between = /--delta must be a number between 0 and 1, got "-1"/;
  await fails(['calibrate', '--epsilon', '1', '--delta=-1'], 2, between);
});
