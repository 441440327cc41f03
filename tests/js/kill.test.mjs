// SPDX-License-Identifier: Apache-2.0

// kill -9 at any instant: whatever was handed out stays what it was. A short form; the full one,
// `npm run test:long`, kills some hundreds of processes.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { importEntry, installed } from './support/consumer.mjs';

const isLong = process.env.DPFTRL_LONG === '1';
const numKills = isLong ? 400 : 24;
const numSteps = 4000;
const seed = 77;
const child = fileURLToPath(new URL('./support/kill-child.mjs', import.meta.url));
const inDist = (name) => pathToFileURL(join(installed, 'dist', name)).href;

/** Where the process kills itself; every fourth one is killed from outside at any instant. */
function pointOf(kill) {
  if (kill % 4 === 3) return null;
  const operation = ['writeFile', 'sync', 'rename'][kill % 3];
  // The lock is synced first; then every save syncs twice, the file and its folder.
  return { operation, after: Math.floor(kill / 12) % 2 === 1, count: Math.floor(kill / 3) % 9 };
}

/** One life of a process: all lines that got out of it, and how it ended. */
function live(path, kill, again, tooLate = false) {
  const point = pointOf(kill);
  const options = { path, seed, numSteps, point, again, tooLate };
  const entries = { library: inDist('index.js'), fileStore: inDist('file-store.js') };
  const args = JSON.stringify({ ...entries, ...options, most: point ? 40 : 100_000 });
  return new Promise((resolve, reject) => {
    const process = spawn(globalThis.process.execPath, [child, args]);
    let text = '';
    let errors = '';
    process.stdout.on('data', (data) => {
      const isFirst = text === '';
      text += data;
      // From the first instant of the first save to well within the loop.
      if (isFirst && !point) setTimeout(() => process.kill('SIGKILL'), Math.random() ** 2 * 150);
    });
    process.stderr.on('data', (data) => (errors += data));
    process.on('error', reject);
    process.on('close', (code, signal) => {
      const lines = text.split('\n').filter((line) => line !== '');
      resolve({ lines: lines.map((line) => JSON.parse(line)), code, signal, errors });
    });
  });
}

/** Remembers what was handed out, and finds two releases of one step and steps that were lost. */
class Recorder {
  releases = [];

  take({ step, record, release }) {
    const known = this.releases[step];
    if (known === undefined) {
      assert.equal(step, this.releases.length, 'a step was left out');
      this.releases.push({ record, release });
    } else {
      assert.deepEqual({ record, release }, known, `step ${step} was released twice`);
    }
  }

  /** At most one step may be decided whose release was on its way out when the process died. */
  opened(step) {
    const handedOut = this.releases.length;
    assert.ok(step >= handedOut, `${handedOut - step} steps were lost`);
    assert.ok(step <= handedOut + 1, `steps up to ${step} are decided, ${handedOut} were seen`);
    // Nobody saw its release or knows its record any more: the sum contains it, and goes on.
    for (let t = handedOut; t < step; ++t) this.releases.push(undefined);
  }
}

test('kill: the recorder finds what it is there to find', () => {
  const recorder = new Recorder();
  recorder.take({ step: 0, record: [1], release: [2] });
  recorder.take({ step: 0, record: [1], release: [2] });
  assert.throws(() => recorder.take({ step: 0, record: [1], release: [3] }), /released twice/);
  assert.throws(() => recorder.take({ step: 0, record: [0], release: [2] }), /released twice/);
  assert.throws(() => recorder.take({ step: 2, record: [1], release: [2] }), /left out/);
  assert.throws(() => recorder.opened(0), /1 steps were lost/);
  assert.throws(() => recorder.opened(3), /steps up to 3 are decided/);
});

test('kill: no step is lost or released twice, and the store stays readable', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-kill-'));
  const path = join(scratch, 'sums.state');
  const recorder = new Recorder();
  let killed = 0;
  try {
    for (let kill = 0; kill < numKills; ++kill) {
      const seen = recorder.releases.map((it, step) => ({ step, ...it })).filter((it) => it.record);
      const again = [...seen.slice(0, 1), ...seen.slice(-3)];
      const { lines, code, signal, errors } = await live(path, kill, again);
      assert.ok(code === 0 || signal === 'SIGKILL', `${code} ${signal}: ${errors}`);
      if (signal) ++killed;
      for (const line of lines) {
        if ('open' in line) recorder.opened(line.open);
        if ('step' in line) recorder.take(line);
      }
    }
    t.diagnostic(`${killed} of ${numKills} processes killed, ${recorder.releases.length} steps`);
    assert.ok(killed >= numKills * 0.7, 'too few were killed');
    const unseen = recorder.releases.filter((it) => it === undefined).length;
    assert.ok(unseen <= killed);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

test('kill: a store that saves too late is found out', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-kill-'));
  const recorder = new Recorder();
  try {
    await assert.rejects(async () => {
      for (const kill of [2, 14, 26]) {
        const { lines } = await live(join(scratch, 'sums.state'), kill, [], true);
        for (const line of lines) {
          if ('open' in line) recorder.opened(line.open);
          if ('step' in line) recorder.take(line);
        }
      }
    }, /steps were lost|released twice|left out/);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

test('kill: after a restart the noise is that of one stream', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-kill-'));
  const path = join(scratch, 'sums.state');
  const recorder = new Recorder();
  try {
    for (const kill of [10, 25]) {
      // Both die before the file is synced, so no step is decided unseen.
      const { lines } = await live(path, kill, []);
      for (const line of lines) if ('step' in line) recorder.take(line);
    }
    const dp = await (await importEntry('dp-ftrl')).load();
    const target = { mechanism: 'blt-rational', numSteps, epsilon: 1, delta: 1e-6, clipNorm: 1 };
    const sums = dp.prefixSum({ ...target, dimension: 2, insecureSeed: seed });
    assert.ok(recorder.releases.length > 1);
    for (const { record, release } of recorder.releases) {
      assert.deepEqual([...sums.release(record)], release);
    }
    sums.dispose();
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
