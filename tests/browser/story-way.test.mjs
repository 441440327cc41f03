// SPDX-License-Identifier: Apache-2.0

// The way through the story: by touch, by links and the menu, after a reload, and in two tabs.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { becomes, openPage, root, startSite } from './support.mjs';

const { site, browser } = await startSite();
const phone = { width: 390, height: 844, calm: true, story: true };

const scenes = (page) =>
  page.$$eval('.scene', (all) => all.map((one) => one.id.replace('scene-', '')));
const ready = (page, id) =>
  becomes(page, (name) => document.getElementById(name).dataset.state === 'ready', `scene-${id}`);

test('a finger keeps every handle until it is lifted', async () => {
  const { page, said } = await openPage(browser, site.url, phone);
  for (const [id, handle, dx, dy] of [
    ['hero', '.marker', -12, 0],
    ['attacker', '.grip', 12, 0],
    ['tree', '.grip', -16, 0],
    ['floor', '.grip', 0, 6],
    ['yours', '.grip', -16, 0],
  ]) {
    await page.$eval(`#scene-${id}`, (one) => one.scrollIntoView());
    await ready(page, id);
    const element = await page.$(`#scene-${id} ${handle}`);
    const now = () => element.evaluate((one) => Number(one.ariaValueNow));
    await element.evaluate((one) => one.scrollIntoView({ block: 'center' }));
    const before = await page.evaluate(() => scrollY);
    const box = await element.boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const touch = await page.touchscreen.touchStart(x, y);
    const seen = new Set();
    for (let i = 1; i <= 10; ++i) {
      await touch.move(x + i * dx, y + i * dy);
      seen.add(await now());
    }
    await touch.end();
    assert.ok(seen.size >= 9, `${id}: ${[...seen]}`);
    assert.equal(await page.evaluate(() => scrollY), before, `${id}: the page does not scroll`);
  }
  assert.deepEqual(said, []);
  await page.close();
});

test('links land on their scene, though the scenes above load and grow', async () => {
  for (const [width, height] of [
    [1280, 720],
    [390, 844],
  ]) {
    const { page } = await openPage(browser, site.url, { ...phone, width, height });
    await ready(page, 'hero');
    for (const id of ['papers', 'floor', 'attacker', 'yours']) {
      await page.$eval(`a[href="#scene=${id}"]`, (link) => link.click());
      await ready(page, id);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      const { top, place } = await page.$eval(`#scene-${id}`, (one) => ({
        top: one.getBoundingClientRect().top,
        place: document.querySelector('.topbar').getBoundingClientRect().bottom,
      }));
      const isLast = await page.evaluate(
        () => scrollY + innerHeight >= document.documentElement.scrollHeight - 2,
      );
      assert.ok(isLast || Math.abs(top - place) <= 4, `${id} at ${width} px: ${top}, ${place}`);
      const focused = await page.evaluate(() => document.activeElement.id);
      assert.equal(focused, `scene-${id}-title`);
    }
    await page.close();
  }
});

test('a reload and the way back from the laboratory return to the place', async () => {
  const { page } = await openPage(browser, site.url, { ...phone, width: 1280, height: 720 });
  for (const id of ['attacker', 'naive', 'take_back', 'tree']) {
    await page.$eval(`#scene-${id}`, (one) => one.scrollIntoView());
    await ready(page, id);
  }
  await page.mouse.wheel({ deltaY: 120 });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const place = () =>
    page.$eval('#scene-tree', (one) => Math.round(one.getBoundingClientRect().top));
  const before = await place();
  await page.reload();
  await ready(page, 'tree');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.ok(Math.abs((await place()) - before) <= 4, `${await place()}, not ${before}`);
  await page.$eval('.topbar .to-lab', (one) => one.click());
  await becomes(page, () => document.documentElement.dataset.view === 'lab');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
  await page.goBack();
  await becomes(page, () => document.documentElement.dataset.view === 'story');
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.ok(Math.abs((await place()) - before) <= 4, `${await place()}, not ${before}`);
  await page.close();
});

test('an unknown scene is told, and the story begins', async () => {
  const { page } = await openPage(browser, `${site.url}#scene=nowhere`, phone);
  await ready(page, 'hero');
  const told = await page.$eval('#story > [role=status]', (one) => one.textContent);
  assert.equal(told, 'No scene is called “nowhere”. Here is the whole story.');
  await page.close();
});

