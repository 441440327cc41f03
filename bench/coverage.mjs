#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Runs the built command on example tables, each time with the noise of another seed, and prints
// the share of the runs in which its intervals contain the value without noise, averaged over all
// steps.
//
//     node bench/coverage.mjs [RUNS]     default 400

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const numRuns = Number(process.argv[2] ?? 400);
const CONCURRENCY = 2;
/** Normal quantile of 0.975. */
const Z = 1.959963984540054;

const within = (low, value, high) => Number(low <= value && value <= high);

/**
 * Returns a function from a day (from 1) to the number of people active in the `days` days up to
 * it.
 */
function activePeople(days) {
  const [, ...rows] = readFileSync(`${root}examples/app_events.csv`, 'utf8').trim().split('\n');
  const events = rows.map((row) => row.split(','));
  const first = Date.parse(events[0][0].slice(0, 10));
  const dayOf = (time) => (Date.parse(time.slice(0, 10)) - first) / 86_400_000;
  return (step) =>
    new Set(
      events
        .filter(([time]) => dayOf(time) < step && dayOf(time) >= step - days)
        .map(([, user]) => user),
    ).size;
}

/** Running count, mean and variance of the minutes, clipped to the range 0 to 120, by day. */
function minutesByDay() {
  const [, ...rows] = readFileSync(`${root}examples/gym_visits.csv`, 'utf8').trim().split('\n');
  const sums = new Map();
  let [count, sum, squares] = [0, 0, 0];
  for (const row of rows) {
    const [time, , text] = row.split(',');
    const minutes = Math.min(120, Math.max(0, Number(text)));
    [count, sum, squares] = [count + 1, sum + minutes, squares + minutes ** 2];
    const mean = sum / count;
    sums.set(time.slice(0, 10), { count, mean, variance: squares / count - mean ** 2 });
  }
  return sums;
}

const weekly = activePeople(7);
const minutes = minutesByDay();
const byDay = ['--time-column', 'time', '--bucket', 'day'];
const halfWidths = (column) => (row) => [
  ['sum', Number(Math.abs(row.sums[column] - row.trueSums[column]) <= row.halfWidth)],
];

/**
 * Runs of the command. `covered` returns the intervals of a row by name, with 1 for each that
 * contains the truth, 0 otherwise.
 */
const questions = [
  {
    name: 'release, Laplace noise: running total of minutes by day',
    args: ['release', '--columns', 'minutes=0:120', ...byDay, '--pure', '--show-nonprivate'],
    table: 'gym_visits',
    covered: halfWidths('minutes'),
  },
  {
    name: 'release, Gaussian noise: running total of revenue, std times 1.96',
    args: ['release', '--columns', 'revenue=0:100', '--delta', '1e-6', '--show-nonprivate'],
    table: 'shop_day',
    covered: ({ sums, trueSums, std }) => [
      ['sum', Number(Math.abs(sums.revenue - trueSums.revenue) <= Z * std)],
    ],
  },
  {
    name: 'moments: minutes by day',
    args: ['moments', '--columns', 'minutes=0:120', ...byDay, '--delta', '1e-6'],
    table: 'gym_visits',
    covered: ({ time, count, mean, variance }) => {
      const truth = minutes.get(time);
      if (truth === undefined) return [];
      return [
        ['count', within(count.low, truth.count, count.high)],
        ['mean', within(mean.minutes.low, truth.mean, mean.minutes.high)],
        ['variance', within(variance.minutes.low, truth.variance, variance.minutes.high)],
      ];
    },
  },
  {
    name: 'active: people of the last 7 days',
    args: [
      ...['active', '--user-column', 'user', '--time-column', 'time', '--window', '7'],
      ...['--steps', '120', '--delta', '1e-6'],
    ],
    table: 'app_events',
    covered: ({ step, 7: week }) => [['people', within(week.low, weekly(step), week.high)]],
  },
];

async function rowsOf({ args, table }, seed) {
  const all = [...args, '--epsilon', '1', '--json', '--seed', String(seed)];
  const { stdout } = await run(
    process.execPath,
    [`${root}dist/cli.js`, ...all, `${root}examples/${table}.csv`],
    { maxBuffer: 2 ** 26 },
  );
  return JSON.parse(stdout).rows;
}

for (const question of questions) {
  const totals = new Map();
  let seed = 0;
  const work = async () => {
    while (seed < numRuns) {
      for (const row of await rowsOf(question, ++seed)) {
        for (const [name, isCovered] of question.covered(row)) {
          const [hits, all] = totals.get(name) ?? [0, 0];
          totals.set(name, [hits + isCovered, all + 1]);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  for (const [name, [hits, all]] of totals)
    console.log(`${question.name}: ${name} ${((100 * hits) / all).toFixed(2)} % of ${all}`);
}
