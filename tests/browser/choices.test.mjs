// SPDX-License-Identifier: Apache-2.0

// Choices and their consequences: failures are reported next to the control and leave the page
// consistent, notices say what happened, Back undoes, and nothing shifts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { some } from '../js/support/extent.mjs';
import {
  enter,
  holdSearches,
  openPage,
  readKey,
  reveal,
  settled,
  startSite,
  stepOf,
  textOf,
  unfold,
} from './support.mjs';

const { site, browser, open } = await startSite();

const hashOf = (page) => page.evaluate(() => location.hash);
const valueOf = (page, id) => page.$eval(`#set-${id}`, (control) => control.value);

/** True if the whole element is within the window. */
const isInSight = (page, selector) =>
  page.$eval(selector, (one) => {
    const { top, bottom, left, right } = one.getBoundingClientRect();
    return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
  });

for (const [width, height] of some(
  [
    [1440, 900],
    [390, 844],
  ],
  2,
)) {
  test(`a mechanism that cannot run is reported in view, and the controls are restored: ${width} px`, async () => {
    const { page, said } = await open('steps=100000&dimension=1&mechanism=tree', { width, height });
    const hint = await textOf(page, '#set-mechanism-hint');
    const before = await readKey(page, '#sums');
    const hash = await hashOf(page);
    await page.$eval('#set-mechanism', (select) => select.scrollIntoView({ block: 'center' }));
    await page.select('#set-mechanism', 'banded');
    await page.waitForSelector('#run-error:not([hidden])');
    await settled(page);
    assert.match(await textOf(page, '#run-error'), /\. The controls again show the current run\./);
    assert.ok(await isInSight(page, '#run-error'));
    assert.equal(await valueOf(page, 'mechanism'), 'tree');
    assert.equal(await textOf(page, '#set-mechanism-hint'), hint);
    assert.equal(await hashOf(page), hash);
    assert.deepEqual(await readKey(page, '#sums'), before);
    await page.click('#run-error button');
    assert.equal(await page.$eval('#run-error', (box) => box.hidden), true);
    await page.select('#set-mechanism', 'honaker');
    await page.waitForFunction(() => location.hash.includes('honaker'));
    assert.equal(await page.$eval('#set-mechanism-error', (error) => error.hidden), true);
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('a refused number stays in its field until another setting changes, and is never applied', async () => {
  const { page } = await open('steps=60&dimension=64');
  await enter(page, '#set-numSteps', '100000');
  await page.waitForSelector('#run-error:not([hidden])');
  assert.equal(await valueOf(page, 'numSteps'), '100000');
  await enter(page, '#set-epsilon', '2');
  await page.waitForFunction(() => location.hash.includes('epsilon=2'));
  await settled(page);
  assert.equal(await page.$eval('#run-error', (box) => box.hidden), true);
  assert.equal(await valueOf(page, 'numSteps'), '60');
  assert.equal(await stepOf(page), 60);
  await page.close();
});

test('of two settings that belong together, the first waits for the second', async () => {
  const { page } = await open('steps=60&mechanism=blt');
  await enter(page, '#set-a_decays', '0.9');
  await page.waitForFunction(() => !document.getElementById('set-a_weights-error').hidden);
  await enter(page, '#set-a_weights', '0.1');
  await page.waitForFunction(() => location.hash.includes('weights=0.1'));
  assert.match(await hashOf(page), /decays=0\.9/);
  await page.close();
});

test('for an address that cannot run, the notice says that the defaults are shown', async () => {
  const { page } = await open('steps=100000&dimension=64&mechanism=tree');
  assert.match(
    await textOf(page, '#notice'),
    /^Nothing can be run from this address; the defaults are shown/,
  );
  assert.doesNotMatch(await textOf(page, '#notice'), /the rest applies/);
  await page.close();
});

test('the notice of a cancelled search does not say that the address was not understood', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=200`, {
    calm: true,
    before: holdSearches,
  });
  await page.waitForSelector('#search:not([hidden])');
  await page.click('#search-cancel');
  await settled(page);
  const notice = await textOf(page, '#notice');
  assert.match(notice, /^The search was cancelled/);
  assert.doesNotMatch(notice, /understood/);
  await page.close();
});

test('a horizon beyond the end of the data is reported at its control', async () => {
  const { page } = await open('data=shop_day&column=count&label=-&steps=840');
  assert.doesNotMatch(await textOf(page, '#set-numSteps-hint'), /840/);
  await enter(page, '#set-numSteps', '5000');
  await page.waitForFunction(() => location.hash.includes('steps=5000'));
  await settled(page);
  assert.match(await textOf(page, '#set-numSteps-hint'), /ends after 840 rows.*5,000 steps/);
  await page.close();
});

test('hiding a control clears its error and its refused value', async () => {
  const { page } = await open('steps=60&mechanism=lambda-cgd');
  await enter(page, '#set-a_lambda', 'x');
  assert.equal(await page.$eval('#set-a_lambda-error', (error) => error.hidden), false);
  await page.select('#set-mechanism', 'tree');
  await page.waitForFunction(() => location.hash.includes('mechanism=tree'));
  await settled(page);
  await page.select('#set-mechanism', 'lambda-cgd');
  await page.waitForFunction(() => location.hash.includes('lambda-cgd'));
  assert.equal(await page.$eval('#set-a_lambda-error', (error) => error.hidden), true);
  assert.equal(await valueOf(page, 'a_lambda'), '');
  await page.close();
});

test('of the two lambdas, only the invalid one is marked', async () => {
  const { page } = await open('steps=60&mechanism=lambda-cgd');
  await enter(page, '#set-a_lambda', '2');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.controls .error')].some((error) => !error.hidden),
  );
  const marked = await page.$$eval('[aria-invalid=true]', (all) => all.map(({ id }) => id));
  assert.deepEqual(marked, ['set-a_lambda']);
  await page.close();
});

test('Back undoes what was chosen, and Forward does it again', async () => {
  const { page } = await open('steps=60');
  await page.select('#set-mechanism', 'tree');
  await page.waitForFunction(() => location.hash.includes('tree'));
  await enter(page, '#set-epsilon', '2');
  await page.waitForFunction(() => location.hash.includes('epsilon=2'));
  await settled(page);
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('set-epsilon').value === '1');
  await settled(page);
  assert.equal(await valueOf(page, 'mechanism'), 'tree');
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('set-mechanism').value === 'optimal');
  await settled(page);
  assert.equal(await stepOf(page), 60);
  await page.goForward();
  await page.waitForFunction(() => document.getElementById('set-mechanism').value === 'tree');
  await settled(page);
  assert.equal(await hashOf(page), '#mechanism=tree&steps=60');
  await page.close();
});

/** Adds up the layout shifts while the page loads. */
function watchShifts() {
  window.shift = 0;
  window.shifted = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      window.shift += value;
      const names = sources.map(({ node }) => node?.id || node?.className || node?.nodeName);
      window.shifted.push(`${value.toFixed(4)} ${names.join(' ')}`);
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

for (const [width, height] of some(
  [
    [1440, 900],
    [768, 1024],
    [390, 844],
  ],
  3,
)) {
  for (const hash of ['steps=300', 'steps=300&compare=independent&mechanism=tree']) {
    test(`nothing jumps while the page loads: ${width} px, #${hash}`, async () => {
      const options = { width, height, before: watchShifts };
      const { page } = await open(hash, options);
      await new Promise((resolve) => setTimeout(resolve, 500));
      const { shift, shifted } = await page.evaluate(() => ({
        shift: window.shift,
        shifted: window.shifted,
      }));
      assert.ok(shift <= 0.02, `layout shift ${shift}: ${shifted.join('; ')}`);
      await page.close();
    });
  }
}

