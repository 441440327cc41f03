// SPDX-License-Identifier: Apache-2.0

// Active people in the laboratory: the numbers of the package, the true counts, what is asked about
// a table of events, and that nothing about totals is shown beside them.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  answer,
  complaints,
  drop,
  enter,
  openExport,
  readTable,
  root,
  rowsByDay,
  runProgram,
  seedOf,
  startSite,
  textOf,
  unfold,
} from './support.mjs';

const { open } = await startSite();
const library = await load();
const events = await readFile(`${root}examples/app_events.csv`, 'utf8');
const preset = 'workload=active&data=app_events&user-column=user&time-column=time&steps=120';
const WINDOWS = { day: 1, week: 7, month: 30 };

/** People of each day of a table with the columns time and user. */
function daysOf(text) {
  const rows = rowsByDay(text);
  const first = rows[0].day;
  const days = Array.from({ length: rows.at(-1).day - first + 1 }, () => []);
  for (const { day, cells } of rows) days[day - first].push(cells[1]);
  return days;
}

/** People with an event in the `length` days up to day number `step`, by definition. */
const truthAt = (days, step, length) =>
  new Set(days.slice(Math.max(0, step - length), step).flat());

/** Rows of the table below the figure must be what the package releases with the same seed. */
async function agrees(page, days, options) {
  const { active, mu } = (() => {
    const windows = Object.entries(WINDOWS).filter(([, length]) => length <= days.length);
    const stream = library.active({
      ...{ windows: Object.fromEntries(windows), steps: days.length, delta: 1e-6, epsilon: 1 },
      ...options,
    });
    const readings = days.map((people) => stream.releaseBatch(people));
    const found = { active: readings.map((one) => one.active), mu: stream.certificate.mu };
    stream.dispose();
    return found;
  })();
  const rows = await readTable(page, 'active-numbers');
  const names = Object.keys(active[0]);
  const independent = Math.sqrt((names.length * days.length) / mu ** 2);
  assert.ok(rows.size >= Math.min(days.length, 30));
  for (const [step, row] of rows) {
    for (const name of names) {
      const { value, low, high, stddev } = active[step - 1][name];
      const shown = ['value', 'low', 'high', 'stddev'].map((part) => row[`${name}-${part}`]);
      assert.deepEqual(shown, [value, low, high, stddev], `${name} of day ${step}`);
      assert.equal(row[`${name}-truth`], truthAt(days, step, WINDOWS[name]).size);
      const wide = row[`${name}-independent-stddev`];
      assert.ok(Math.abs(wide / independent - 1) < 0.01, `${wide} for ${independent}`);
    }
  }
  if (names.length === 1) {
    // For windows of one day and replace-one neighbours, independent noise is best.
    const target = { epsilon: 1, delta: 1e-6, ...options, neighbours: 'replace-one' };
    const best = library.active({ windows: { day: 1 }, steps: days.length, ...target });
    const { stddev } = best.certificate.active.day;
    assert.ok(Math.abs(rows.get(1)['day-independent-stddev'] / stddev - 1) < 1e-3);
    best.dispose();
  }
  const columns = Object.keys(rows.values().next().value);
  assert.equal(columns.length, 9 * names.length);
  return { rows, last: active.at(-1) };
}

const isShown = (page, selector) =>
  page.$eval(selector, (one) => one.checkVisibility({ visibilityProperty: true }));

const drawn = (page) => page.waitForSelector('#active:not([aria-busy]) .key');

async function openPreset(more = '', options = {}) {
  const opened = await open(`${preset}${more}`, options);
  await drawn(opened.page);
  return opened;
}

const answers = (page) => page.$$eval('#question li', (all) => all.map((one) => one.textContent));

