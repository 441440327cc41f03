// SPDX-License-Identifier: Apache-2.0

// The user's own table: what is asked about it, or why it cannot be used, stands where the figures
// were, and only quantities are summed.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import {
  answer,
  drop,
  importSources,
  readKey,
  root,
  settled,
  startSite,
  stateOf,
  textOf,
} from './support.mjs';

const { open } = await startSite();
const { parseCsv, suggestQuantity } = await importSources('web/src/data', [
  "export { parseCsv } from './csv.ts';",
  "export { suggestQuantity } from './contributions.ts';",
]);

const isShown = (page, id) => page.$eval(`#${id}`, (one) => one.checkVisibility());

/** True if the whole element is in the window. */
const isInSight = (page, selector) =>
  page.$eval(selector, (one) => {
    const { top, bottom, height } = one.getBoundingClientRect();
    return height > 0 && top >= 0 && bottom <= innerHeight;
  });

/** State of the main settings, and the number of sections shown below the question. */
const ofHiddenFigures = (page) =>
  page.evaluate(() => ({
    inert: document.getElementById('pinned').inert,
    sections: [...document.querySelectorAll('.bench ~ section')].filter((one) =>
      one.checkVisibility(),
    ).length,
  }));

const visits = 'visits,bought\n2.5,1\n0,0\n-1,0\n4,1\n1,0\n';

