// SPDX-License-Identifier: Apache-2.0

// Every option that a message advises is accepted by that command, in that situation.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { dpFtrl } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { requireCommandsWith } from './support/help.mjs';
import { tableOf } from './support/message-table.mjs';
import { scratchFolder } from './support/scratch.mjs';

const cwd = scratchFolder('advice');
const $E = ['--epsilon', '1', '--delta', '1e-6'];
const times = ['--time-column', 't', '--bucket', 'day'];
const people = ['--user-column', 'who', '--max-contributions', '2'];
const ofX = ['--columns', 'x=0:1'];
const by = ['--by', 'cat', '--domain', 'a,b'];
const values = ['--columns', 'cat', '--domain', 'a,b'];

const COMMANDS = [
  ['release', ...$E, '--clip', '1', '--columns', 'x'],
  ['release', ...$E, '--clip', '1', '--columns', 'x', ...people],
  ['release', ...$E, '--clip', '1', '--columns', 'x', ...times],
  ['release', ...$E, '--clip', '1'],
  ['release', ...$E, '--count'],
  ['release', ...$E, '--count', '--format', 'jsonl'],
  ['count', ...$E, ...times],
  ['count', ...$E, ...times, ...by],
  ['count', ...$E, ...times, ...by, '--other', ...people],
  ['active', ...$E, '--window', 'week', '--time-column', 't', '--user-column', 'who'],
  ['moments', ...$E, ...ofX],
  ['moments', ...$E, ...ofX, ...times],
  ['histogram', ...$E, ...by],
  ['histogram', ...$E, ...by, '--other', ...times],
  ['histogram', ...$E, '--by', 'x', '--domain', '0:3'],
  ['queries', ...$E, ...values, '--workload', 'identity'],
  ['queries', ...$E, ...values, '--other', '--workload', 'identity'],
  ['queries', ...$E, '--columns', 'x', '--domain', '0:3', '--workload', 'prefix'],
  ['choose', '--epsilon', '1', '--winner', ...values],
  ['choose', '--epsilon', '1', '--quantile', '1/2', '--columns', 'x', '--domain', '0:3'],
  ['choose', '--epsilon', '1', '--quantile', '1/2', ...values],
  ['learn', ...$E, '--label', 'x', '--columns', 'y'],
  ['learn', ...$E, '--label', 'cat', '--loss', 'logistic', '--columns', 'y=0:1'],
];

const header = 't,who,x,y,cat\n';
const object = '{"t":"2026-01-01","who":"p","x":1,"y":1,"cat":"a"}';
const row = (cells) => `${header}${cells}\n`;
const TABLES = {
  'an empty number': row('2026-01-01,p,,1,a\n2026-01-02,p,1,1,a'),
  'an empty time': row(',p,1,1,a\n2026-01-02,p,1,1,a'),
  'an empty person': row('2026-01-01,,1,1,a\n2026-01-02,p,1,1,a'),
  'an empty category': row('2026-01-01,p,1,1,\n2026-01-02,p,1,1,a'),
  'a missing number': row('2026-01-01,p,NA,-,a\n2026-01-02,p,1,1,a'),
  'a missing category': row('2026-01-01,p,1,1,NA\n2026-01-02,p,1,1,a'),
  'a missing time': row('null,p,1,1,a\n2026-01-02,p,1,1,a'),
  'values outside the domain': row('2026-01-01,p,9,1,z'),
  'upper case, and no whole number': row('2026-01-01,p,1.5,1,A'),
  semicolons: row('2026-01-01,p,1,1,a').replaceAll(',', ';'),
  'decimal commas': `${header.replaceAll(',', ';')}2026-01-01;p;1,5;1,5;a\n`,
  words: row('2026-01-01,p,yes,perhaps,a'),
  'JSON lines': `${object}\n`,
  'a JSON array': `[${object}]\n`,
  'no rows': header,
  nothing: '',
  'times that go back': row('2026-01-02,p,1,1,a\n2026-01-01,p,1,1,a'),
  seconds: row('1767225600,p,1,1,a'),
  milliseconds: row('1767225600000,p,1,1,a'),
  years: row('2019,p,1,1,a'),
  'the day first': row('31/12/2025,p,1,1,a'),
  'the clock of a place': row('2026-01-01 10:00,p,1,1,a'),
  spaces: row('2026-01-01,p,1,1,a').replaceAll(',', ' '),
  'one column': 'x\n1\n',
  'too large numbers': row('2026-01-01,p,1e400,1e400,a'),
  'three labels': row('2026-01-01,p,0,1,a\n2026-01-01,p,1,1,b\n2026-01-02,p,2,1,c'),
};

/** Values for options whose advice has a placeholder, or none. */
const VALUES = {
  ...{ bucket: 'day', budget: 'b.json', 'budget-delta': '1e-3', 'budget-epsilon': '9', by: 'cat' },
  ...{ classes: '3', clip: '1', columns: 'x', domain: 'a,b,z,A', epsilon: '2', from: '2026-01-01' },
  ...{ label: 'y', loss: 'softmax', 'max-contributions': '2', steps: '9' },
  ...{ state: 'x.state', 'time-column': 't', to: '2026-01-02', 'user-column': 'who' },
};

/** Values that messages advise, besides placeholders. */
const ADVISED =
  /^(skip|zero|jsonl|comma|semicolon|softmax|seconds|milliseconds|month|year|day-month-year|window=1|NA,.*)$/;

