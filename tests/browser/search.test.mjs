// SPDX-License-Identifier: Apache-2.0

// The search for the optimum on the page: its result, its progress bar, and cancelling it.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  enter,
  holdSearches,
  openPage,
  readKey,
  reveal,
  screenshots,
  settled,
  startSite,
  textOf,
} from './support.mjs';

const { site, browser } = await startSite();
const library = await load();

/** Waits until the certificate is checked, and reads it: row -> text. */
async function certificateOf(page) {
  await page.$eval('#certificate', (table) => table.scrollIntoView());
  await page.waitForFunction(
    () => !document.querySelector('#certificate').textContent.includes('…'),
  );
  return Object.fromEntries(
    await page.$$eval('#certificate tbody tr', (rows) =>
      rows.map((row) => [
        row.querySelector('th').firstChild.textContent,
        row.querySelector('td').textContent,
      ]),
    ),
  );
}

test('the optimum is the default, and its proven gap is shown', async () => {
  const { page, said } = await openPage(browser, `${site.url}#steps=500`, { calm: true });
  await settled(page);
  assert.equal(await page.$eval('#set-mechanism', (select) => select.value), 'optimal');
  const saved = library.optimize({ steps: 500 }).result();
  const { Gap, ...rows } = await certificateOf(page);
  const gap = saved.ratio - 1;
  assert.ok(gap > 0 && gap < 1e-3);
  const [, percent] = /^([\d.]+) %, greatest error$/.exec(Gap);
  assert.ok(Math.abs(percent / (100 * gap) - 1) < 0.05, `${Gap}, not ${gap}`);
  assert.match(rows['Lower bound'], /\([\d.]+\)$/);
  const { stddev } = library.study
    .simulation({ strategy: saved, steps: 500, epsilon: 1, delta: 1e-6 })
    .advance(500);
  assert.equal((await readKey(page, '#sums'))['2σ band'], 2 * stddev[499]);
  await reveal(page, 'errors', '.key');
  assert.equal((await readKey(page, '#errors')).max, saved.error);
  assert.equal(await page.$eval('#search', (box) => box.hidden), true);
  assert.deepEqual(said, []);
  await page.close();
});

for (const [scheme, width, height] of [
  ['light', 1440, 900],
  ['dark', 360, 740],
]) {
  test(`a long search shows a progress bar, and the keyboard cancels it: ${scheme}, ${width} px`, async () => {
    const options = { scheme, width, height, calm: true };
    const { page, said } = await openPage(browser, `${site.url}#steps=200&mechanism=tree`, options);
    await settled(page);
    await page.evaluate(holdSearches);
    const before = await readKey(page, '#sums');
    await page.select('#set-mechanism', 'optimal');
    await page.waitForSelector('#search:not([hidden])');
    assert.match(await textOf(page, '#search-text'), /^Searching for optimal, 200 steps…$/);
    const bar = await page.$eval('#search-progress', (one) => [
      one.getAttribute('aria-labelledby'),
      one.hasAttribute('value'),
    ]);
    assert.deepEqual(bar, ['search-text', false]);
    await page.$eval('#search', (box) => box.scrollIntoView({ block: 'center' }));
    await page.screenshot({ path: path.join(screenshots, `search-${scheme}-${width}.png`) });
    const fits = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    assert.ok(fits, 'nothing sticks out');
    await page.focus('#search-cancel');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#search[hidden]');
    await settled(page);
    assert.equal(await page.$eval('#set-mechanism', (select) => select.value), 'tree');
    assert.match(await page.evaluate(() => location.hash), /mechanism=tree/);
    assert.deepEqual(await readKey(page, '#sums'), before, 'the run before stays');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'play');
    await page.evaluate(() => window.release());
    await page.select('#set-mechanism', 'optimal');
    await page.waitForFunction(() => !location.hash.includes('mechanism='));
    await settled(page);
    assert.notDeepEqual(await readKey(page, '#sums'), before);
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('choosing another mechanism abandons the search', async () => {
  const { page, said } = await openPage(browser, `${site.url}#steps=200&mechanism=tree`, {
    calm: true,
  });
  await settled(page);
  await page.evaluate(holdSearches);
  await page.select('#set-mechanism', 'optimal');
  await page.waitForSelector('#search:not([hidden])');
  await page.select('#set-mechanism', 'honaker');
  await page.waitForFunction(() => location.hash.includes('mechanism=honaker'));
  await settled(page);
  assert.equal(await page.$eval('#search', (box) => box.hidden), true);
  assert.equal(await textOf(page, '#run-error'), '');
  assert.deepEqual(said, []);
  await page.close();
});

test('cancelling a search restores the number of steps, even while its field has the focus', async () => {
  const { page, said } = await openPage(browser, `${site.url}#steps=200`, { calm: true });
  await settled(page);
  await page.evaluate(holdSearches);
  await enter(page, '#set-numSteps', '900000');
  await page.waitForSelector('#search:not([hidden])');
  await page.focus('#set-numSteps');
  await page.$eval('#search-cancel', (button) => button.click());
  await page.waitForSelector('#search[hidden]');
  await settled(page);
  assert.equal(await page.$eval('#set-numSteps', (input) => input.value), '200');
  assert.equal(await page.$eval('#set-numSteps', (input) => input.ariaInvalid), null);
  assert.match(await page.evaluate(() => location.hash), /steps=200/);
  assert.deepEqual(said, []);
  await page.close();
});

test('cancelling the first search of a page shows a mechanism that needs no search', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=200`, {
    calm: true,
    before: holdSearches,
  });
  await page.waitForSelector('#search:not([hidden])');
  await page.focus('#search-cancel');
  await page.keyboard.press('Escape');
  await settled(page);
  assert.equal(await page.$eval('#set-mechanism', (select) => select.value), 'square-root');
  assert.match(
    await textOf(page, '#notice'),
    /The search was cancelled; the square root, which needs none/,
  );
  await page.close();
});

test('the progress of a search moves forward, and the search is not repeated', async () => {
  const { page, said } = await openPage(browser, `${site.url}#steps=200&mechanism=tree`, {
    calm: true,
  });
  await settled(page);
  await page.evaluate(() => {
    window.seen = [];
    window.searches = 0;
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...rest) {
      if (message?.argument?.name === 'optimize') window.searches += 1;
      return post.call(this, message, ...rest);
    };
    new MutationObserver(() => {
      const { value } = document.getElementById('search-progress');
      window.seen.push(value);
    }).observe(document.getElementById('search-progress'), { attributes: true });
  });
  await enter(page, '#set-numSteps', '30000');
  await settled(page);
  await page.select('#set-mechanism', 'optimal');
  await page.waitForFunction(() => !location.hash.includes('mechanism='));
  await settled(page);
  const seen = (await page.evaluate(() => window.seen)).filter((value) => value > 0);
  assert.ok(seen.length >= 3, `${seen}`);
  assert.deepEqual(
    seen,
    [...seen].sort((a, b) => a - b),
  );
  await enter(page, '#set-epsilon', '2');
  await page.waitForFunction(() => location.hash.includes('epsilon=2'));
  await settled(page);
  assert.equal(await page.evaluate(() => window.searches), 1);
  assert.deepEqual(said, []);
  await page.close();
});
