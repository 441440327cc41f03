// SPDX-License-Identifier: Apache-2.0

// What the README shows, run as it stands there: a reader's first minutes must work.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { consumer, dpFtrl, node, root } from './support/consumer.mjs';

const readme = readFileSync(join(root, 'README.md'), 'utf8');

function blocks(language) {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...readme.matchAll(fence)].map((match) => match[1]);
}

/** Commands `npx dp-ftrl ...` of the shell blocks, as argument lists. */
function commands() {
  return blocks('sh')
    .join('')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.startsWith('npx dp-ftrl '))
    .map((line) => line.split(/\s+/).slice(2));
}

test('readme: every JavaScript program runs and prints numbers', async () => {
  const programs = blocks('js');
  assert.ok(programs.length > 0);
  for (const [i, program] of programs.entries()) {
    const file = join(consumer, `readme-${i}.mjs`);
    writeFileSync(file, program);
    const { code, stdout, stderr } = await node([file]);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    const lines = stdout.trim().split('\n');
    assert.ok(lines.length > 0 && lines.every((line) => Number.isFinite(Number(line))), stdout);
  }
});

test('readme: every command runs in the repository', async () => {
  const all = commands();
  const names = new Set(all.map((args) => args[0]));
  assert.deepEqual([...names].sort(), [
    ...['bench', 'calibrate', 'compare', 'error', 'learn', 'optimize', 'queries', 'release'],
  ]);
  // What is written goes to a folder of ours, and is read from there.
  const place = (arg) => (arg.endsWith('.json') ? join(consumer, arg) : arg);
  for (const words of all) {
    const [args, output] = words.includes('>') ? [words.slice(0, -2), words.at(-1)] : [words];
    const { code, stdout, stderr } = await dpFtrl(args.map(place), { cwd: root });
    assert.equal(code, 0, stderr);
    assert.notEqual(stdout, '');
    if (output !== undefined) writeFileSync(place(output), stdout);
  }
});

test('readme: the table of errors is what the command prints', async () => {
  for (const mechanism of ['square-root', 'honaker', 'tree', 'independent', 'output']) {
    const row = readme.match(new RegExp(`^\\| \`${mechanism}\` \\| ([0-9.]+) \\| ([0-9.]+) `, 'm'));
    assert.ok(row, `no row for ${mechanism}`);
    const args = ['error', '--mechanism', mechanism, '--steps', '1024', '--json'];
    const { maxError, meanError } = JSON.parse((await dpFtrl(args)).stdout);
    assert.ok(Math.abs(maxError - Number(row[1])) <= 6e-10, mechanism);
    assert.ok(Math.abs(meanError - Number(row[2])) <= 6e-10, mechanism);
  }
  const { stdout } = await dpFtrl(['calibrate', '--epsilon', '1', '--delta', '1e-6', '--json']);
  assert.ok(readme.includes(JSON.parse(stdout).noiseMultiplier.toFixed(6)));
});
