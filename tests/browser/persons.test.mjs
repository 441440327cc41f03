// SPDX-License-Identifier: Apache-2.0

// The user's own tables with one row per event of a person: whose row it is, how many count, and
// days as steps; with the numbers of counters of people and of the command.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import {
  changes,
  complaints,
  enter,
  fits,
  launch,
  openExport,
  openPage,
  readKey,
  readTable,
  root,
  rowsByDay,
  runProgram,
  seedOf,
  serveSite,
  settled,
  shopDay,
  textOf,
  unfold,
} from './support.mjs';

let site;
let browser;
let library;
let visits;
before(async () => {
  [site, browser, library, visits] = await Promise.all([
    serveSite(),
    launch(),
    load(),
    readFile(path.join(root, 'examples/gym_visits.csv'), 'utf8'),
  ]);
});
after(async () => {
  await browser.close();
  site.close();
});

const open = async (hash, options = {}) => {
  const opened = await openPage(browser, `${site.url}#${hash}`, { calm: true, ...options });
  await settled(opened.page);
  return opened;
};

async function drop(page, text) {
  await page.evaluate((csv) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([csv], 'own.csv', { type: 'text/csv' }));
    document.body.dispatchEvent(
      new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
    );
  }, text);
  await page.waitForSelector('#clip-guide:not([hidden]) .ask');
}

const valueOf = (page, selector) => page.$eval(selector, (one) => one.value);

/** Releases and true totals of the visits by day, computed by the library. */
function byDay({ clip, people, epsilon = 1, insecureSeed = 1 }) {
  const rows = rowsByDay(visits);
  const first = rows[0].day;
  const steps = rows.at(-1).day - first + 1;
  const target = { steps, epsilon, delta: 1e-6, clip, people };
  const counter = library.counter({ ...target, insecureSeed });
  const readings = [];
  for (const { day, cells } of rows) {
    const [, member, minutes] = cells;
    readings.push(...counter.endMany(day - first - counter.step));
    counter.add(member, Number(minutes));
  }
  readings.push(counter.end());
  const { dropped } = counter;
  counter.dispose();
  return { releases: readings.map(({ value }) => value), dropped, numRows: rows.length };
}

test('visits of a gym: members are the persons, days the steps, and releases those of a counter', async () => {
  const { page, said } = await open('steps=30');
  await drop(page, visits);
  assert.equal(await valueOf(page, '#set-person'), 'member');
  assert.equal(await valueOf(page, '#set-time'), 'time');
  assert.equal(await valueOf(page, '#set-bucket'), 'day');
  const total = visits
    .split('\n')
    .slice(1, -1)
    .reduce((sum, line) => sum + Number(line.split(',')[2]), 0);
  assert.equal(
    await page.$eval('.columns data', (one) => Number(one.value)),
    total,
    'minutes, unclipped',
  );
  await page.waitForFunction(() => location.hash === '#steps=30', {}, 'nothing runs yet');
  await enter(page, '#set-person-most', '12');
  await enter(page, '#set-person-apart', '7');
  const people = { times: 12, apart: 7 };
  const expected = byDay({ clip: 90, people });
  assert.match(
    await textOf(page, '#set-person-hint'),
    new RegExp(
      `^\\d+ persons; ${(expected.numRows - expected.dropped).toLocaleString('en-US')} of ` +
        `${expected.numRows.toLocaleString('en-US')} rows count`,
    ),
  );
  assert.match(
    await textOf(page, '#set-time-hint'),
    /^83 steps, one per day in UTC, from 2026-03-02 to 2026-05-23/,
  );
  assert.match(await textOf(page, '#clip-guide'), /How much.* may one person in a step add/);
  await changes(page, () => page.click('#clip-guide button'));
  assert.equal(await valueOf(page, '#set-clipNorm'), '90');
  assert.equal(
    await page.evaluate(() => location.hash),
    '#participation=separated&participations=12&min-separation=7&data=own',
    'what was chosen for the table is not in the address',
  );
  assert.equal(await valueOf(page, '#set-numSteps'), '83');
  const rows = await readTable(page, 'sums-numbers');
  const { releases } = byDay({ clip: 90, people, insecureSeed: await seedOf(page) });
  for (const [step, row] of rows) assert.equal(row.release, releases[step - 1], `step ${step}`);
  assert.match(
    await textOf(page, '#set-participation-hint'),
    /^At most 12 records of each person count, at least 7 steps apart/,
  );
  // Both the limit per person and the clip norm remove something; the total of all rows shows how
  // much.
  const key = await readKey(page, '#sums');
  assert.equal(key['all rows'], total);
  assert.ok(key['true total'] < total);
  // The command line shown on the page gives the same result.
  await openExport(page);
  const command = await textOf(page, '#export-command');
  assert.match(
    command,
    /--time-column time --bucket day --user-column member --max-contributions 12/,
  );
  const words = command.trim().replace('data.csv', 'examples/gym_visits.csv').split(/\s+/).slice(1);
  const args = ['dist/cli.js', ...words, '--show-nonprivate', '--quiet'];
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  const [names, ...lines] = printed
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  assert.equal(lines.length, 83);
  assert.equal(Number(lines.at(-1)[names.indexOf('minutes')]), key.release);
  assert.equal(Number(lines.at(-1)[names.indexOf('minutes_true')]), key['true total']);
  assert.deepEqual(said, []);
  await page.close();
});

