// SPDX-License-Identifier: Apache-2.0

// Long inputs: memory does not grow with the rows, and a terminal shows progress. DPFTRL_LONG=1 in
// the environment selects 10^7 rows.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync, readFileSync } from 'node:fs';
import { writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cli, run } from './support/consumer.mjs';
import { onlyInAll, some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('stream');
const target = ['--epsilon', '1', '--delta', '1e-6'];
const privacy = [...target, '--clip', '1', '--strategy', 'tree'];
const manyRows = process.env.DPFTRL_LONG === '1' ? 10_000_000 : 300_000;
const numHours = Math.ceil(manyRows / 60);

/** Writes a file of `numRows` rows by 100 persons, one per minute. */
function table(numRows) {
  const path = join(folder, `${numRows}.csv`);
  const file = openSync(path, 'w');
  writeSync(file, 'when,who,x\n');
  for (let row = 0; row < numRows; row += 1000) {
    let text = '';
    for (let i = row; i < row + 1000; ++i) {
      const when = new Date(i * 60_000).toISOString().slice(0, 16);
      text += `${when},person-${i % 100},0.5\n`;
    }
    writeSync(file, text);
  }
  closeSync(file);
  return path;
}

/** Runs a command with a heap of 24 MB, outside of which are only the numbers of the records. */
async function inLittleMemory(args, stdin) {
  const child = spawn(cli, [...args, '--quiet'], {
    stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '--max-old-space-size=24' },
  });
  let numLines = 0;
  child.stdout.on('data', (bytes) => {
    for (const byte of bytes) numLines += Number(byte === 10);
  });
  if (stdin) {
    child.stdin.on('error', () => {}); // It may end before it has read all input.
    createReadStream(stdin).pipe(child.stdin);
  }
  const [code] = await once(child, 'close');
  return { code, numLines };
}

test('memory: a heap of 24 MB is enough for a long file, or for a pipe with a horizon', async () => {
  const path = table(manyRows);
  const people = ['--user-column', 'who', '--max-contributions', '3', '--min-separation', '7'];
  const buckets = ['--time-column', 'when', '--bucket', 'hour', '--columns', 'x'];
  const hours = ['release', ...privacy, ...people, ...buckets];
  const all = { code: 0, numLines: numHours + 1 };
  const histogram = ['--columns', 'x', '--domain', '0,0.5', ...people.slice(0, 4)];
  const counts = ['queries', '--workload', 'identity', ...target, ...histogram];
  const winner = ['choose', '--winner', '--epsilon', '1', ...histogram];
  // Without --steps, a file is read twice.
  for (const [args, input, expected] of some(
    [
      [[...hours, '--steps', String(numHours)], path, all],
      [counts, path, { code: 0, numLines: 3 }],
      [[...hours, path], undefined, all],
      [winner, path, { code: 0, numLines: 2 }],
    ],
    4,
  ))
    assert.deepEqual(await inLittleMemory(args, input), expected, args.join(' '));
  // Without --steps, a pipe must be kept in memory and does not fit, so the limit takes effect.
  assert.notEqual((await inLittleMemory(hours, path)).code, 0);
});

test(
  'memory: a million steps of the default mechanism take less than 300 MB',
  onlyInAll,
  async () => {
    const table = join(folder, 'million.csv');
    const most = join(folder, 'most.txt');
    const hook = join(folder, 'most.mjs');
    writeFileSync(table, `x\n${'0.25\n0.75\n'.repeat(500_000)}`);
    writeFileSync(
      hook,
      `import { writeFileSync } from 'node:fs';
    process.on('exit', () => {
      writeFileSync(${JSON.stringify(most)}, String(process.resourceUsage().maxRSS));
    });`,
    );
    const args = ['release', ...target, '--clip', '1', '--columns', 'x', '--quiet', table];
    const child = spawn(process.execPath, ['--import', pathToFileURL(hook).href, cli, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let numLines = 0;
    child.stdout.on('data', (bytes) => {
      for (const byte of bytes) numLines += Number(byte === 10);
    });
    const [code] = await once(child, 'close');
    assert.deepEqual({ code, numLines }, { code: 0, numLines: 1_000_001 });
    const megabytes = Number(readFileSync(most, 'utf8')) / 1024;
    assert.ok(megabytes > 100 && megabytes < 300, `${megabytes} MB`);
  },
);

/** A domain of `size` values that includes 0.5. */
function fractions(size) {
  return Array.from({ length: size }, (_, i) => i / 2).join();
}

/** Standard error as shown by a terminal, with the results written to a file. */
async function onTerminal(args) {
  const output = join(folder, 'out.csv');
  const words = [cli, ...args].map((word) => `'${word}'`).join(' ');
  const { stdout } = await run('script', ['-qec', `${words} > '${output}'`, '/dev/null']);
  return stdout;
}

test('progress: a terminal shows the step and clears it at the end, or nothing with --quiet', async () => {
  const args = ['release', ...privacy, '--columns', 'x', '--steps', '1000000', table(200_000)];
  const shown = await onTerminal(args);
  assert.match(shown, /\r\x1b\[Kstep \d+ of 1000000 \(\d+ %\)/);
  assert.match(shown, /\r\x1b\[K$/);
  assert.equal(await onTerminal([...args, '--quiet']), '');
});

test('progress: a terminal shows the bar of a search', onlyInAll, async () => {
  // The search takes seconds; anything shorter than one second shows no progress.
  const few = table(1000);
  const asked = ['queries', '--workload', 'ranges', ...target, '--columns', 'x', '--domain'];
  const searched = await onTerminal([...asked, fractions(640), few]);
  assert.match(searched, /\r\x1b\[Kqueries: measurements \[#*\.*\] \d+ iterations, \d+ s/);
});

test('progress: a terminal shows the seconds of learning from a whole table', async () => {
  const rows = join(folder, 'labelled.csv');
  writeFileSync(rows, `x,y,label\n${'0.5,-0.5,1\n-0.25,1,0\n'.repeat(100_000)}`);
  const args = ['learn', ...target, '--label', 'label', rows];
  assert.match(await onTerminal(args), /\r\x1b\[Klearn: learning for \d+ s.*\r\x1b\[K$/s);
  assert.doesNotMatch(await onTerminal([...args, '--quiet']), /learning for/);
});

test('queries: a closed pipe ends the command quietly', async () => {
  const ask = ['queries', '--workload', 'ranges', ...target, '--columns', 'x', '--quiet', '--json'];
  const pipe = `'${cli}' ${ask.join(' ')} --domain '${fractions(90)}' '${table(1000)}' | head -c 9`;
  const { stdout, stderr } = await run('bash', ['-c', `${pipe}; echo "\${PIPESTATUS[0]}"`]);
  assert.equal(stderr, '');
  assert.equal(stdout, '{"private0\n');
});