for (const [width, height] of [
  [1280, 720],
  [390, 844],
]) {
  test(`a dropped file stops and blanks the figures, and asks one question there: ${width} px`, async () => {
    const { page, said } = await open('steps=5000&speed=10', { state: 'playing', width, height });
    await drop(page, 'my shop.csv', visits);
    assert.equal(await stateOf(page), 'paused');
    for (const id of ['sums', 'sum-errors', 'learning', 'answer', 'play', 'mini'])
      assert.equal(await isShown(page, id), false, id);
    assert.ok(await isInSight(page, '#question'));
    assert.deepEqual(await ofHiddenFigures(page), { inert: true, sections: 0 });
    const offers = await page.$$eval('#question li', (all) => all.map((one) => one.textContent));
    assert.equal(offers.length, 3);
    assert.equal(offers[0], 'Clip at 4no row is shortened');
    const effect = /^Clip at [\d.]+[\d.]+\s% of the rows are shortened, .* stays; noise × [\d.]+$/;
    for (const offer of offers.slice(1)) assert.match(offer, effect);
    await answer(page, 'Clip at 4');
    await settled(page, 'playing');
    await page.click('#finish');
    await settled(page);
    assert.match(await textOf(page, '#sums-name'), /^my shop\.csv: the running total$/);
    assert.equal((await readKey(page, '#sums'))['true total'], 6.5);
    assert.equal(await isShown(page, 'question'), false);
    const shown = await ofHiddenFigures(page);
    assert.equal(shown.inert, false);
    assert.ok(shown.sections > 2, `${shown.sections}`);
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('a preset is marked while its figures are shown, and not while a table asks', async () => {
  const { page } = await open('', { width: 1280, height: 720 });
  const numMarked = () => page.$$eval('.presets [aria-current]', (all) => all.length);
  await page.click('.presets a:nth-child(2)');
  await page.waitForSelector('.presets a:nth-child(2)[aria-current]');
  assert.equal(await numMarked(), 1);
  await drop(page, 'bad.csv', 'a,b\n1,2\n1,2,3\n');
  await page.waitForSelector('#question-reason:not([hidden])');
  assert.equal(await numMarked(), 0);
  await answer(page, 'Back to the figures');
  assert.equal(await numMarked(), 1);
  await page.close();
});

test('a table that cannot be used is refused where the figures were, and left for them', async () => {
  const { page } = await open('steps=40', { width: 1280, height: 720 });
  const before = await readKey(page, '#sums');
  await drop(page, 'bad.csv', 'a,b\n1,2\n1,2,3\n');
  assert.match(
    await textOf(page, '#question-reason'),
    /^Row 2 .* as many cells as the header, 2, got 3\.$/,
  );
  assert.ok(await isInSight(page, '#question-reason'));
  assert.equal(await isShown(page, 'sums'), false);
  await answer(page, 'Read it without this row');
  await page.waitForSelector('#question .ask');
  assert.equal(await page.$eval('#question-reason', (one) => one.hidden), true);
  await answer(page, 'Back to the figures');
  assert.equal(await isShown(page, 'question'), false);
  assert.deepEqual(await readKey(page, '#sums'), before);
  await page.close();
});

test('rows with persons and times are counted, if not their people', async () => {
  const { page } = await open('steps=40', { width: 1280, height: 720 });
  const text = await readFile(`${root}examples/site_visits.csv`, 'utf8');
  await drop(page, 'site_visits.csv', text);
  await answer(page, 'Count the rows');
  await page.waitForFunction(() => /^How much/.test(document.querySelector('.ask').textContent));
  const chosen = await page.$$eval('.columns input:checked', (all) =>
    all.map(({ value }) => value),
  );
  assert.deepEqual(chosen, ['rows']);
  assert.equal(await page.$eval('#set-time', (one) => one.value), 'time');
  assert.equal(await page.$eval('#set-person', (one) => one.value), 'visitor');
  await answer(page, 'Clip at ');
  await page.waitForFunction(() => location.hash.includes('data=own'));
  await settled(page);
  const numRows = text.trim().split('\n').length - 1;
  assert.equal((await readKey(page, '#sums'))['all rows'], numRows);
  await page.close();
});

test('ids, years, row numbers and coordinates are not summed by default', async () => {
  const rows = Array.from({ length: 30 }, (_, i) => [
    ...[`${(i * 7919) % 1000}`, i + 1, 1990 + (i % 7), (i * 37) % 101],
    ...[48 + i / 100, 11 + i / 100, `${i % 3}`, i % 5],
  ]);
  const names = ['userId', 'n', 'founded', 'ticket', 'lat', 'lon', 'zip', 'bought'];
  const csv = (which) =>
    [names, ...rows].map((row) => which.map((name) => row[names.indexOf(name)]).join()).join('\n');
  const noRoles = { person: '', time: '', missing: 'refuse', na: '' };
  const suggested = (which) => suggestQuantity(parseCsv(csv(which)), noRoles);
  assert.deepEqual(suggested(names), ['bought']);
  for (const name of names.slice(0, -1)) assert.deepEqual(suggested([name]), [], name);
  const { page } = await open('steps=40', { width: 1280, height: 720 });
  await drop(page, 'places.csv', csv(['userId', 'lat', 'lon']));
  assert.match(await textOf(page, '#question .ask'), /^No column is plainly a quantity/);
  assert.equal((await page.$$('.columns input:checked')).length, 0);
  await answer(page, 'Count the rows');
  await page.waitForFunction(() => /^How much/.test(document.querySelector('.ask').textContent));
  await answer(page, 'Clip at 1');
  await page.waitForFunction(() => location.hash.includes('data=own'));
  await settled(page);
  assert.equal((await readKey(page, '#sums'))['true total'], 30);
  await page.close();
});

test('after a reload the figures stay empty, and the file is asked for again', async () => {
  const { page, said } = await open('steps=40&epsilon=2', { width: 1280, height: 720 });
  await drop(page, 'visits.csv', visits);
  await answer(page, 'Clip at 4');
  await page.waitForFunction(() => location.hash.includes('data=own'));
  await settled(page);
  await page.reload();
  await page.waitForSelector('#question:not([hidden])');
  assert.match(await textOf(page, '#question-reason'), /forgot it: drop or choose it again\.$/);
  assert.equal(await isShown(page, 'sums'), false);
  assert.equal((await page.$$('#sums canvas')).length, 0, 'nothing runs instead');
  await drop(page, 'visits.csv', visits);
  await answer(page, 'Clip at 4');
  await settled(page);
  assert.equal((await readKey(page, '#sums'))['true total'], 6.5);
  assert.equal(await page.$eval('#set-epsilon', (one) => one.value), '2');
  assert.deepEqual(said, []);
  await page.close();
});
