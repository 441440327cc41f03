#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Measures what running time reveals about records and noise, and prints the table of
// docs/security.md ("Time, measured").
//
//   usage: node bench/timing.mjs [RUNS]     (400000 measurements a line by default)
//
// Builds bench/timing.cpp, runs it, and counts instructions under valgrind's callgrind, which other
// load on the machine does not affect. Never fails because of a figure.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, 'build/native/bench/dpftrl_timing');
const NUM_COUNTED = 60;

function run(command, args) {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 1e8 });
}

/** Instructions of every measured call, in order, or undefined if valgrind is not installed. */
function instructionCounts(numCalls) {
  const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-timing-'));
  const out = join(folder, 'out');
  try {
    run('valgrind', [
      '--tool=callgrind',
      '--quiet',
      '--toggle-collect=dpftrl_measured',
      '--dump-after=dpftrl_measured',
      `--callgrind-out-file=${out}`,
      program,
      '--each',
      String(NUM_COUNTED),
    ]);
    return Array.from({ length: numCalls }, (_, i) =>
      Number(/^totals: (\d+)/m.exec(readFileSync(`${out}.${i + 1}`, 'utf8'))[1]),
    );
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function summary(counts) {
  if (counts === undefined) return 'no valgrind';
  const sorted = counts.toSorted((a, b) => a - b);
  const [least, median, most] = [0, sorted.length >> 1, sorted.length - 1].map((i) => sorted[i]);
  return least === most ? `${least}` : `${median} (${least} to ${most})`;
}

run('scripts/build', ['native:dpftrl_timing']);
const lines = run(program, process.argv.slice(2)).trimEnd().split('\n');
const comparisons = lines.map((line) => line.split('\t'));
const counts = instructionCounts(2 * NUM_COUNTED * comparisons.length);
const today = new Date().toISOString().slice(0, 10);
console.log(`${cpus()[0].model}, ${cpus().length} cores; ${today}\n`);
console.log('| first / second class | t | ns, medians | instructions | |');
console.log('|---|---|---|---|---|');
comparisons.forEach(([name, t, first, second], i) => {
  const classes = [2 * i, 2 * i + 1].map((at) =>
    summary(counts?.slice(at * NUM_COUNTED, (at + 1) * NUM_COUNTED)),
  );
  const times = `${Math.round(first)} / ${Math.round(second)}`;
  console.log(`| ${name} | ${Math.round(t)} | ${times} | ${classes.join(' | ')} |`);
});