/** Options that a message advises, each as the words to add to those that were typed. */
function advisedBy(message, args) {
  const advised = new Map();
  for (const [, other, name, word = ''] of message.matchAll(
    /(dp-ftrl [a-z]+ )?(--[a-z-]+)(?: ([^\s;:]+))?/g,
  )) {
    const value = ADVISED.test(word) ? word : VALUES[name.slice(2)];
    const isTyped = args.includes(name) && (value !== word || args.includes(value));
    if (!other && !advised.has(name) && !isTyped)
      advised.set(name, value === undefined ? [name] : [name, value]);
  }
  return [...advised.values()];
}

/** The arguments with the words of some options, which replace those that were typed. */
function withWords(args, options) {
  const kept = [...args];
  for (const [name, value] of options) {
    const at = kept.indexOf(name);
    if (at < 0) kept.push(...(value === undefined ? [name] : [name, value]));
    else kept[at + 1] = value;
  }
  return kept;
}

const lastLine = ({ code, stderr }) => (code === 0 ? '' : stderr.trimEnd().split('\n').at(-1));
const spoken = ({ code, stderr }) =>
  stderr
    .trimEnd()
    .split('\n')
    .filter((line, i, all) => line.includes(': warning: ') || (code !== 0 && i === all.length - 1));

test('advice: each option is tried in the situation in which it is advised', async () => {
  await requireCommandsWith(
    'format',
    COMMANDS.map(([command]) => command),
    ['predict'],
  );
  const wrong = [];
  let numTried = 0;
  for (const [what, input] of some(Object.entries(TABLES), 9))
    for (const args of COMMANDS)
      for (const message of spoken(await dpFtrl(args, { cwd, input }))) {
        const advised = advisedBy(message, args);
        for (const words of advised) {
          // Alone, or with the others that the same sentence advises.
          const refusals = [];
          for (const options of [[words], advised]) {
            const said = lastLine(await dpFtrl(withWords(args, options), { cwd, input }));
            if (!said.includes(words[0])) break;
            refusals.push(said);
          }
          numTried += 1;
          if (refusals.length === 2)
            wrong.push(
              `${what}: ${args.join(' ')}\n  ${message}\n  ${words.join(' ')}: ${refusals[0]}`,
            );
        }
      }
  assert.deepEqual(wrong, []);
  assert.ok(numTried > 20, `${numTried}`);
});

test('advice: no message of the table advises an option that its command does not have', async () => {
  const advised = new Set();
  for (const { run, wanted } of tableOf('command').rows) {
    const [command] = run.split(' ');
    if (!/^[a-z]+$/.test(command) || wanted.startsWith('unknown ')) continue;
    for (const [, other, name] of wanted.matchAll(/(dp-ftrl [a-z]+ |and count )?--([a-z0-9-]+)/g))
      if (!other) advised.add(`${command} --${name}`);
  }
  const helps = new Map();
  for (const each of advised) {
    const [command, option] = each.split(' ');
    if (!helps.has(command)) helps.set(command, (await dpFtrl([command, '--help', 'all'])).stdout);
    assert.ok(new RegExp(`${option}\\b`).test(helps.get(command)), each);
  }
});

const seen = async (args, input) => (await dpFtrl(args, { cwd, input })).stderr;

test('advice: causes are named only where they can be the cause', async () => {
  const release = ['release', ...$E, '--steps', '9'];
  assert.match(
    await seen([...release, '--clip', '1'], 'x\n1\n'),
    /or --clip allows far larger ones/,
  );
  const ranged = [...release, '--columns', 'x=0:1'];
  assert.match(await seen(ranged, 'x\n1\n'), /or --columns allows far larger ones/);
  assert.match(await seen([...release, '--count'], 'x\n1\n'), /too few rows for this --epsilon$/m);
  // A run that releases nothing has no totals, even if earlier runs had.
  const state = [...release, '--clip', '1', '--state', 'empty.state'];
  assert.match(await seen(state, 'x\n1\n'), /can be told from 0/);
  assert.doesNotMatch(await seen(state, 'x\n'), /can be told from 0/);
});

test('advice: a table whose rows are all left out is not one without rows', async () => {
  const skips = ['--missing', 'skip'];
  for (const args of [
    ['release', ...$E, '--clip', '1', '--columns', 'x', ...times],
    ['count', ...$E, ...times],
    ['count', ...$E, ...times, '--sort'],
    ['moments', ...$E, ...ofX, ...times],
    ['histogram', ...$E, ...by, ...times],
  ]) {
    assert.match(
      await seen([...args, ...skips], row(',p,1,1,a')),
      /every row .* has a missing cell/,
    );
    assert.match(await seen([...args, ...skips], header), /has a header but no rows/);
  }
});

test('advice: JSON is to be read as such only where that is possible, and not already asked for', async () => {
  writeFileSync(join(cwd, 'objects.csv'), `${object}\n`);
  writeFileSync(join(cwd, 'objects'), `${object}\n`);
  const release = ['release', ...$E, '--clip', '1', '--columns', 'x'];
  const renamed = /is JSON, not CSV: rename it to \.jsonl, as the ending of its name decides$/m;
  for (const more of [[], ['--format', 'jsonl']])
    assert.match(await seen([...release, 'objects.csv', ...more]), renamed);
  assert.match(await seen([...release, 'objects']), /is JSON, not CSV: give --format jsonl$/m);
  assert.doesNotMatch(await seen([...release, 'objects', '--format', 'jsonl']), /is JSON/);
  const written = /is JSON, not CSV: write it as CSV$/m;
  assert.match(await seen(['error', '--steps', '1', '--workload', 'objects']), written);
});