test('the first and the last day can be set beforehand, as in the command', async () => {
  const { page, said } = await open('steps=30');
  await drop(page, visits);
  assert.match(
    await textOf(page, '#set-time-hint'),
    /The range depends on the data, and no noise hides it/,
  );
  await enter(page, '#set-from', '2026-03-01');
  assert.match(
    await textOf(page, '#set-time-hint'),
    /^84 steps, .* Where it ends depends on the data/,
  );
  await enter(page, '#set-to', '2026-05-01');
  assert.match(await textOf(page, '#set-time-error'), /: is after the day of to$/);
  await enter(page, '#set-to', '2026-05-24');
  assert.equal(await textOf(page, '#set-time-error'), '');
  assert.match(
    await textOf(page, '#set-time-hint'),
    /^85 steps, one per day in UTC, from 2026-03-01 to 2026-05-24, .* Both were set beforehand/,
  );
  await changes(page, () => page.click('#clip-guide button'));
  const key = await readKey(page, '#sums');
  await openExport(page);
  const command = await textOf(page, '#export-command');
  assert.match(command, /--bucket day --from 2026-03-01 --to 2026-05-24 --user-column member/);
  assert.doesNotMatch(command, /--steps/);
  const words = command.trim().replace('data.csv', 'examples/gym_visits.csv').split(/\s+/).slice(1);
  const args = ['dist/cli.js', ...words, '--quiet'];
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  const [names, ...lines] = printed
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  assert.equal(lines.length, 85);
  assert.equal(Number(lines.at(-1)[names.indexOf('minutes')]), key.release);
  assert.deepEqual(said, []);
  await page.close();
});

