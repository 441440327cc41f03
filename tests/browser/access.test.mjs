// SPDX-License-Identifier: Apache-2.0

// Keyboard, screen readers, contrast, narrow and wide windows; screenshots go to
// build/screenshots/.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { some } from '../js/support/extent.mjs';
import {
  complaints,
  openPage,
  readKey,
  revealAll,
  screenshots,
  settled,
  startSite,
  stateOf,
  stepOf,
} from './support.mjs';

const { site, browser } = await startSite();

for (const [scheme, width] of some(
  [
    ['light', 1440],
    ['dark', 1280],
    ['light', 768],
    ['light', 390],
    ['dark', 390],
    ['dark', 1440],
    ['dark', 768],
    ['light', 1280],
  ],
  4,
)) {
  test(`axe finds nothing: ${scheme}, ${width} px, two mechanisms, open tables, errors, own data`, async () => {
    const wrong = 'epsilon=none&foo=1&b-bands=none';
    const url = `${site.url}#compare=banded-square-root&learning=regret&steps=200&${wrong}`;
    const { page } = await openPage(browser, url, { scheme, width, calm: true });
    await settled(page);
    await revealAll(page);
    await page.$$eval('details', (all) => all.forEach((details) => (details.open = true)));
    assert.deepEqual(await complaints(page), []);
    await page.select('#set-source', 'own');
    await page.click('#csv-use');
    await page.waitForFunction(() => !document.getElementById('set-source-error').hidden);
    assert.deepEqual(await complaints(page), []);
    await page.select('#set-source', 'pendulum');
    await page.waitForFunction(() => location.hash.includes('pendulum'));
    await settled(page);
    assert.deepEqual(await complaints(page), []);
    await page.close();
  });
}

test('space plays and pauses, except in a control', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=100000&speed=10`);
  await settled(page, 'playing');
  await page.keyboard.press('Space');
  assert.equal(await stateOf(page), 'paused');
  assert.equal(await page.evaluate(() => scrollY), 0, 'the page does not scroll');
  await page.keyboard.press('Space');
  assert.equal(await stateOf(page), 'playing');
  await page.focus('#set-epsilon');
  await page.keyboard.press('Space');
  assert.equal(await stateOf(page), 'playing', 'a space in a text is a space');
  await page.focus('#sums .plot');
  await page.keyboard.press('Space');
  assert.equal(await stateOf(page), 'paused', 'a chart is not a control');
  await page.close();
});

test('everything can be reached with the tab key, and the focus can be seen', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=50`, { calm: true });
  await settled(page);
  await revealAll(page);
  // Chromium 150 continues from the element last scrolled to; a click on an empty place resets
  // this.
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.mouse.click(5, 5);
  const reached = new Set();
  for (let i = 0; i < 150; ++i) {
    await page.keyboard.press('Tab');
    const found = await page.evaluate(() => {
      const active = document.activeElement;
      if (active === document.body) return null;
      const style = getComputedStyle(active);
      const box = active.closest('.file') ?? active;
      const seen = style.outlineStyle !== 'none' || getComputedStyle(box).outlineStyle !== 'none';
      const name = active.id || active.getAttribute('aria-label') || active.textContent;
      return { name, seen };
    });
    if (found === null) break;
    assert.ok(found.seen, `focus on ${found.name} is visible`);
    reached.add(found.name);
  }
  const all = await page.$$eval('button, select, input, summary, [tabindex="0"]', (elements) =>
    elements
      .filter((one) => !one.disabled && one.checkVisibility())
      .map((one) => one.id || one.getAttribute('aria-label') || one.textContent),
  );
  assert.deepEqual(
    all.filter((name) => !reached.has(name)),
    [],
  );
  await page.close();
});

test('arrow keys move a cursor over both figures, and the slider announces its values', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=100`, { calm: true });
  await settled(page);
  await page.focus('#sums .plot');
  const slider = () =>
    page.$eval('#sums .plot', (plot) => [
      plot.getAttribute('role'),
      plot.getAttribute('aria-valuenow'),
      plot.getAttribute('aria-valuetext'),
    ]);
  assert.match(
    await page.$eval('#sums .plot', (plot) => plot.getAttribute('aria-label')),
    /Running total, optimal/,
  );
  assert.deepEqual((await slider()).slice(0, 2), ['slider', '100']);
  for (const [key, step] of [
    ['ArrowLeft', 99],
    ['ArrowLeft', 98],
    ['PageDown', 93],
    ['Home', 1],
    ['ArrowLeft', 1],
    ['ArrowRight', 2],
    ['End', 100],
  ]) {
    await page.keyboard.press(key);
    const [, now, text] = await slider();
    assert.equal(Number(now), step, key);
    assert.match(
      text,
      new RegExp(`^step ${step}: release .*, plus or minus .*; secret: true total `),
    );
  }
  await page.keyboard.press('Home');
  const first = await readKey(page, '#sums');
  const [learningStep] = await page.$$eval('#learning .key-at', (all) =>
    all.map((one) => one.textContent),
  );
  assert.equal(learningStep, 'step 1', 'the other figure follows');
  await page.keyboard.press('Escape');
  assert.notEqual((await readKey(page, '#sums')).release, first.release);
  assert.equal((await slider())[1], '100');
  await page.close();
});

test('the pointer moves the same cursor', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=100`, { calm: true });
  await settled(page);
  const box = await page.$eval('#sums .u-over', (over) => {
    const { x, y, width, height } = over.getBoundingClientRect();
    return { x, y, width, height };
  });
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForFunction(
    () => document.querySelector('#sums .key-at').textContent === 'step 50',
  );
  assert.equal(await page.$eval('#learning .key-at', (at) => at.textContent), 'step 50');
  await page.mouse.move(5, 5);
  await page.waitForFunction(
    () => document.querySelector('#sums .key-at').textContent === 'step 100',
  );
  await page.close();
});