test('the preset shows the numbers of the package, the program and the command', async () => {
  const { page, said } = await openPreset('&epsilon=2');
  const days = daysOf(events);
  const { last } = await agrees(page, days, { epsilon: 2, insecureSeed: 1 });
  const values = Object.values(last).map(({ value }) => value);
  await openExport(page);
  assert.deepEqual(runProgram(await textOf(page, '#export-javascript')), values);
  const [program, ...flags] = (await textOf(page, '#export-command')).trim().split(' ');
  assert.equal(program, 'dp-ftrl');
  const printed = execFileSync(process.execPath, ['dist/cli.js', ...flags], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [heading, ...lines] = printed.trim().split('\n');
  const cells = lines.at(-1).split(',');
  assert.deepEqual(
    Object.keys(last).map((name) => Number(cells[heading.split(',').indexOf(name)])),
    values.map((value) => Math.max(0, value)),
  );
  assert.match(await textOf(page, '#active-note'), /each has 1\.604 times the noise/);
  await page.keyboard.press('Escape');
  await page.click('#draw-again');
  await page.waitForFunction(() => location.hash.includes('noise-seed=2'));
  await page.waitForFunction(
    (value) => document.querySelector('#active .key data').value !== String(value),
    {},
    values[0],
  );
  await agrees(page, days, { epsilon: 2, insecureSeed: 2 });
  assert.deepEqual(said, []);
  await page.close();
});

test('nothing about totals is shown, and what is comes back with them', async () => {
  const { page } = await openPreset();
  const ofTotals = [
    ...['#answer', '#sums', '#learning-figure', '#play', '#progress', '#factorization', '#errors'],
    ...['#deltas', '#ranking', '#statistics', '#certificate', '#sums-numbers', '#set-mechanism'],
    ...['#set-compare', '#set-numSteps', '#fold-mechanism', '#fold-budget'],
  ];
  const ofPeople = ['#active', '#active-numbers'];
  const common = ['#set-epsilon', '#deployed', '#draw-again', '#fold-data', '#fold-privacy'];
  await unfold(page);
  const hidden = ['#set-clipNorm', '#set-participation', '#target-worst', '#set-person-most'];
  for (const id of [...ofTotals, ...hidden]) assert.equal(await isShown(page, id), false, id);
  for (const id of [...ofPeople, ...common, '#set-person', '#set-time'])
    assert.equal(await isShown(page, id), true, id);
  await page.select('#set-workload', 'total');
  await page.waitForFunction(() => !location.hash.includes('workload=active'));
  await page.waitForSelector('#sums .key');
  for (const id of ofTotals.filter((one) => one !== '#learning-figure'))
    assert.equal(await isShown(page, id), true, id);
  for (const id of ofPeople) assert.equal(await isShown(page, id), false, id);
  await page.goBack();
  await page.waitForFunction(() => document.documentElement.dataset.counts === 'people');
  assert.equal(await isShown(page, '#active .plot'), true);
  await page.close();
});

test('a table of people and times is asked about once, and its people are counted', async () => {
  const { page, said } = await open('steps=40&neighbours=replace-one', {
    width: 1280,
    height: 720,
  });
  await drop(page, 'events.csv', events);
  const active = 'Count active peopleof each day, week and month';
  assert.deepEqual(await answers(page), [active, 'Count the rows']);
  await answer(page, 'Count active people');
  await drawn(page);
  assert.equal(await textOf(page, '#active-name'), 'events.csv: active people');
  const { hash } = await page.evaluate(() => location);
  assert.match(hash, /workload=active/);
  assert.doesNotMatch(hash, /seed|user|time|steps/);
  const own = { neighbours: 'replace-one', insecureSeed: await seedOf(page) };
  await agrees(page, daysOf(events), own);
  const counted = await textOf(page, '#set-person-hint');
  assert.match(
    counted,
    new RegExp(`^${new Set(daysOf(events).flat()).size.toLocaleString('en')} `),
  );
  // Another table, whose quantity is summed, replaces it.
  await drop(page, 'shop.csv', 'time,user,spent\n2026-01-01,u,1.5\n2026-01-02,u,2\n');
  assert.match((await answers(page))[0], /^Clip at 2/);
  await answer(page, 'Clip at 2');
  await page.waitForFunction(() => document.documentElement.dataset.counts === 'totals');
  await page.waitForFunction(() => !location.hash.includes('workload=active'));
  assert.deepEqual(said, []);
  await page.close();
});

test('only windows that fit the days are counted', async () => {
  const { page } = await open('steps=40');
  for (const [numDays, titles] of [
    [6, ['The last day']],
    [7, ['The last day', 'The last 7 days']],
  ]) {
    const rows = Array.from({ length: 4 * numDays }, (_, i) => {
      const day = String(1 + Math.floor(i / 4)).padStart(2, '0');
      return `2026-03-${day},user ${(i * i) % 7}`;
    });
    const text = `time,user\n${rows.join('\n')}\n`;
    await drop(page, `${numDays}.csv`, text);
    await answer(page, 'Count active people');
    await page.waitForFunction(
      (name) => document.getElementById('active-name').textContent.startsWith(name),
      {},
      `${numDays}.csv`,
    );
    await page.waitForFunction(
      (wanted) => document.querySelectorAll('#active h3').length === wanted,
      {},
      titles.length,
    );
    assert.deepEqual(
      await page.$$eval('#active h3', (all) => all.map((one) => one.textContent)),
      titles,
    );
    assert.equal((await textOf(page, '#active-note')).includes('budget'), titles.length > 1);
    await agrees(page, daysOf(text), { insecureSeed: await seedOf(page) });
  }
  await page.close();
});

test('what cannot be counted is said, and the figure stays', async () => {
  const { page } = await open('steps=40&workload=active&data=app_events&user-column=user');
  assert.match(
    await textOf(page, '#notice'),
    /active people need the columns of persons and of times: choose them under Data/,
  );
  await drop(page, 'months.csv', `time,user\n2026-01,a\n2026-01,b\n2026-02,a\n2026-02,b\n`);
  await answer(page, 'Count active people');
  assert.match(await textOf(page, '#set-time-error'), /by day, but “time” has no days$/);
  await page.goto('about:blank');
  await page.close();
  const { page: other } = await openPreset();
  await unfold(other);
  await other.select('#set-person', '');
  await other.waitForSelector('#run-error:not([hidden])');
  assert.match(await textOf(other, '#run-error'), /need the columns of persons and of times/);
  assert.equal(await other.$eval('#set-person', (one) => one.value), 'user');
  assert.equal(await isShown(other, '#active .plot'), true);
  await enter(other, '#set-from', '2019-01-01');
  await other.waitForSelector('#active .nothing');
  assert.match(await textOf(other, '#active'), /supports up to 1,500 days, and there are 2,677/);
  await other.close();
});

for (const [width, height, scheme] of [
  [1280, 720, 'dark'],
  [768, 1024, 'light'],
  [390, 844, 'dark'],
]) {
  test(`keys move one cursor over all charts, and all fit: ${width} px, ${scheme}`, async () => {
    const { page, said } = await openPreset('', { width, height, scheme });
    await page.focus('#active .panel:nth-child(2) .plot');
    for (const key of ['Home', 'ArrowRight']) await page.keyboard.press(key);
    const texts = await page.$$eval('#active .plot', (all) =>
      all.map((one) => one.getAttribute('aria-valuetext')),
    );
    const [, ...week] = texts[1].match(
      /^2026-01-02, The last 7 days: release (.*), interval .* to .*; independent noise .*, interval .* to .*; secret: without noise (\d+)$/,
    );
    assert.equal(texts.length, 3);
    for (const text of texts) assert.match(text, /^2026-01-02, The last /);
    assert.equal(week[1], String(truthAt(daysOf(events), 2, 7).size));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    const sizes = await page.$$eval('#active .plot', (all) =>
      all.map((one) => one.getBoundingClientRect().height),
    );
    for (const size of sizes) assert.ok(size >= 120, `${size} px`);
    assert.deepEqual(await complaints(page), []);
    assert.deepEqual(said, []);
    await page.close();
  });
}
