// SPDX-License-Identifier: Apache-2.0

// Tables separated by tabs or semicolons are read like those with commas, and the delimiter is
// reported.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runningOn } from './support/command.mjs';
import { dpFtrl, root } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';

const write = writerIn(scratchFolder('delimiter'));
const example = (name) => readFileSync(join(root, `examples/${name}.csv`), 'utf8');
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--seed', '3'];

/** Arguments and table for each command that reads a table. */
const COMMANDS = {
  release: [['--clip', '1', '--columns', 'count', ...privacy], example('shop_day')],
  count: [['--time-column', 'time', '--bucket', 'day', ...privacy], example('site_visits')],
  learn: [['--label', 'label', ...privacy, '--passes', '2', '--clip', '1'], example('pendulum')],
  queries: [
    ['--workload', 'prefix', '--columns', 'minutes', '--domain', '0:180', ...privacy],
    example('gym_visits'),
  ],
  choose: [
    ['--winner', '--columns', 'minutes', '--domain', '0:180', '--epsilon', '1', '--seed', '3'],
    example('gym_visits'),
  ],
};
const NAMES = { ';': 'semicolon', '\t': 'tab' };

test('delimiter: recognised and given separators give the same output as commas, bit for bit', async () => {
  for (const [command, [args, table]] of some(Object.entries(COMMANDS), 5)) {
    assert.doesNotMatch(table, /[";\t]/);
    const wanted = await dpFtrl([command, ...args], { input: table });
    assert.equal(wanted.code, 0, wanted.stderr);
    assert.doesNotMatch(wanted.stderr, /separated/);
    for (const [separator, name] of Object.entries(NAMES)) {
      const input = table.replaceAll(',', separator);
      const said = `dp-ftrl ${command}: the input has cells separated by ${name}s (--delimiter ${name})\n`;
      const found = await dpFtrl([command, ...args], { input });
      assert.equal(found.stdout, wanted.stdout, `${command} ${name}`);
      assert.equal(found.stderr.split(said).length, 2, found.stderr);
      for (const [way, text] of [
        [name, input],
        [separator, input],
        [name, table],
      ]) {
        const given = await dpFtrl([command, ...args, '--delimiter', way], { input: text });
        assert.equal(given.stdout === wanted.stdout, text === input, `${command} ${way}`);
        assert.doesNotMatch(given.stderr, /separated by/);
      }
    }
  }
});

test('delimiter: the separator of a file read twice is reported once, and not with --quiet', async () => {
  const [args, table] = COMMANDS.release;
  const path = write('shop.tsv', table.replaceAll(',', '\t'));
  const { stderr } = await dpFtrl(['release', ...args, path]);
  assert.equal(stderr.match(/separated by tabs/g).length, 1);
  assert.doesNotMatch((await dpFtrl(['release', ...args, '--quiet', path])).stderr, /separated/);
  const spelt = await dpFtrl(['release', ...args, '--delimiter', '\\t', path]);
  assert.equal(spelt.code, 0, spelt.stderr);
});

test('delimiter: rows are released as they arrive, the header in pieces', async () => {
  const args = ['release', ...privacy, '--clip', '9', '--steps', '10', '--quiet'];
  const { child, ended } = await runningOn('a', args, () => true);
  for (const piece of [';', 'b', '\n1;', '2\n']) child.stdin.write(piece);
  let out = ''; // The header may arrive separately.
  await new Promise((resolve) => {
    child.stdout.on('data', (text) => /\n1,/.test((out += text)) && resolve());
  });
  child.stdin.end();
  const { code, stdout } = await ended;
  assert.equal(code, 0);
  assert.match(stdout, /^step,a,b,std\n1,[^\n]*\n$/);
});

test('delimiter: the file of --test may have a separator of its own', async () => {
  const [args, table] = COMMANDS.learn;
  const path = write('test.csv', table.replaceAll(',', ';'));
  const shown = ['--show-nonprivate', '--test', path, '--json'];
  const { code, stdout, stderr } = await dpFtrl(['learn', ...args, ...shown], { input: table });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /: --test \S+test\.csv has cells separated by semicolons/);
  const plain = ['--show-nonprivate', '--test', write('plain.csv', table), '--json'];
  assert.equal(stdout, (await dpFtrl(['learn', ...args, ...plain], { input: table })).stdout);
});

test('decimal: models are learned and used on numbers with commas', async () => {
  const table = example('pendulum');
  const commas = table.replaceAll(',', ';').replaceAll('.', ',');
  const learn = ['learn', '--label', 'label', ...privacy, '--passes', '2', '--clip', '1', '--json'];
  const wanted = await dpFtrl(learn, { input: table });
  const found = await dpFtrl([...learn, '--decimal', 'comma'], { input: commas });
  assert.equal(found.stdout, wanted.stdout);
  const model = write('model.json', wanted.stdout);
  const predicted = await dpFtrl(['predict', '--model', model], { input: table });
  const again = await dpFtrl(['predict', '--model', model, '--decimal', 'comma'], {
    input: commas,
  });
  assert.equal(again.code, 0, again.stderr);
  assert.equal(again.stdout, predicted.stdout);
});