test('programs print the release that the page shows, for any choice of persons and steps', async () => {
  const { page, said } = await open('steps=30');
  await drop(page, visits);
  await page.click('#clip-guide button');
  await page.waitForFunction(() => /data=own/.test(location.hash));
  const pattern = { participation: 'separated', participations: '12', 'min-separation': '2' };
  const persons = { 'user-column': 'member', ...pattern };
  for (const wanted of some(
    [
      { ...persons, 'time-column': 'time', bucket: 'day', steps: '90' },
      { ...persons, 'time-column': 'time', bucket: 'week', from: '2026-02-25', to: '2026-06-05' },
      { 'user-column': 'member', 'user-ids': 'texts', steps: '3000' }, // One row each, and every row is a step.
      { 'time-column': 'time', bucket: 'hour', from: '2026-03-01T23:30+0330', steps: '2100' },
      { 'time-column': 'time', bucket: 'month', mechanism: 'lambda-cgd', lambda: '0.7' },
      { 'time-column': 'time', bucket: 'minute', mechanism: 'independent', steps: '130000' },
      { 'time-column': 'time', bucket: 'year' },
      {
        ...persons,
        'time-column': 'time',
        bucket: 'day',
        steps: '83',
        workload: 'window',
        window: '7',
        mechanism: 'square-root',
      },
      { 'time-column': 'time', bucket: 'week', steps: '12', workload: 'decay', decay: '0.8' },
      {
        'user-column': 'member',
        steps: '900',
        workload: 'window',
        window: '100',
        mechanism: 'square-root',
      },
    ],
    10,
  )) {
    const own = { data: 'own', column: 'minutes', label: '-', clip: '90', steps: '20', ...wanted };
    await page.evaluate((hash) => (location.hash = hash), String(new URLSearchParams(own)));
    await settled(page);
    assert.equal(await page.$eval('#notice', (notice) => notice.hidden), true);
    await openExport(page);
    const program = await textOf(page, '#export-javascript');
    await page.keyboard.press('Escape');
    assert.equal(program.includes('people:'), 'user-column' in wanted);
    assert.equal(/Number of the (\w+)/.exec(program)?.[1], wanted.bucket);
    const key = await readKey(page, '#sums');
    assert.equal(program.includes('workload'), 'workload' in wanted);
    const printed = runProgram(program.replace('data.csv', 'examples/gym_visits.csv'));
    assert.deepEqual(printed, [key.release], JSON.stringify(wanted));
  }
  assert.deepEqual(said, []);
  await page.close();
});

test('persons and times are chosen after the clip, too, and with the keyboard', async () => {
  const { page, said } = await open('steps=30');
  await drop(page, visits);
  await page.focus('#set-time');
  await page.keyboard.press('Home'); // None: every row is a step.
  await page.waitForFunction(() => document.getElementById('set-time').value === '');
  await page.focus('#set-person');
  await page.keyboard.press('Home');
  await page.waitForFunction(() => document.getElementById('set-person').value === '');
  await page.focus('#clip-guide button');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /data=own/.test(location.hash));
  await settled(page);
  const numRows = visits.trim().split('\n').length - 1;
  assert.equal(Number(await valueOf(page, '#set-numSteps')), numRows);
  await changes(page, () => page.select('#set-person', 'member'));
  await changes(page, () => page.select('#set-time', 'time'));
  assert.equal(await valueOf(page, '#set-numSteps'), '83');
  await changes(page, () => page.select('#set-bucket', 'week'));
  assert.equal(await valueOf(page, '#set-numSteps'), '12');
  assert.match(await textOf(page, '#set-time-hint'), /^12 steps, one per week in UTC/);
  // A refused number stays in its field, and epochs cannot be combined with a user column.
  await enter(page, '#set-person-most', '0');
  assert.match(await textOf(page, '#set-person-error'), /must be a whole number from 1/);
  await page.select('#set-participation', 'epochs');
  await page.waitForSelector('#set-participation-error:not([hidden])');
  assert.match(await textOf(page, '#set-participation-error'), /it cannot be combined with epochs/);
  assert.equal(await valueOf(page, '#set-participation'), 'separated');
  // Back undoes a choice.
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('set-bucket').value === 'day');
  await settled(page);
  assert.deepEqual(said, []);
  await page.close();
});

test('a day in a shop: totals are shown before a clip is chosen, and no person column is guessed', async () => {
  const { page } = await open('steps=30');
  await drop(page, await readFile(path.join(root, 'examples/shop_day.csv'), 'utf8'));
  const totals = await page.$$eval('.columns label:not(.unit)', (all) =>
    all.map((label) => [
      label.querySelector('input').value,
      label.querySelector('data').textContent,
    ]),
  );
  assert.equal(new Map(totals).get('count'), 'total 364');
  assert.equal(await valueOf(page, '#set-person'), '');
  assert.equal(await page.evaluate(() => location.hash), '#steps=30', 'nothing runs yet');
  await page.close();
});

