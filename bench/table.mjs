#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Measures the processor time and the memory of commands that read a table of a million rows, and
// the ratio of their time to that of csv-parse, which reads the same table in the same round and
// counts the rows of each day.
//
//     node bench/table.mjs [ROUNDS]

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROWS = 1_000_000;
const YEAR = 365 * 24 * 3_600_000;
const root = fileURLToPath(new URL('..', import.meta.url));
const command = join(root, 'dist/cli.js');
const rounds = Number(process.argv[2] ?? 5);

const usage =
  "import { writeSync } from 'node:fs';" +
  "process.on('exit', () => writeSync(3, JSON.stringify(process.resourceUsage())));";
const oracle =
  "import { createReadStream } from 'node:fs'; import { parse } from 'csv-parse';" +
  'const counts = new Map(); const rows = createReadStream(process.argv[1]).pipe(parse());' +
  "rows.on('data', ([time]) => { const day = time.slice(0, 10);" +
  'counts.set(day, (counts.get(day) ?? 0) + 1); });';

/** Runs a program of Node; returns its processor time in seconds and its memory in MB. */
function measure(args) {
  const hook = `data:text/javascript,${encodeURIComponent(usage)}`;
  const { status, output } = spawnSync(process.execPath, ['--import', hook, ...args], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  if (status !== 0) throw new Error(`this failed: ${args.join(' ')}`);
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(String(output[3]));
  return { seconds: (userCPUTime + systemCPUTime) / 1e6, megabytes: maxRSS / 1024 };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Writes a table whose rows are evenly spaced over a year. */
function writeTable(path, numRows, cellsOf, header) {
  const rows = Array.from({ length: numRows }, (_, i) => {
    const time = new Date(Date.UTC(2026, 0, 1) + Math.floor((i * YEAR) / numRows));
    return [`${time.toISOString().slice(0, 19)}Z`, ...cellsOf(i)].join(',');
  });
  writeFileSync(path, `${header}\n${rows.join('\n')}\n`);
}

const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-bench-'));
try {
  const [times, few, persons] = ['times', 'few', 'persons'].map((name) => join(folder, name));
  writeTable(times, ROWS, () => [], 'time');
  writeTable(few, ROWS / 10, () => [], 'time');
  writeTable(persons, ROWS, (i) => [`p${(i * 7919) % 50_000}`, i % 2], 'time,person,x');
  const privacy = ['--epsilon', '1', '--delta', '1e-6', '--quiet'];
  const daily = ['--time-column', 'time', '--bucket', 'day'];
  const people = ['--user-column', 'person', '--max-contributions', '3'];
  const count = ['count', ...privacy, ...daily];
  const year = ['--from', '2026-01-01', '--to', '2026-12-31'];
  const cases = [
    ['count, two passes', [...count, times], times],
    ['count --from --to', [...count, ...year, times], times],
    ['release by day', ['release', '--clip', '1', '--columns', 'x', ...privacy, ...daily, persons]],
    ['count --user-column', [...count, ...people, persons]],
  ];
  const line = (...cells) =>
    process.stdout.write(
      `${cells.map((it, i) => (i ? it.padStart(9) : it.padEnd(22))).join('')}\n`,
    );
  line('', 'seconds', 'csv-parse', 'ratio', 'MB');
  for (const [name, args, table = persons] of cases) {
    const all = Array.from({ length: rounds }, () => {
      const [own, other] = [
        measure([command, ...args]),
        measure(['--input-type=module', '-e', oracle, table]),
      ];
      return { own, other, ratio: own.seconds / other.seconds };
    });
    line(
      name,
      median(all.map(({ own }) => own.seconds)).toFixed(2),
      median(all.map(({ other }) => other.seconds)).toFixed(2),
      median(all.map(({ ratio }) => ratio)).toFixed(2),
      median(all.map(({ own }) => own.megabytes)).toFixed(0),
    );
  }
  const { megabytes } = measure([command, ...count, few]);
  line('count, a tenth', '', '', '', megabytes.toFixed(0));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
