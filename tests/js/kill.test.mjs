// SPDX-License-Identifier: Apache-2.0

// kill -9 at any instant: releases that were handed out never change. The short form runs here; the
// full one, `npm run test:long`, kills 500 processes for each kind of ledger.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { importEntry, installed } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { peopleOf, STATISTICS, statisticOf, SUMS } from './support/kill-stream.mjs';
import { targetOf, VISITS_A_STEP } from './support/kill-stream.mjs';

const isLong = process.env.DPFTRL_LONG === '1';
/**
 * Number of lives for each kind of ledger; fewer in the short form for kinds that share their
 * storage code.
 */
const numKillsOf = (short) => (isLong ? 500 : short);
/** More steps than the lives of either form reach, about eight each. */
const numSteps = isLong ? 8000 : 4000;
const seed = 77;
const child = fileURLToPath(new URL('./support/kill-child.mjs', import.meta.url));
const inDist = (name) => pathToFileURL(join(installed, 'dist', name)).href;

/**
 * Point at which the process kills itself; null for every fourth one, which is killed from outside
 * at a random time.
 */
function pointOf(kill) {
  if (kill % 4 === 3) return null;
  const operation = ['write', 'sync', 'rename'][kill % 3];
  // The lock is synced first. Then the first save syncs the file and its folder, and each append
  // syncs once. A life with nothing to append to renames once.
  return { operation, after: Math.floor(kill / 12) % 2 === 1, count: Math.floor(kill / 3) % 9 };
}

/**
 * Runs one life of a process, not killed if `kill` is null, with the given number of further calls.
 * Returns the lines it wrote and how it ended.
 */
function live(path, kill, { again = [], tooLate = false, rest = 0, ...other } = {}) {
  const isLeft = kill === null;
  const point = isLeft ? null : pointOf(kill);
  const options = { path, seed, numSteps, point, again, tooLate, ...other };
  const entries = { library: inDist('index.js'), fileStore: inDist('file-store.js') };
  const args = JSON.stringify({
    ...entries,
    ...options,
    most: isLeft ? rest : point ? 40 : 100_000,
  });
  return new Promise((resolve, reject) => {
    const process = spawn(globalThis.process.execPath, [child, args]);
    let text = '';
    let errors = '';
    process.stdout.on('data', (data) => {
      const isFirst = text === '';
      text += data;
      // From the first instant of the first save to well within the loop.
      if (isFirst && !point && !isLeft) {
        setTimeout(() => process.kill('SIGKILL'), Math.random() ** 2 * 150);
      }
    });
    process.stderr.on('data', (data) => (errors += data));
    process.on('error', reject);
    process.on('close', (code, signal) => {
      const lines = text.split('\n').filter((line) => line !== '');
      resolve({ lines: lines.map((line) => JSON.parse(line)), code, signal, errors });
    });
  });
}

/**
 * Records requests and releases, and detects two releases of one step, lost steps, and steps that
 * were decided for an unknown record.
 */
class Recorder {
  releases = [];
  numUnseen = 0;

  see(line) {
    if ('open' in line) this.opened(line.open);
    if ('trying' in line) this.tried = line;
    if ('step' in line) this.take(line);
  }

  take({ step, record, release }) {
    const known = this.releases[step];
    if (known === undefined) {
      assert.equal(step, this.releases.length, 'a step was left out');
      this.releases.push({ record, release });
    } else {
      const expected = { release, ...known };
      assert.deepEqual({ record, release }, expected, `step ${step} was released twice`);
      this.releases[step] = expected;
    }
  }

  /**
   * At most one step may be decided whose release was still being written when the process died.
   */
  opened(step) {
    const numKnown = this.releases.length;
    assert.ok(step >= numKnown, `${numKnown - step} steps were lost`);
    assert.ok(step <= numKnown + 1, `steps up to ${step} are decided, ${numKnown} are known`);
    if (step === numKnown) return;
    assert.equal(this.tried?.trying, numKnown, `step ${numKnown} was decided for nobody's record`);
    // Its release was not seen, so a later life requests it again with the same record.
    this.releases.push({ record: this.tried.record });
    ++this.numUnseen;
  }

  /** Steps to request again: those without a release, the first one, and the latest ones. */
  again() {
    const all = this.releases.map((it, step) => ({ step, ...it }));
    const isWanted = ({ step, release }) => !release || step === 0 || step >= all.length - 3;
    return all.filter(isWanted).map(({ step, record }) => ({ step, record }));
  }
}

