// SPDX-License-Identifier: Apache-2.0

// Streams in files whose process is killed at any moment: what resolved is there, nothing is
// released twice with other noise, and the readings are those of a stream that was never killed.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { entryUrl, importEntry } from './support/consumer.mjs';
import { onlyInAll } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { RECORDS_A_STEP, recordOf } from './support/streams-kill.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const child = fileURLToPath(new URL('support/streams-kill-child.mjs', import.meta.url));
const scratch = scratchFolder('streams-kill');
const NUM_STEPS = 200;
const MOST = NUM_STEPS * RECORDS_A_STEP;

/** Runs a life that ends after so many milliseconds, and returns what it has said. */
function live(given, milliseconds) {
  return new Promise((resolve) => {
    const life = spawn(process.execPath, [child, JSON.stringify(given)]);
    let text = '';
    let timer;
    life.stdout.setEncoding('utf8').on('data', (part) => {
      text += part;
      // It is killed some time after it has begun, however long that took.
      timer ??= setTimeout(() => life.kill('SIGKILL'), milliseconds);
    });
    let complaint = '';
    life.stderr.setEncoding('utf8').on('data', (part) => (complaint += part));
    life.on('close', () => {
      clearTimeout(timer);
      assert.equal(complaint, '');
      const whole = text.split('\n').slice(0, -1);
      resolve(whole.map((line) => JSON.parse(line)));
    });
  });
}

const target = { steps: NUM_STEPS, epsilon: 1, delta: 1e-6, strategy: 'honaker', insecureSeed: 5 };
const STREAMS = [
  ['counter', { ...target, clip: 3 }],
  ['counter', { ...target, people: { times: 20, apart: 4 } }],
  ['histogram', { ...target, categories: ['tea', 'coffee'], people: { times: 9, apart: 2 } }],
];

for (const [kind, options] of STREAMS) {
  const name = `${kind}${options.people ? ' of people' : ''}`;
  test(`streams in files: killed at any moment, a ${name} loses nothing`, onlyInAll, async () => {
    const whole = dp[kind](options);
    const wanted = [];
    for (let i = 0; i < MOST; ++i) {
      if (i > 0 && i % RECORDS_A_STEP === 0) wanted.push(whole.end());
      whole.add(...recordOf(kind, options, i));
    }
    const [library, fileStore] = ['dp-ftrl', 'dp-ftrl/file-store'].map((it) => entryUrl(it).href);
    const path = join(scratch, name);
    const given = { library, fileStore, path, kind, options, most: MOST };
    let stored = { records: 0, step: 0 };
    let lives = 0;
    for (; ; ++lives) {
      assert.ok(lives < 200, 'it makes no progress');
      const said = await live(given, 10 + 37 * (lives % 5));
      for (const { reading, records, step } of said) {
        if (reading) assert.deepEqual(reading, JSON.parse(JSON.stringify(wanted[reading.step])));
        if (records === undefined) continue;
        assert.ok(records >= stored.records && step >= stored.step, `life ${lives}`);
        stored = { records, step };
      }
      if (said.at(-1)?.done) break;
    }
    assert.deepEqual(stored, { records: MOST, step: NUM_STEPS - 1 });
    assert.ok(lives >= 3, 'it was hardly killed');
  });
}