test('a table without persons and times offers none, and a missing column in an address is reported', async () => {
  const { page } = await open(shopDay);
  await unfold(page);
  assert.ok(await page.$eval('#set-time', (one) => one.getClientRects().length === 0));
  assert.equal(await valueOf(page, '#set-person'), '');
  await page.close();
  const hash = 'data=shop_day&column=count&label=-&steps=830&user-column=nobody';
  const { page: other } = await open(hash);
  assert.match(await textOf(other, '#notice'), /there is no column “nobody”/);
  await other.close();
});

test('times: days and hours are those of a zone, years are steps, and programs and command agree', async () => {
  const { page, said } = await open('steps=30');
  await page.evaluate(() => {
    URL.createObjectURL = (blob) => ((window.saved = blob), 'data:,');
  });
  const rows = [
    '2026-10-25T00:30:00+02:00',
    'Oct 25 2026 02:30',
    '2026/10/25 02:30:00 +01:00',
    '2026-10-26 00:30',
  ];
  const table = `t,x\n${rows.map((time, k) => `${time},${2 ** k}\n`).join('')}`;
  const zone = '“Berlin” is not the name of a zone: did you mean Europe/Berlin?';
  for (const [bucket, name, hint] of [
    [
      'day',
      'europe/berlin',
      /^2 steps, one per day in Europe\/Berlin, from 2026-10-25 to 2026-10-26/,
    ],
    [
      'hour',
      'Europe/Berlin',
      /^26 steps, .* from 2026-10-25T00:00\+02:00 to 2026-10-26T00:00\+01:00/,
    ],
    ['day', '', /^3 steps, one per day in UTC, from 2026-10-24 to 2026-10-26/],
    ['day', '+05:45', /^2 steps, one per day in \+05:45, from 2026-10-25/],
  ]) {
    await drop(page, table);
    await page.select('#set-time', 't');
    await page.select('#set-bucket', bucket);
    await enter(page, '#set-time-zone', 'Berlin');
    assert.equal(await textOf(page, '#set-time-error'), zone);
    await enter(page, '#set-time-zone', name || 'UTC');
    assert.match(await textOf(page, '#set-time-hint'), hint);
    await changes(page, () => page.click('#clip-guide button'));
    await changes(page, () => enter(page, '#set-clipNorm', '100'));
    const key = await readKey(page, '#sums');
    assert.equal(key['true total'], 15);
    await openExport(page);
    const [program, command] = [
      await textOf(page, '#export-javascript'),
      await textOf(page, '#export-command'),
    ];
    await page.click('#export-table');
    const saved = await page.evaluate(() => window.saved.text());
    await page.keyboard.press('Escape');
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'dp-ftrl-zone-')), 'data.csv');
    await writeFile(file, saved);
    assert.deepEqual(runProgram(program.replace('data.csv', file)), [key.release], bucket);
    const words = command
      .trim()
      .split(/\s+/)
      .slice(1, -1)
      .map((word) => word.replaceAll("'", ''));
    assert.equal(words[words.indexOf('--time-zone') + 1] === 'Europe/Berlin', /berlin/i.test(name));
    for (const input of [saved, table]) {
      const args = ['dist/cli.js', ...words, '--quiet'];
      const printed = execFileSync(process.execPath, args, {
        cwd: root,
        encoding: 'utf8',
        input,
        stdio: 'pipe',
      });
      assert.equal(Number(printed.trim().split('\n').at(-1).split(',')[2]), key.release);
    }
  }
  await drop(page, 'year,x\n2019,1\n2019,2\n2021,4\n');
  await page.select('#set-time', 'year');
  assert.equal(await valueOf(page, '#set-bucket'), 'year', 'the shortest step that years fit');
  assert.match(
    await textOf(page, '#set-time-hint'),
    /^3 steps, one per year in UTC, from 2019 to 2021/,
  );
  await page.select('#set-bucket', 'day');
  assert.match(
    await textOf(page, '#set-time-error'),
    /row 1 .*, column “year”: is a year without a month/,
  );
  await drop(page, 't,x\n2026-03-01,1\n9999-12-31,1\n');
  await page.select('#set-time', 't');
  const far = /^row 2 .* is 2,912,383 days after row 1 .* 2,912,384 days: .*, or set from and to$/;
  assert.match(await textOf(page, '#set-time-error'), far);
  assert.deepEqual(said, []);
  await page.close();
});