test('kill: the recorder detects repeated, lost and unrequested steps', () => {
  const recorder = new Recorder();
  recorder.take({ step: 0, record: [1], release: [2] });
  recorder.take({ step: 0, record: [1], release: [2] });
  assert.throws(() => recorder.take({ step: 0, record: [1], release: [3] }), /released twice/);
  assert.throws(() => recorder.take({ step: 0, record: [0], release: [2] }), /released twice/);
  assert.throws(() => recorder.take({ step: 2, record: [1], release: [2] }), /left out/);
  assert.throws(() => recorder.opened(0), /1 steps were lost/);
  assert.throws(() => recorder.opened(3), /steps up to 3 are decided/);
  assert.throws(() => recorder.opened(2), /step 1 was decided for nobody's record/);
  recorder.see({ trying: 1, record: [3] });
  recorder.see({ open: 2 });
  assert.deepEqual(recorder.again(), [
    { step: 0, record: [1] },
    { step: 1, record: [3] },
  ]);
  assert.throws(() => recorder.take({ step: 1, record: [4], release: [5] }), /released twice/);
  recorder.take({ step: 1, record: [3], release: [5] });
  assert.throws(() => recorder.take({ step: 1, record: [3], release: [6] }), /released twice/);
});

/** Requires the releases to equal those of one uninterrupted stream. */
async function requireOneStream({ releases }, { kind }) {
  const dp = await (await importEntry('dp-ftrl')).load();
  const sums = dp.prefixSum({ ...targetOf(seed, kind), numSteps });
  releases.forEach(({ record, release }, step) => {
    assert.deepEqual(release, [...sums.release(record)], `step ${step}`);
  });
  sums.dispose();
}

async function requireOneStatistic({ releases }, { statistic: name }) {
  const dp = await (await importEntry('dp-ftrl')).load();
  const { options, numbersOf } = statisticOf(name, seed);
  const statistic = dp.statistic({ ...options, numSteps });
  releases.forEach(({ record, release }, step) => {
    statistic.contribute(record);
    assert.deepEqual(release, numbersOf(statistic.endSteps()[0]), `step ${step}`);
  });
  statistic.dispose();
}

/**
 * Runs lives that are killed, then two that are not, and checks that each step has only one
 * release.
 */
async function surviveKills(t, num, what) {
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-kill-'));
  const path = join(scratch, 'sums.state');
  const recorder = new Recorder();
  const next = async (kill) => {
    const { lines, ...end } = await live(path, kill, { again: recorder.again(), ...what });
    for (const line of lines) recorder.see(line);
    return end;
  };
  let killed = 0;
  try {
    for (let kill = 0; kill < num; ++kill) {
      const { code, signal, errors } = await next(kill);
      assert.ok(code === 0 || signal === 'SIGKILL', `${code} ${signal}: ${errors}`);
      if (signal) ++killed;
    }
    const { releases, numUnseen } = recorder;
    t.diagnostic(`${killed} of ${num} processes killed, ${releases.length} steps`);
    t.diagnostic(`${numUnseen} steps decided and not seen`);
    assert.ok(killed >= num * 0.7, 'too few were killed');
    assert.ok(numUnseen <= killed);
    // The first one returns what the last kill left unseen.
    for (let rest = 0; rest < 2; ++rest) {
      const { code, errors } = await next(null);
      assert.equal(code, 0, errors);
    }
    await (what.statistic ? requireOneStatistic : requireOneStream)(recorder, what);
    return recorder;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

for (const kind of some(SUMS, 6)) {
  const num = numKillsOf(kind === 'totals' ? 20 : 9);
  test(`kill: no step of ${kind} is lost, changed or refused later, and all are one stream`, async (t) => {
    const { releases, numUnseen } = await surviveKills(t, num, { kind });
    assert.ok(releases.length > 3);
    if (num > 12) assert.ok(numUnseen > 0);
  });
}

for (const statistic of some(STATISTICS, 6)) {
  test(`kill: no step of ${statistic} gets a second sample, and all are one stream`, async (t) => {
    const { releases } = await surviveKills(t, numKillsOf(9), { statistic });
    assert.ok(releases.length > 3);
  });
}

test('kill: a store that saves too late is found out', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-kill-'));
  const recorder = new Recorder();
  try {
    await assert.rejects(async () => {
      for (const kill of [2, 14, 26]) {
        const { lines } = await live(join(scratch, 'sums.state'), kill, { tooLate: true });
        for (const line of lines) recorder.see(line);
      }
    }, /steps were lost|released twice|left out/);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

/** Records what a ledger of people acknowledged, and what was in progress. */
class PeopleRecorder {
  releases = [];
  numStored = 0;
  numGiven = 0;
  numAsked = 0;
  numUnseen = 0;

  constructor(durable) {
    this.durable = durable;
  }

  see(line) {
    if ('open' in line) this.opened(line);
    if ('giving' in line) this.numGiven = line.giving + 1;
    if ('gave' in line && this.durable === 'contribution') this.numStored = line.gave + 1;
    if ('ending' in line) this.numAsked = line.ending + 1;
    if ('step' in line) {
      assert.equal(line.step, this.releases.length, 'a step was left out or released twice');
      this.releases.push(line.release);
      this.numStored = VISITS_A_STEP * this.releases.length;
    }
  }

  opened({ open, given }) {
    const numSeen = this.releases.length;
    assert.ok(open >= numSeen && given >= this.numStored, 'steps or contributions were lost');
    assert.ok(open <= this.numAsked && given <= this.numGiven, 'more than was asked for');
    if (this.durable === 'release') assert.equal(given, VISITS_A_STEP * open);
    // It was decided when its process died, so its release is compared only with the whole stream.
    for (let step = numSeen; step < open; ++step) {
      this.releases.push(undefined);
      ++this.numUnseen;
    }
  }
}

test('kill: the recorder of people detects lost and unrequested contributions and repeated steps', () => {
  const seen = (durable, ...lines) => {
    const recorder = new PeopleRecorder(durable);
    for (const line of lines) recorder.see(line);
    return recorder;
  };
  const gave = [{ open: 0, given: 0 }, { giving: 0 }, { gave: 0 }, { giving: 1 }];
  assert.throws(() => seen('contribution', ...gave, { open: 0, given: 0 }), /were lost/);
  assert.throws(() => seen('contribution', ...gave, { open: 0, given: 3 }), /more than was asked/);
  assert.throws(() => seen('contribution', ...gave, { open: 1, given: 2 }), /more than was asked/);
  assert.throws(() => seen('release', ...gave, { open: 0, given: 1 }));
  assert.equal(seen('contribution', ...gave, { open: 0, given: 2 }).numStored, 1);
  const ended = [...gave, { ending: 0 }, { step: 0, release: [1] }];
  assert.throws(() => seen('release', ...ended, { step: 0, release: [1] }), /released twice/);
  assert.throws(() => seen('release', ...ended, { open: 0, given: 0 }), /were lost/);
});

/** Requires the releases to equal those of one uninterrupted sum or statistic. */
async function requireOneOfPeople({ releases, durable }, statistic) {
  const dp = await (await importEntry('dp-ftrl')).load();
  const { options, given, numbersOf } = peopleOf({ durable, statistic, seed });
  const sums = (statistic ? dp.peopleStatistic : dp.peopleSum)({ ...options, numSteps });
  releases.forEach((release, step) => {
    for (let i = VISITS_A_STEP * step; i < VISITS_A_STEP * (step + 1); ++i) {
      const { person, record } = given(i);
      sums.contribute(person, record);
    }
    const ended = sums.endSteps();
    const expected = numbersOf(statistic ? ended[0] : ended);
    if (release) assert.deepEqual(release, expected, `step ${step}`);
  });
  if (releases.length > 20) assert.ok(sums.numDropped > 0);
  sums.dispose();
}

/** Runs lives of a ledger of people that are killed, then one that is not and continues. */
async function surviveKillsOfPeople(t, num, { durable, statistic }) {
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-kill-'));
  const path = join(scratch, 'people.state');
  const recorder = new PeopleRecorder(durable);
  let killed = 0;
  try {
    for (let kill = 0; kill <= num; ++kill) {
      const point = kill === num ? null : kill;
      const { lines, code, signal, errors } = await live(path, point, {
        durable,
        statistic,
        rest: 40,
      });
      assert.ok(code === 0 || signal === 'SIGKILL', `${code} ${signal}: ${errors}`);
      if (signal) ++killed;
      for (const line of lines) recorder.see(line);
    }
    const { releases, numUnseen } = recorder;
    t.diagnostic(`${killed} of ${num} killed, ${releases.length} steps, ${numUnseen} unseen`);
    assert.ok(killed >= num * 0.7, 'too few were killed');
    assert.ok(releases.length > 3);
    await requireOneOfPeople(recorder, statistic);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

for (const durable of ['contribution', 'release']) {
  test(`kill: no contribution is lost or counted twice, durable by ${durable}`, (t) =>
    surviveKillsOfPeople(t, numKillsOf(10), { durable }));

  for (const statistic of some(STATISTICS, 6)) {
    test(`kill: no step of people's ${statistic} gets a second sample, durable by ${durable}`, (t) =>
      surviveKillsOfPeople(t, numKillsOf(8), { durable, statistic }));
  }
}

test('kill: a store that saves contributions too late is found out', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-kill-'));
  const recorder = new PeopleRecorder('contribution');
  try {
    await assert.rejects(async () => {
      for (const kill of [2, 14, 26]) {
        const options = { durable: 'contribution', tooLate: true };
        const { lines } = await live(join(scratch, 'people.state'), kill, options);
        for (const line of lines) recorder.see(line);
      }
    }, /were lost|left out/);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
