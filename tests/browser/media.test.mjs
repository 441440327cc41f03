// SPDX-License-Identifier: Apache-2.0

// Forced colours and printing: every scene stays legible.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { onlyInAll, some } from '../js/support/extent.mjs';
import { complaints, openPage, settled, startSite } from './support.mjs';

const { site, browser } = await startSite();

/**
 * The whole story, with every scene rendered and all learning done; shared by the tests of forced
 * colours and print.
 */
let whole;
before(async () => {
  whole = await openPage(browser, site.url, { story: true, calm: true });
  const { page } = whole;
  await page.waitForSelector('#scene-hero[data-state=ready]');
  for (const id of await page.$$eval('.scene', (all) => all.map((one) => one.id))) {
    await page.$eval(`#${id}`, (one) => one.scrollIntoView());
    await page.waitForSelector(`#${id}[data-state=ready]`);
  }
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[data-work]')].every((one) => one.dataset.work === 'done'),
  );
  await page.evaluate(addContrast);
});

/** By keyboard, because scenes that mount below the window move the button away from a pointer. */
async function pressPrint(page) {
  await page.focus('#print');
  await page.keyboard.press('Enter');
}

/** Adds functions that compare colours of the page; runs in the page. */
function addContrast() {
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map((text) => channel(Number(text) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  window.contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  /** Visible elements of a selection with too little contrast to the background. */
  window.faint = (selector, properties, ground, least) =>
    [...document.querySelectorAll(selector)]
      .filter((one) => one.checkVisibility({ visibilityProperty: true }))
      .flatMap((one) => {
        const style = getComputedStyle(one);
        const drawn = properties.map((name) => style[name]).filter((value) => /^rgb\(/.test(value));
        const best = Math.max(0, ...drawn.map((value) => window.contrast(value, ground)));
        return best < least ? [`${one.outerHTML.slice(0, 90)}: ${best.toFixed(2)}`] : [];
      });
}

/** Emulates a colour scheme, with or without forced colours, and waits for the page to apply it. */
async function emulate(page, scheme, forced) {
  const session = await page.createCDPSession();
  const features = [
    { name: 'forced-colors', value: forced ? 'active' : 'none' },
    { name: 'prefers-color-scheme', value: scheme },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ];
  await session.send('Emulation.setEmulatedMedia', { features });
  await page.waitForFunction(
    (dark, active) =>
      matchMedia('(forced-colors: active)').matches === active &&
      matchMedia('(prefers-color-scheme: dark)').matches === dark,
    {},
    scheme === 'dark',
    forced,
  );
  return session;
}

async function chooseTheme(page, theme) {
  const button = await page.$('#theme');
  for (let i = 0; i < 3; ++i) {
    if ((await button.evaluate((one) => one.textContent)) === `Theme: ${theme}`) break;
    await button.click();
  }
  assert.equal(await page.$eval('html', (root) => root.dataset.theme), theme);
}

for (const [scheme, theme] of [
  ['dark', 'light'],
  ['light', 'dark'],
]) {
  test(
    `forced colours: texts, lines and marks of every scene have enough contrast: ${scheme}`,
    onlyInAll,
    async () => {
      const { page, said } = whole;
      // The selected theme must not conflict with forced colours.
      await chooseTheme(page, theme);
      const session = await emulate(page, scheme, true);
      await page.waitForFunction(() => document.documentElement.dataset.theme === undefined);
      const found = await page.evaluate(() => {
        const ground = getComputedStyle(document.body).backgroundColor;
        const probe = document.createElement('p');
        probe.style.color = 'CanvasText';
        document.body.append(probe);
        const isForced = window.contrast(getComputedStyle(probe).color, ground);
        probe.remove();
        const drawn = '.plane :is(path, line, circle, rect)';
        const pale =
          ':not(.grid, .band, .veil, .ghost, .link, .right, .area, .funnel, .tree-row, .reach)';
        const areas = ':not([class*=band], [class*=spread], [d=""], [class*=floor-area])';
        return {
          isForced,
          texts: window.faint('#story svg text', ['fill'], ground, 4.5),
          words: window.faint(
            '#story :is(h1, h2, p, li, dt, dd, th, td, label, button)',
            ['color'],
            ground,
            4.5,
          ),
          lines: window.faint(drawn + pale + areas, ['stroke', 'fill'], ground, 1.8),
          swatches: window.faint('#story .swatch', ['borderTopColor'], ground, 2.5),
          legend: [...document.querySelectorAll('.bars-legend li')].map((one) => {
            const { backgroundColor, borderTopColor } = getComputedStyle(one, '::before');
            return Math.max(
              ...[backgroundColor, borderTopColor]
                .filter((value) => /^rgb\(/.test(value))
                .map((value) => window.contrast(value, ground)),
            );
          }),
        };
      });
      const { isForced, legend, ...faint } = found;
      assert.ok(isForced > 15, `colours are forced: ${isForced}`);
      for (const [what, names] of Object.entries(faint)) {
        const checked = names.filter((one) => !/^<(button|label)/.test(one));
        assert.deepEqual(checked, [], what);
      }
      assert.ok(
        legend.every((ratio) => ratio > 2.5),
        `${legend}`,
      );
      // A swatch has the colour of its line; otherwise tables could not identify lines.
      const pairs = await page.$$eval('#scene-tree .swatch, #scene-yours .swatch', (all) =>
        all.flatMap((one) => {
          const kind = [...one.classList].find((name) => name.startsWith('of-'));
          const line = one.closest('.scene').querySelector(`.plane .line.${kind}`);
          return line === null
            ? []
            : [[getComputedStyle(one).borderTopColor, getComputedStyle(line).stroke]];
        }),
      );
      assert.ok(pairs.length >= 8);
      for (const [swatch, line] of pairs) assert.equal(swatch, line);
      assert.deepEqual(await complaints(page), []);
      assert.deepEqual(said, []);
      await session.detach();
    },
  );
}

test('paper: the story prints dark on white in any theme, without interactive controls', async () => {
  const { page, said } = whole;
  await page.setViewport({ width: 1000, height: 900 });
  const session = await emulate(page, 'dark', false);
  await chooseTheme(page, 'dark');
  const pdf = Buffer.from(await page.pdf({ format: 'A4' })).toString('latin1');
  const numPages = pdf.match(/\/Type\s*\/Page\b/g).length;
  assert.ok(numPages >= 5 && numPages <= 30, `${numPages} pages`);
  await page.emulateMediaType('print');
  await page.setViewport({ width: 794, height: 1123 }); // A4 at 96 pixels an inch
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  const white = 'rgb(255, 255, 255)';
  const faint = await page.evaluate(
    (ground) => ({
      words: window.faint('#story :is(h1, h2, p, li, dt, dd, th, td)', ['color'], ground, 4.5),
      texts: window.faint('#story svg text', ['fill'], ground, 3),
    }),
    white,
  );
  assert.deepEqual(faint, { words: [], texts: [] });
  const left = await page.$$eval('#story :is(button, input[type=range], .game, .pad)', (all) =>
    all.filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 80)),
  );
  assert.deepEqual(left, []);
  const planes = await page.$$eval('#story .plane', (all) =>
    all
      .filter((one) => one.checkVisibility())
      .map((one) => {
        const { left: from, right, height } = one.getBoundingClientRect();
        return from >= 0 && right <= innerWidth && height > 100;
      }),
  );
  assert.ok(planes.length >= 12 && planes.every(Boolean), `${planes}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 794, `${wide} px`);
  assert.deepEqual(said, []);
  await page.evaluate(() => localStorage.clear());
  await session.detach();
});

test('print: scenes that were not reached are made before the page prints', onlyInAll, async () => {
  const { page, said } = await openPage(browser, site.url, { story: true, calm: true });
  await page.waitForSelector('#scene-hero[data-state=ready]');
  assert.equal(await page.$eval('#scene-yours', (one) => one.dataset.state), 'waiting');
  await page.evaluate(() => {
    window.printed = 0;
    window.print = () => (window.printed += 1);
  });
  await page.keyboard.down('Control');
  await page.keyboard.press('p');
  await page.keyboard.up('Control');
  await page.waitForFunction(() =>
    /^Preparing (one scene|\d+ scenes)…$/.test(document.querySelector('#print-note').textContent),
  );
  assert.equal(await page.evaluate(() => window.printed), 0);
  await page.waitForFunction(() => window.printed === 1);
  assert.equal(await page.$eval('#print-note', (one) => one.textContent), '');
  const scenes = await page.$$eval('.scene', (all) =>
    all.map(({ id, dataset }) => [id, dataset.state]),
  );
  assert.equal(scenes.length, 10);
  for (const [id, state] of scenes) assert.equal(state, 'ready', id);
  await page.emulateMediaType('print');
  // Every figure is drawn, including the curve that a guess would reveal, and nothing is missing.
  const shown = await page.evaluate(() => ({
    curve: getComputedStyle(document.querySelector('.u-curve')).visibility,
    lacking: [...document.querySelectorAll('.scene')].filter(
      (one) => getComputedStyle(one, '::after').content !== 'none',
    ).length,
    empty: [...document.querySelectorAll('.plane')]
      .filter((one) => !one.querySelector('path[d^=M], rect[height]'))
      .map((one) => one.getAttribute('aria-label')),
    accuracies: [...document.querySelectorAll('#scene-handwriting .results data')].length,
    rounds: document.querySelector('.crowd-accuracy').textContent,
  }));
  assert.equal(shown.curve, 'visible');
  assert.equal(shown.lacking, 0);
  assert.deepEqual(shown.empty, []);
  assert.equal(shown.accuracies, 3);
  assert.match(shown.rounds, /After round 100 /);
  // Everything is ready, so both the browser and the button print immediately.
  await page.emulateMediaType('screen');
  await pressPrint(page);
  await page.waitForFunction(() => window.printed === 2);
  assert.deepEqual(said, []);
  await page.close();
});

test('print: learning that failed does not delay printing, and the page says that it failed', async () => {
  const { page } = await openPage(browser, site.url, {
    story: true,
    calm: true,
    before: () => {
      window.printed = 0;
      window.print = () => (window.printed += 1);
      const post = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function (message, ...rest) {
        if (['totals', 'learner'].includes(message?.argument?.kind)) throw new Error('no room');
        post.call(this, message, ...rest);
      };
    },
  });
  await page.waitForSelector('#scene-hero[data-state=ready]');
  await pressPrint(page);
  await page.waitForFunction(() => window.printed === 1);
  for (const [id, where] of [
    ['handwriting', '.wish'],
    ['crowd', '.promise'],
  ]) {
    assert.match(
      await page.$eval(`#scene-${id} ${where}`, (one) => one.textContent),
      /^Learning failed: .*no room/,
    );
    const bar = await page.$eval(
      `#scene-${id} progress`,
      (one) => getComputedStyle(one).visibility,
    );
    assert.equal(bar, 'hidden', id);
  }
  // Nothing is pending: the next print has nothing to prepare, and no scene announces that it will
  // follow.
  await page.evaluate(() => {
    window.noted = [];
    const note = document.getElementById('print-note');
    const write = () => window.noted.push(note.textContent);
    new MutationObserver(write).observe(note, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  await pressPrint(page);
  await page.waitForFunction(() => window.printed === 2);
  assert.deepEqual(await page.evaluate(() => window.noted), []);
  await page.emulateMediaType('print');
  const lacking = await page.$$eval('.scene', (all) =>
    all.filter((one) => getComputedStyle(one, '::after').content !== 'none').map(({ id }) => id),
  );
  assert.deepEqual(lacking, []);
  await page.close();
});

test('print from a menu: missing scenes are marked, and prepared for the next time', async () => {
  const { page } = await openPage(browser, site.url, { story: true, calm: true });
  await page.waitForSelector('#scene-hero[data-state=ready]');
  const lackingAt = (id) =>
    page.$eval(`#scene-${id}`, (one) => getComputedStyle(one, '::after').content);
  await page.emulateMediaType('print');
  assert.match(await lackingAt('yours'), /not computed yet/);
  assert.equal(await lackingAt('hero'), 'none');
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.waitForSelector('#scene-yours [data-work=done]');
  assert.equal(await lackingAt('yours'), 'none');
  await page.close();
});

/** Value of a style property of the first element that each selector matches. */
const coloursOf = (page, selectors) =>
  page.evaluate(
    (all) =>
      all.map(
        ([selector, property]) => getComputedStyle(document.querySelector(selector))[property],
      ),
    selectors,
  );

for (const scheme of some(['light', 'dark'], 2)) {
  test(`a mechanism has the same colour in the story and the laboratory: ${scheme}`, async () => {
    const { page } = await openPage(browser, site.url, { story: true, calm: true, scheme });
    for (const id of ['hero', 'naive', 'take_back', 'tree', 'floor', 'handwriting', 'yours']) {
      await page.$eval(`#scene-${id}`, (one) => one.scrollIntoView());
      await page.waitForSelector(`#scene-${id}[data-state=ready]`);
    }
    const fresh = await coloursOf(page, [
      ['#scene-hero .line.worst', 'stroke'],
      ['#scene-hero .numeral.worst data', 'color'],
      ['#scene-naive .ghost', 'stroke'],
      ['#scene-take_back rect.fresh', 'fill'],
      ['#scene-tree .line.of-independent', 'stroke'],
      ['#scene-yours .line.of-independent', 'stroke'],
      ['#scene-handwriting .plane .line.independent', 'stroke'],
    ]);
    const others = await coloursOf(page, [
      ['#scene-yours .line.of-optimal', 'stroke'],
      ['#scene-yours .line.of-square-root', 'stroke'],
      ['#scene-yours .line.of-tree', 'stroke'],
      ['#scene-yours .line.of-honaker', 'stroke'],
    ]);
    assert.equal(new Set(fresh).size, 1, `${fresh}`);
    assert.equal(new Set([fresh[0], ...others]).size, 5, `${others}`);
    await page.close();
    const names = ['independent', 'optimal', 'square-root', 'tree', 'honaker'];
    const inLab = async (a, b) => {
      const hash = `#mechanism=${a}&compare=${b}&steps=20`;
      const lab = await openPage(browser, site.url + hash, { calm: true, scheme });
      await settled(lab.page);
      const swatch = (i) => [`#sums .key li:nth-child(${i}) .swatch`, 'color'];
      const found = await coloursOf(lab.page, [swatch(1), swatch(3)]);
      await lab.page.close();
      return found;
    };
    const expected = new Map(names.map((name, i) => [name, [fresh[0], ...others][i]]));
    for (const [a, b] of [
      ['optimal', 'independent'],
      ['independent', 'square-root'],
      ['honaker', 'tree'],
    ]) {
      assert.deepEqual(await inLab(a, b), [expected.get(a), expected.get(b)], `${a}, ${b}`);
    }
    // Next to a mechanism that the story does not show, the optimal one keeps its colour.
    const [banded, optimal] = await inLab('banded-toeplitz', 'optimal');
    assert.equal(optimal, expected.get('optimal'));
    assert.notEqual(banded, optimal);
  });
}