test('the menu shows where the reader is, each scene leads to the next, and papers have sources', async () => {
  const { page } = await openPage(browser, site.url, { ...phone, width: 1280, height: 720 });
  await ready(page, 'hero');
  const ids = await scenes(page);
  assert.equal(ids.at(-1), 'papers');
  const next = await page.$$eval('.next', (all) => all.map((one) => one.hash.split('=')[1]));
  assert.deepEqual(next, ids.slice(1));
  await page.$eval('#scene-floor', (one) => one.scrollIntoView());
  await becomes(
    page,
    () => document.querySelector('.menu [aria-current]')?.hash === '#scene=floor',
  );
  const marked = () =>
    page.$$eval('.menu [aria-current]', (all) => all.map((one) => one.textContent));
  const title = await page.title();
  for (const link of ['.to-lab', '#to-queries']) {
    const name = await page.$eval(`.menu ${link}`, (one) => (one.click(), one.textContent));
    await becomes(page, (view) => document.documentElement.dataset.view !== view, 'story');
    await becomes(
      page,
      (text) => document.querySelector('.menu [aria-current]')?.textContent === text,
      name,
    );
    assert.deepEqual(await marked(), [name]);
    assert.equal(await page.title(), `${name} – ${title}`);
    await page.goBack();
    await becomes(page, () => document.documentElement.dataset.view === 'story');
    await becomes(
      page,
      () => document.querySelector('.menu [aria-current]')?.hash === '#scene=floor',
    );
  }
  const links = await page.$$eval('.margin-note a', (all) =>
    all.map(({ href, rel }) => [href, rel]),
  );
  assert.ok(links.length >= 12);
  for (const [href, rel] of links) {
    assert.match(href, /^https:\/\/(arxiv\.org\/abs|doi\.org|eprint\.iacr\.org)\//);
    assert.match(rel, /noreferrer/);
  }
  await page.close();
});

test('a search of the page, which begins with a key, finds the papers', async () => {
  const { page } = await openPage(browser, site.url, { ...phone, width: 1280, height: 720 });
  await ready(page, 'hero');
  const papers = () => page.$$eval('#scene-papers .papers li', (all) => all.length);
  assert.equal(await papers(), 0);
  await page.keyboard.down('Control');
  await ready(page, 'papers');
  await page.keyboard.up('Control');
  assert.ok((await papers()) >= 12);
  assert.equal(await page.evaluate(() => scrollY), 0);
  await page.close();
});

test('on a phone the menu scrolls to where the reader is, and nothing else moves', async () => {
  const { page } = await openPage(browser, site.url, phone);
  await ready(page, 'hero');
  const isSeen = (text) =>
    becomes(
      page,
      (wanted) => {
        const marked = document.querySelector('.menu [aria-current]');
        if (marked?.textContent !== wanted) return false;
        const [link, menu] = [marked, marked.parentElement].map((one) =>
          one.getBoundingClientRect(),
        );
        return link.left >= menu.left && link.right <= menu.right - 20;
      },
      text,
    );
  for (const [id, text] of [
    ['papers', 'Papers'],
    ['attacker', 'Attack it'],
  ]) {
    await page.$eval(`a[href="#scene=${id}"]`, (link) => link.click());
    await isSeen(text);
  }
  await page.$eval('.menu .to-lab', (one) => one.click());
  await becomes(page, () => document.documentElement.dataset.view === 'lab');
  await isSeen('Laboratory');
  assert.equal(await page.evaluate(() => scrollX), 0);
  await page.close();
});

test('the tab key leads from the first scene into the next', async () => {
  const { page } = await openPage(browser, site.url, { ...phone, width: 1280, height: 720 });
  await ready(page, 'hero');
  await page.focus('#scene-hero .tools button');
  await ready(page, 'attacker');
  await page.focus('#scene-hero .next');
  await page.keyboard.press('Tab');
  assert.equal(
    await page.evaluate(() => document.activeElement.closest('.scene')?.id),
    'scene-attacker',
  );
  await page.close();
});

test('a handle that is dragged has no focus ring, until a key moves it', async () => {
  const { page } = await openPage(browser, `${site.url}#scene=attacker`, {
    ...phone,
    width: 1280,
    height: 720,
  });
  await ready(page, 'attacker');
  const grip = await page.$('#scene-attacker .grip');
  const box = await grip.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 60, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
  const ring = () =>
    grip.evaluate((one) => [document.activeElement === one, getComputedStyle(one).outlineStyle]);
  assert.deepEqual(await ring(), [true, 'none']);
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await ring(), [true, 'solid']);
  await page.close();
});

test('two tabs have one theme', async () => {
  const [one, other] = [
    await openPage(browser, site.url, phone),
    await openPage(browser, site.url, phone),
  ];
  const theme = ({ page }) =>
    page.evaluate(() => document.documentElement.dataset.theme ?? 'system');
  const start = await theme(one);
  await one.page.$eval('#theme', (button) => button.click());
  const now = await theme(one);
  assert.notEqual(now, start);
  await becomes(
    other.page,
    (wanted) => (document.documentElement.dataset.theme ?? 'system') === wanted,
    now,
  );
  await one.page.evaluate(() => localStorage.clear());
  await one.page.close();
  await other.page.close();
});

test('a link to the page has a card, with a picture of 1,200 x 630 pixels', async () => {
  const page = await readFile(`${root}web/dist/index.html`, 'utf8');
  for (const property of ['og:title', 'og:description', 'twitter:card']) {
    assert.match(page, new RegExp(`<meta property="${property}" content="[^"]+">`));
  }
  const picture = await readFile(`${root}web/dist/card.png`);
  assert.equal(picture.toString('latin1', 1, 4), 'PNG');
  assert.deepEqual([picture.readUInt32BE(16), picture.readUInt32BE(20)], [1200, 630]);
});
