// SPDX-License-Identifier: Apache-2.0

// Names of columns, categories and persons are the same in both of Unicode's spellings of é.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { requireCommandsWith } from './support/help.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const { personOfId } = await importSource('shared/person.ts');
const { CategoryIndex } = await importSource('shared/categories.ts');
const { isMissing, marksOf } = await importSource('shared/missing.ts');

const { parseCsv } = await importSource('../../web/src/data/csv.ts');
const { readDomain } = await importSource('../../web/src/data/statistic-choice.ts');
const { readAddress } = await importSource('../../web/src/controls/url.ts');
const dp = await (await importEntry('dp-ftrl')).load();

const folder = scratchFolder('names');
const FORMS = ['NFC', 'NFD'];
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--seed', '3', '--quiet'];
const times = ['--time-column', 'année', '--bucket', 'day'];
const people = ['--user-column', 'élève', '--max-contributions', '1'];
const by = ['--domain', 'thé,café', '--missing', 'skip', '--na', 'né'];

const ROWS = [
  { année: '2026-03-01', élève: 'Zoë', taille: '0.5', 'prépa é': '1', goût: 'thé', bon: '1' },
  { année: '2026-03-02', élève: 'Zoë', taille: '0.25', 'prépa é': '0', goût: 'café', bon: '0' },
  { année: '2026-03-02', élève: 'Renée', taille: '1', 'prépa é': '1', goût: 'né', bon: '1' },
];
const names = Object.keys(ROWS[0]);
const csv = [names, ...ROWS.map((row) => names.map((name) => row[name]))]
  .map((cells) => `${cells.join(',')}\n`)
  .join('');
const jsonLines = ROWS.map((row) => `${JSON.stringify(row)}\n`).join('');

const twiceNamed = `é,${'é'.normalize('NFD')}\n1,2\n`;

const COMMANDS = {
  release: ['release', '--clip', '1', '--columns', 'prépa é', ...times, ...people],
  'release with ranges': ['release', '--columns', 'pré*=0:1'],
  count: ['count', ...times, ...people, '--by', 'goût', ...by],
  moments: ['moments', '--columns', 'prépa é=0:1'],
  active: ['active', '--window', 'day', '--time-column', 'année', '--user-column', 'élève'],
  histogram: ['histogram', ...times, '--by', 'goût', ...by],
  queries: ['queries', '--workload', 'identity', '--columns', 'goût', ...by],
  choose: ['choose', '--winner', '--columns', 'goût', ...by, ...people],
  learn: ['learn', '--label', 'bon', '--columns', 'prépa é=0:1'],
  'learn with groups': [
    ...['learn', '--label', 'bon', '--columns', 'prépa é=0:1'],
    ...['--group-norm', '0.1', '--group', 'prépa é', '--regularisation', '1', '--clip', '1'],
  ],
};

test('names: every command finds columns, categories and persons in both spellings', async () => {
  await requireCommandsWith(
    'format',
    Object.values(COMMANDS).map(([command]) => command),
    ['predict'],
  );
  for (const [title, [command, ...rest]] of Object.entries(COMMANDS))
    for (const [format, table] of Object.entries({ csv, jsonl: jsonLines })) {
      const target = command === 'choose' ? ['--epsilon', '1', '--seed', '3', '--quiet'] : privacy;
      const said = new Set();
      for (const typed of FORMS)
        for (const written of FORMS) {
          const args = rest.map((arg) => arg.normalize(typed));
          const line = [command, ...target, '--format', format, ...args];
          const { code, stdout, stderr } = await dpFtrl(line, { input: table.normalize(written) });
          assert.equal(code, 0, `${title} ${format} ${typed} ${written}: ${stderr}`);
          said.add(stdout);
        }
      assert.equal(said.size, 1, `${title} ${format}: ${[...said].join('\n')}`);
    }
});

test('names: a model predicts tables in both spellings', async () => {
  const model = join(folder, 'model.json');
  const args = ['learn', ...privacy, ...COMMANDS.learn.slice(1), '--model', model];
  assert.equal((await dpFtrl(args, { input: csv })).code, 0);
  const said = new Set();
  for (const typed of FORMS)
    for (const written of FORMS) {
      writeFileSync(model, readFileSync(model, 'utf8').normalize(typed));
      const input = csv.normalize(written);
      const { code, stdout, stderr } = await dpFtrl(['predict', '--model', model], { input });
      assert.equal(code, 0, stderr);
      said.add(stdout);
    }
  assert.equal(said.size, 1);
});

test('names: a run goes on with a state that was begun in the other spelling', async () => {
  const state = ['--steps', '90', '--state', join(folder, 'names.state')];
  for (const [i, form] of FORMS.entries()) {
    const args = ['histogram', ...times, ...people, ...COMMANDS.histogram.slice(5)];
    const line = [
      ...args.map((arg) => arg.normalize(form)),
      ...state,
      ...privacy.filter((arg) => !/seed|3/.test(arg)),
    ];
    const input = csv.replaceAll('2026-03-0', `2026-0${3 + i}-0`);
    const { code, stderr } = await dpFtrl(line, { input: input.normalize(form) });
    assert.equal(code, 0, stderr);
  }
});

test('names: two spellings of one name are one name', async () => {
  const both = await dpFtrl(['release', ...privacy, '--clip', '1', '--columns', 'é'], {
    input: twiceNamed,
  });
  assert.match(both.stderr, /more than one column/);
  const domain = ['--by', 'goût', '--domain', `é,${'é'.normalize('NFD')}`];
  const listed = await dpFtrl(['count', ...privacy, ...times, ...domain], { input: csv });
  assert.match(listed.stderr, /has a value twice/);
});

test('names: shared modules, and a histogram of the package, know both spellings', async () => {
  for (const typed of FORMS)
    for (const written of FORMS) {
      const [name, cell] = ['café', ' café '].map((text, i) => text.normalize([typed, written][i]));
      assert.equal(new CategoryIndex(['thé', name]).find(cell), 1);
      assert.equal(personOfId(name, false), personOfId(cell, false));
      assert.equal(isMissing(cell, marksOf(`-,${name}`)), true);
      const target = { steps: 1, epsilon: 1, delta: 1e-6, insecureSeed: 1 };
      const stream = dp.histogram({ ...target, categories: [name, 'thé'] });
      assert.ok(name in stream.release(cell.trim()).count);
      stream.dispose();
      const again = [name, name.normalize(written)];
      assert.throws(
        () => dp.histogram({ ...target, categories: again }),
        /another one than before/,
      );
    }
});

test('names: the page finds columns and categories in both spellings', () => {
  for (const typed of FORMS)
    for (const written of FORMS) {
      const table = parseCsv(csv.normalize(written));
      assert.deepEqual(
        table.columns.map(({ name }) => name),
        names,
      );
      const address = `#column=${encodeURIComponent('prépa é'.normalize(typed))}`;
      assert.deepEqual(readAddress(address).settings.columns, ['prépa é']);
      assert.deepEqual(readDomain('thé, café'.normalize(typed)), ['thé', 'café']);
      assert.throws(() => parseCsv(twiceNamed), /more than one column/);
    }
});
