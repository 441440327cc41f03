// SPDX-License-Identifier: Apache-2.0

// A refusal names an option that was typed, whichever command, option and value it is about.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dpFtrl } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { optionsOf } from './support/help.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const folder = scratchFolder('blame');
const write = writerIn(folder);
const numbers = write('numbers.csv', 'a,b\n1,0\n0,1\n1,1\n');
const days = write('days.csv', 't,who,cat\n2026-01-01,a,docs\n2026-01-02,b,shop\n');
const table = write('table.csv', `x,z,y\n${'1,0,1\n0,1,0\n'.repeat(20)}`);
const target = ['--epsilon', '1', '--delta', '1e-6', '--quiet'];

/** A run of each command that succeeds. */
const RUNS = {
  count: [...target, '--time-column', 't', '--bucket', 'day', days],
  release: [...target, '--clip', '1', numbers],
  moments: [...target, '--columns', 'a=0:1', numbers],
  histogram: [...target, '--by', 'cat', '--domain', 'docs,shop', days],
  learn: [...target, '--label', 'y', table],
  queries: [...target, '--workload', 'prefix', '--columns', 'cat', '--domain', 'docs,shop', days],
  choose: [
    '--winner',
    '--columns',
    'cat',
    '--domain',
    'docs,shop',
    '--epsilon',
    '1',
    '--quiet',
    days,
  ],
  error: ['--steps', '16'],
  compare: ['--steps', '16'],
  optimize: ['--steps', '16'],
  bounds: ['--steps', '16'],
  calibrate: ['--epsilon', '1', '--delta', '1e-6'],
};

/** Names of the options of a command that may have a number: their placeholder is one letter. */
async function numericOptions(command) {
  const options = await optionsOf(command);
  return options.filter(({ value }) => /^[A-Z]$/.test(value)).map(({ name }) => name);
}

/** The first option that a message names before the value given or its advice. */
function blamed(message) {
  const [sentence] = message.split(/; |, got /);
  return sentence.match(/--[a-z][a-z0-9-]*/)?.[0];
}

const VALUES = ['1e308', '1e-308', 'NaN', '-1', '0', '0.5', '1e15', '1099511627777', '1e400', ''];

test('messages: what is refused was typed, for every number that an option may get', async () => {
  const wrong = [];
  let numRefused = 0;
  for (const [command, run] of Object.entries(RUNS)) {
    const names = new Set(await numericOptions(command));
    assert.ok(names.size > 2, `${command}: ${[...names]}`);
    for (const name of some(names, 3)) {
      for (const value of some(VALUES, 3)) {
        const at = run.indexOf(`--${name}`);
        const args = at < 0 ? [`--${name}`, value, ...run] : run.with(at + 1, value);
        const { code, stderr } = await dpFtrl([command, ...args]);
        if (code === 0) continue;
        ++numRefused;
        const message = stderr.trimEnd().split('\n').at(-1);
        const option = blamed(message);
        if (option !== undefined && !args.includes(option))
          wrong.push(`${args.join(' ')}: ${message}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(numRefused > 100, `${numRefused}`);
});

test('numbers: none that is too large for a double is accepted, and no epsilon beyond 2^20', async () => {
  const accepted = [];
  let numTried = 0;
  for (const [command, run] of Object.entries(RUNS)) {
    const names = new Set(await numericOptions(command));
    for (const name of some(names, 8)) {
      const values = ['1e400', /epsilon/.test(name) ? '1048577' : '-1e400'];
      for (const value of values) {
        ++numTried;
        const at = run.indexOf(`--${name}`);
        const args = at < 0 ? [`--${name}`, value, ...run] : run.with(at + 1, value);
        const budget = name.startsWith('budget-') ? ['--budget', 'none.json'] : [];
        const { code } = await dpFtrl([command, ...args, ...budget], { cwd: folder });
        if (code !== 2) accepted.push([command, ...args].join(' '));
      }
    }
  }
  assert.deepEqual(accepted, []);
  assert.ok(numTried > 40, `${numTried}`);
});

test('messages: a value that was made from others is called by what it is', async () => {
  const { inOptions } = await importSource('cli/base/failure.ts');
  const refusal = {
    call: 'learner',
    parameter: 'lambda',
    constraint: 'must be finite',
    value: 'inf',
  };
  const typed = (...options) => new Map(options.map((option) => [option, ['1']]));
  assert.equal(inOptions(refusal), '--regularisation must be finite, got inf');
  assert.equal(
    inOptions(refusal, typed('--l1')),
    'the regularisation made from --l1 must be finite, got inf',
  );
  const noise = { parameter: 'noiseStddev', constraint: 'must be finite', value: 'inf' };
  assert.match(inOptions(noise, typed('--epsilon')), /^the noise made from --epsilon must be/);
  assert.match(
    inOptions(noise, typed('--clip', '--epsilon')),
    /made from --epsilon and --clip must/,
  );
  const epochs = { parameter: 'epochs', constraint: 'must divide {steps} = 3', value: '2' };
  assert.equal(
    inOptions(epochs, typed('--epochs')),
    '--epochs must divide the number of steps = 3, got 2',
  );
  // An option that is missing is named as it would be typed.
  const pair = { parameter: 'epochLength', constraint: 'must be given with {completeEpochs}' };
  assert.match(
    inOptions(pair, typed('--complete-epochs')),
    /^--epoch-length must be given with --complete-epochs$/,
  );
});