test('during a long search the controls show the new settings, and the player is disabled', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=1000000&dimension=1&mechanism=blt`, {
    calm: true,
    before: holdSearches,
  });
  await page.waitForSelector('#search:not([hidden])');
  assert.equal(await valueOf(page, 'numSteps'), '1000000');
  assert.equal(await valueOf(page, 'mechanism'), 'blt');
  await unfold(page);
  assert.equal(await page.$eval('#set-a_buffers', (input) => input.checkVisibility()), true);
  assert.equal(await page.$eval('#set-a_bands', (input) => input.checkVisibility()), false);
  for (const id of ['play', 'step-once', 'finish', 'reset']) {
    assert.equal(await page.$eval(`#${id}`, (button) => button.disabled), true, id);
  }
  await page.close();
});

test('every click on Step is a step', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=100&speed=10`);
  await settled(page, 'playing');
  await page.click('#play');
  // A reset leaves no request of the player pending.
  await page.click('#reset');
  await settled(page, 'paused');
  const reaches = (step) =>
    page.waitForFunction(
      (wanted) => document.getElementById('progress').value === wanted,
      {},
      step,
    );
  await reaches(0);
  await page.$eval('#step-once', (button) => {
    for (let i = 0; i < 5; ++i) button.click();
  });
  await reaches(5);
  await page.close();
});

test('choosing a row of the ranking does not move it', async () => {
  const { page } = await open('steps=200');
  await reveal(page, 'ranking', 'tbody tr');
  const row = 'tr[data-mechanism=lambda-cgd] button';
  await page.$eval(row, (button) => button.scrollIntoView({ block: 'center' }));
  const topOf = () => page.$eval(row, (button) => button.getBoundingClientRect().top);
  const before = await topOf();
  await page.click(row);
  await page.waitForFunction(() => location.hash.includes('lambda-cgd'));
  await settled(page);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const moved = (await topOf()) - before;
  assert.ok(Math.abs(moved) <= 2, `the row moved by ${moved} px`);
  await page.close();
});

test('the items of the key stay in place while their numbers change', async () => {
  const { page } = await open('steps=200&compare=tree&data=shop_day&column=count&label=-');
  await page.focus('#sums .plot');
  const places = () =>
    page.$$eval('#sums .key li', (all) => all.map((one) => one.getBoundingClientRect().left));
  for (let i = 0; i < 60; ++i) await page.keyboard.press('ArrowLeft');
  const widest = await places();
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press('ArrowRight');
    assert.deepEqual(await places(), widest);
  }
  await page.close();
});

test('the page invites a drop while a file is dragged over it', async () => {
  const { page } = await open('steps=20');
  const isMarked = () =>
    page.evaluate(() => getComputedStyle(document.body, '::after').content.includes('Drop'));
  assert.equal(await isMarked(), false);
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['a\n1\n'], 'own.csv'));
    window.drag = (type) =>
      document.body.dispatchEvent(
        new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }),
      );
    window.drag('dragover');
  });
  assert.equal(await isMarked(), true);
  await page.evaluate(() => window.drag('dragleave'));
  assert.equal(await isMarked(), false);
  await page.close();
});
