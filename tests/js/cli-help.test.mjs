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
import { commandNames, optionsIn } from './support/help.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const folder = scratchFolder('help');
const env = { ...process.env, PATH: `${dirname(cli)}${delimiter}${process.env.PATH}` };

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
  const names = (await commandNames()).filter((name) => name !== 'page');
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

test('help: the essentials have at most 30 lines of 80 columns, and are among all options', async () => {
  for (const name of await commandNames()) {
    const [short, full] = await Promise.all(
      [[], ['all']].map(async (layer) => (await dpFtrl([name, '--help', ...layer])).stdout),
    );
    const lines = short.trimEnd().split('\n');
    assert.ok(lines.length <= 30, `${name}: ${lines.length} lines`);
    for (const line of [...lines, ...full.split('\n')]) assert.ok(line.length <= 80, line);
    const all = optionsIn(full).map((option) => option.name);
    assert.equal(new Set(all).size, all.length, name);
    if (short === full) continue;
    assert.equal(lines.at(-1), `dp-ftrl ${name} --help all   all ${all.length} options`);
    for (const option of optionsIn(short)) assert.ok(all.includes(option.name), option.name);
  }
});

test('help: it is as wide as the terminal, between 60 and 100 columns', async () => {
  const { widthFor } = await importSource('cli/help/help.ts');
  const terminal = (columns) => widthFor({ isTTY: true, columns });
  assert.deepEqual([40, 60, 79, 200].map(terminal), [60, 60, 79, 100]);
  assert.equal(widthFor({ columns: 120 }), 80);
  assert.equal(widthFor({ isTTY: true, columns: 0 }), 80);
});

test('help: an option and the placeholder of its value are followed by the meaning, at any width', async () => {
  const { helpOf } = await importSource('cli/help/help.ts');
  const { under } = await importSource('cli/options/option.ts');
  const command = {
    usage: '--clip C [FILE.csv]',
    about: 'word '.repeat(40).trim(),
    options: under('Sums', {
      clip: { value: 'C', meaning: 'length '.repeat(40).trim(), brief: 'a length' },
      'max-contributions': { value: 'K', meaning: 'rows' },
      sort: { meaning: (catalogue) => `sorts ${catalogue.length}` },
    }),
    essentials: ['clip'],
    examples: ['dp-ftrl sum --clip 1 --max-contributions 12 | cat', 'dp-ftrl sum'],
  };
  for (const width of [60, 77, 100]) {
    const short = helpOf('sum', command, { width });
    const full = helpOf('sum', command, { width, catalogue: [{}] });
    const widest = Math.max(...`${short}${full}`.split('\n').map((line) => line.length));
    assert.ok(widest <= width && widest > width - 10, `${widest}`);
    assert.match(short, /^dp-ftrl sum --clip C \[FILE\.csv\]\n\nword/);
    assert.match(short, /\n {2}--clip C {10}a length\n\nExample:\n {2}dp-ftrl sum --clip 1 /);
    assert.match(full, /\nSums:\n {2}--clip C {10}length length/);
    assert.match(full, /\n {2}--max-contributions K\n {20}rows\n {2}--sort {12}sorts 1\n/);
  }
  // An option of an example stays on the line of its value.
  const narrow = helpOf('sum', command, { width: 35 });
  assert.match(
    narrow,
    /\n {2}dp-ftrl sum --clip 1 \\\n {6}--max-contributions 12 \| \\\n {6}cat\n/,
  );
});

test('help: commands that release give advice on epsilon and delta, and release on clip', async () => {
  const text = async (name) => (await dpFtrl([name, '--help'])).stdout.replaceAll(/\s+/g, ' ');
  for (const name of ['count', 'release', 'learn', 'queries']) {
    assert.match(await text(name), / --epsilon E .*1 is common/);
    assert.match(await text(name), / --delta D .*at most one over the number of rows/);
  }
  assert.match(
    await text('release'),
    /--clip C .*without the data.* never the maximum that you see/,
  );
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
