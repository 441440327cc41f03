// SPDX-License-Identifier: Apache-2.0

// The help of every command has examples, and each of them runs unchanged in any folder, since the
// tables come with the package.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { cli, consumer, dpFtrl, root, run } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('help');
const env = { ...process.env, PATH: `${dirname(cli)}${delimiter}${process.env.PATH}` };

async function commands() {
  const { stdout } = await dpFtrl(['--help']);
  return [...stdout.matchAll(/^ {2}dp-ftrl ([a-z]+) +(?![A-Z-])/gm)].map(([, name]) => name);
}

/** Lines of the examples, with continuation lines joined. */
async function examplesOf(command, cwd, ...layer) {
  const { stdout } = await dpFtrl([command, '--help', ...layer], { cwd });
  const [, text] = stdout.split(/^Examples?\b.*:\n/m);
  assert.ok(text, `${command}: no examples`);
  return text
    .split('\n\n')[0]
    .replaceAll(/\\\n +/g, '')
    .trim()
    .split(/\n */);
}

/** Runs an example, through a shell if it has syntax that only a shell can read. */
function runExample(example) {
  const [program, ...args] = example.split(/ +/);
  if (program === 'dp-ftrl' && /^[\w .,:=/+-]+$/.test(example))
    return dpFtrl(args, { cwd: folder });
  return run('bash', ['-c', `set -o pipefail; ${example}`], { cwd: folder, env });
}

test('help: every example of every command runs', async () => {
  // `page` serves until a signal ends it; see tests/browser/packed-page.test.mjs.
  const names = (await commands()).filter((name) => name !== 'page');
  assert.ok(names.length >= 4);
  const examples = [];
  for (const name of names) {
    const short = await examplesOf(name, folder);
    for (const example of new Set([...short, ...(await examplesOf(name, folder, 'all'))])) {
      assert.ok(example.includes(`dp-ftrl ${name} `), example);
      examples.push(example);
    }
  }
  for (const example of some(examples, 8)) {
    const { code, stdout, stderr } = await runExample(example);
    assert.equal(code, 0, `${example}\n${stderr}`);
    assert.equal(stdout === '', example.includes('--output'), example);
  }
});

/** Options explained in a help text, at the beginning of its lines. */
function optionsIn(help) {
  const lines = help.split('\n').filter((line) => line.startsWith('  --'));
  return lines.flatMap((line) => line.split(/ {2,}(?=\S)/)[1].match(/--[a-z0-9-]+/g));
}

test('help: it has at most 30 lines of 100 columns, and its options are in the second layer, too', async () => {
  for (const name of await commands()) {
    const [short, full] = await Promise.all(
      [[], ['all']].map(async (layer) => (await dpFtrl([name, '--help', ...layer])).stdout),
    );
    const lines = short.trimEnd().split('\n');
    assert.ok(lines.length <= 30, `${name}: ${lines.length} lines`);
    for (const line of [...lines, ...full.split('\n')]) assert.ok(line.length <= 100, line);
    assert.doesNotMatch(full, /--help all/);
    const isShorter = short !== full;
    assert.equal(isShorter, lines.at(-1).startsWith(`dp-ftrl ${name} --help all `), name);
    const known = optionsIn(full);
    for (const option of optionsIn(short)) assert.ok(known.includes(option), `${name} ${option}`);
  }
});

test('help: commands that release give advice on epsilon and delta, and release on clip', async () => {
  for (const name of ['count', 'release', 'learn', 'queries']) {
    const { stdout } = await dpFtrl([name, '--help']);
    assert.match(stdout, /^ {2}--epsilon E .*1 is common/m);
    assert.match(stdout, /^ {2}--delta D .*at most one over the number of rows/m);
  }
  const { stdout } = await dpFtrl(['release', '--help']);
  assert.match(stdout, /--clip C[^]*without the data[^]*never the maximum that you see/);
});

test('help: `help NAME` prints the help of that command', async () => {
  const { code, stdout } = await dpFtrl(['help', 'release']);
  assert.equal(code, 0);
  assert.equal(stdout, (await dpFtrl(['release', '--help'])).stdout);
  const all = (await dpFtrl(['help', 'release', 'all'])).stdout;
  assert.equal(all, (await dpFtrl(['release', '--help', 'all'])).stdout);
  await fails(['help', 'relase'], 2, /unknown command "relase"; did you mean release\?/);
});

test('help: where the package is installed, examples use its tables in node_modules', async () => {
  const [example] = await examplesOf('release', consumer);
  assert.match(example, / node_modules\/dp-ftrl\/examples\/shop_day\.csv$/);
});

test('example: the command prints each table of the package by its name, byte for byte', async () => {
  const { stdout } = await dpFtrl(['example'], { cwd: folder });
  const names = stdout.trimEnd().split('\n');
  assert.ok(names.includes('shop_day') && names.includes('site_visits'), stdout);
  for (const name of names) {
    const text = readFileSync(join(root, `examples/${name}.csv`), 'utf8');
    assert.equal((await dpFtrl(['example', name], { cwd: folder })).stdout, text);
  }
  const [name] = names;
  assert.equal((await dpFtrl(['example', `${name}.csv`])).code, 0);
  await fails(['example', 'shop_dya'], 2, /unknown example "shop_dya"; did you mean shop_day\?/);
  await fails(['example', '../README'], 2, /unknown example "\.\.\/README"; known are /);
  await fails(['example', name, name], 2, /give one example, got 2/);
});

test('version: -V says what --version does, also after a command', async () => {
  const { stdout } = await dpFtrl(['--version']);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  for (const args of [['-V'], ['count', '-V'], ['count', '--version']]) {
    assert.equal((await dpFtrl(args)).stdout, stdout);
  }
});
