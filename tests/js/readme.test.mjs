// SPDX-License-Identifier: Apache-2.0

// What the README shows, run as it stands there: a reader's first minutes must work.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { dpFtrl, freshConsumer, node, root } from './support/consumer.mjs';

const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** Of each test its own. */
let folder;
beforeEach(() => {
  folder = freshConsumer();
});
afterEach(() => rmSync(folder, { recursive: true }));

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
    const file = join(folder, `readme-${i}.mjs`);
    writeFileSync(file, program);
    const { code, stdout, stderr } = await node([file], { cwd: folder });
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    const lines = stdout.trim().split('\n');
    assert.ok(lines.length > 0 && lines.every((line) => Number.isFinite(Number(line))), stdout);
  }
});

/** Lines of a program that are neither blank nor only a comment. */
function codeLines(program) {
  return program.split('\n').filter((line) => !/^\s*(\/\/.*)?$/.test(line)).length;
}

test('readme: a counter in 5 lines, learning in 15, going on after a reload in 5 more', async () => {
  const only = (what) => {
    const found = blocks('js').filter((program) => program.includes(what));
    assert.equal(found.length, 1, what);
    return found[0];
  };
  const counter = codeLines(only('dp.prefixSum('));
  assert.ok(counter <= 5, `${counter}`);
  const learning = codeLines(only('dp.learner('));
  assert.ok(learning <= 15, `${learning}`);
  const goesOn = only('dp.ledger(');
  assert.ok(codeLines(goesOn) <= counter + 5, `${codeLines(goesOn)}`);
  // Three lives of it: each goes on after the other.
  const file = join(folder, 'readme-reload.mjs');
  const told = goesOn.replace('counter.dispose();', 'console.log(counter.step);\n$&');
  writeFileSync(file, told);
  for (const steps of [4, 8, 12]) {
    const { stdout } = await node([file], { cwd: folder });
    assert.equal(stdout.trim().split('\n').at(-1), `${steps}`);
  }
});

test('readme: every command runs in the repository', async () => {
  const all = commands();
  const names = new Set(all.map((args) => args[0]));
  assert.deepEqual([...names].sort(), [
    ...['bench', 'calibrate', 'compare', 'error', 'learn', 'optimize', 'queries', 'release'],
  ]);
  // What is written goes to a folder of ours, and is read from there.
  const place = (arg) => (arg.endsWith('.json') ? join(folder, arg) : arg);
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
