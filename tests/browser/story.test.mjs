// SPDX-License-Identifier: Apache-2.0

// The story: which address opens what, and scenes whose handles show what the library computes.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openPage, serveSite, settled } from './support.mjs';

let site;
let browser;
before(async () => {
  [site, browser] = await Promise.all([serveSite(), launch()]);
});
after(async () => {
  await browser.close();
  site.close();
});

const viewOf = (page) => page.$eval('html', (root) => root.dataset.view);

/** Opens the story, and waits until a scene can be used. */
async function openStory(id, { address = `#scene=${id}`, ...options } = {}) {
  const opened = await openPage(browser, `${site.url}${address}`, {
    calm: true,
    story: true,
    ...options,
  });
  await opened.page.waitForSelector(`#scene-${id}[data-state=ready]`);
  return opened;
}

test('an address without settings is the story, and the laboratory does not start', async () => {
  const { page, said, asked } = await openStory('hero', { address: '' });
  assert.equal(await viewOf(page), 'story');
  assert.equal(await page.$eval('#player', (player) => player.dataset.state), 'loading');
  assert.ok(!asked.some((url) => /\/app-/.test(url)), 'its script is not fetched');
  await page.click('#to-lab');
  await settled(page);
  assert.equal(await viewOf(page), 'lab');
  assert.deepEqual(said, []);
  await page.close();
});

test('addresses of before open the laboratory, and the story does not start', async () => {
  const { page, said } = await openPage(browser, `${site.url}#steps=60&mechanism=tree`, {
    calm: true,
    story: true,
  });
  await settled(page);
  assert.equal(await viewOf(page), 'lab');
  assert.equal(await page.$('#scene-hero[data-state]'), null);
  await page.$$eval('a[href="#scene=hero"]', ([link]) => link.click());
  await page.waitForSelector('#scene-hero[data-state=ready]');
  assert.equal(await viewOf(page), 'story');
  await page.click('#to-lab');
  await page.waitForFunction(() => document.documentElement.dataset.view === 'lab');
  assert.match(await page.evaluate(() => location.hash), /mechanism=tree&steps=60|steps=60/);
  assert.deepEqual(said, []);
  await page.close();
});

test('a scene can be embedded alone', async () => {
  const { page } = await openStory('hero', { address: '?embed=hero' });
  assert.equal((await page.$$('.scene')).length, 1);
  assert.equal(await page.$eval('.masthead', (one) => one.checkVisibility()), false);
  await page.close();
});