test('persons: ids are texts, or numbers if the user says so, as in the command', async () => {
  const { page, said } = await open('steps=30');
  const table = 'x,member\n1,7\n1,7.0\n1,007\n1,e\u0301\n1,\u00e9\n';
  const numbers = 'x,member\n1,7\n1,7.0\n1,007\n1,+7\n1,8\n';
  await drop(page, table);
  const offered = () => page.$$eval('#set-ids option', (all) => all.map((one) => one.value));
  assert.deepEqual(await offered(), ['texts', 'numbers']);
  await page.select('#set-person', 'member');
  await enter(page, '#set-person-most', '1');
  assert.match(await textOf(page, '#set-person-hint'), /^4 persons; 4 of 5 rows count/);
  await page.select('#set-ids', 'numbers');
  assert.match(
    await textOf(page, '#set-person-error'),
    /row 4 \(line 5 of the text\), column “member”: is not a number: read ids as texts/,
  );
  await drop(page, numbers);
  await page.select('#set-person', 'member');
  await enter(page, '#set-person-most', '1');
  assert.match(await textOf(page, '#set-person-hint'), /^5 persons; 5 of 5 rows count/);
  await page.select('#set-ids', 'numbers');
  assert.match(await textOf(page, '#set-person-hint'), /^2 persons; 2 of 5 rows count/);
  await page.click('#clip-guide button');
  await page.waitForFunction(() => /user-ids=numbers/.test(location.hash));
  await settled(page);
  await openExport(page);
  const command = await textOf(page, '#export-command');
  assert.match(command, /--user-column member --max-contributions 1 --user-numbers/);
  const words = command.trim().split(/\s+/).slice(1, -1);
  const args = ['dist/cli.js', ...words, '--show-nonprivate', '--quiet'];
  const printed = execFileSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    input: numbers,
    stdio: 'pipe',
  });
  const key = await readKey(page, '#sums');
  assert.equal(key['true total'], 2);
  assert.equal(Number(printed.trim().split('\n').at(-1).split(',')[1]), key.release);
  assert.deepEqual(said, []);
  await page.close();
});

test('records that the page makes up have no persons: limits in an address are only a promise', async () => {
  const pattern = 'steps=30&participation=separated&participations=3&min-separation=2';
  for (const role of ['user-column=who', 'time-column=when']) {
    const { page } = await open(`${pattern}&${role}`);
    assert.match(await textOf(page, '#notice'), /synthetic records have no user and no time/);
    assert.match(
      await textOf(page, '#set-participation-hint'),
      /^You promise that a user has at most 3 records/,
    );
    assert.doesNotMatch(await page.evaluate(() => location.hash), /user-column|time-column/);
    assert.equal(await valueOf(page, '#set-participations'), '3');
    await page.close();
  }
});

test('the guided step fits 320 px, in both themes, and axe finds nothing wrong', async () => {
  for (const scheme of ['light', 'dark']) {
    const { page } = await open('steps=30', { width: 320, scheme });
    await drop(page, visits);
    assert.deepEqual(await complaints(page), []);
    await fits(page);
    await page.close();
  }
});