test('the summary is a polite status message, and changes only a few times in a run', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=800&speed=2000`, {
    before: () => {
      window.spoken = [];
      document.addEventListener('DOMContentLoaded', () => {
        const summary = document.getElementById('summary');
        new MutationObserver(() => window.spoken.push(summary.textContent)).observe(summary, {
          childList: true,
          characterData: true,
          subtree: true,
        });
      });
    },
  });
  await settled(page);
  assert.equal(await stepOf(page), 800);
  const spoken = await page.evaluate(() => window.spoken);
  assert.ok(spoken.length >= 1 && spoken.length <= 8, `${spoken.length} messages`);
  assert.match(spoken.at(-1), /^After 800 steps: release .* ± .*, true total .*\.$/);
  assert.equal(await page.$eval('#summary', (one) => one.getAttribute('role')), 'status');
  await page.close();
});

test('the theme button goes through system, light and dark, and is remembered', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=20`, { calm: true, scheme: 'dark' });
  await settled(page);
  const background = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await background();
  await page.click('#theme');
  const light = await background();
  assert.notEqual(light, dark);
  await page.reload();
  await settled(page);
  assert.equal(await background(), light);
  await page.click('#theme');
  assert.equal(await background(), dark);
  await page.evaluate(() => localStorage.clear());
  await page.close();
});

const pictures = [
  { name: 'first', hash: 'lab', full: false },
  { name: 'whole', hash: 'compare=tree&learning=regret', full: true },
];
for (const [width, height] of some(
  [
    [360, 740],
    [768, 1024],
    [1440, 900],
  ],
  3,
)) {
  for (const scheme of some(['light', 'dark'], 2)) {
    test(`nothing is cut at ${width} px, ${scheme}`, async () => {
      const { page } = await openPage(browser, site.url, { width, height, scheme, calm: true });
      for (const { name, hash, full } of pictures) {
        await page.evaluate((text) => (location.hash = text), hash);
        await page.waitForSelector(full ? '#sums .panel[data-mechanism$=tree]' : '#sums .panel');
        await settled(page);
        if (full) {
          await revealAll(page);
          await page.evaluate(() => window.scrollTo(0, 0));
        }
        await page.screenshot({
          path: `${screenshots}${name}-${width}-${scheme}.png`,
          fullPage: full,
        });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `the page is ${wide} px wide`);
        const cut = await page.$$eval(
          'button, select, label, .key li, h1, h2, th, .hint, .error, math',
          (all) =>
            all
              .filter((one) => one.checkVisibility() && !one.closest('.scroll'))
              .filter(
                (one) =>
                  one.scrollWidth > one.clientWidth + 1 &&
                  getComputedStyle(one).display !== 'inline',
              )
              .map((one) => one.outerHTML.slice(0, 80)),
        );
        assert.deepEqual(cut, []);
      }
      await page.close();
    });
  }
}

test('the first figure is whole on the first screen, the second begins there', async () => {
  const { page } = await openPage(browser, site.url, { calm: true });
  await settled(page);
  const [first, second] = await page.$$eval('figure', (all) =>
    all.map((one) => one.getBoundingClientRect().toJSON()),
  );
  assert.ok(first.bottom < 900 && second.top < 800, `${first.bottom}, ${second.top}`);
  await page.close();
});

test('on a phone the chart begins high on the first screen, even with a wide font', async () => {
  const { page } = await openPage(browser, site.url, { width: 360, height: 740, calm: true });
  await settled(page);
  const top = () => page.$eval('#sums .plot', (plot) => plot.getBoundingClientRect().top);
  const own = await top();
  // A bare Debian has only this font, which is wide.
  await page.evaluate(() => {
    const { style } = document.documentElement;
    for (const font of ['--sans', '--serif']) style.setProperty(font, "'DejaVu Sans'");
  });
  const wide = await top();
  assert.ok(
    Math.max(own, wide) < 510,
    `the chart starts at ${own} px, with a wide font at ${wide}`,
  );
  await page.close();
});
