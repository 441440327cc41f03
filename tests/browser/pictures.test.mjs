// SPDX-License-Identifier: Apache-2.0

// Figures of the story and of the histograms as SVG: they are well-formed and contain the numbers
// shown.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { some } from '../js/support/extent.mjs';
import { openPage, savedPanels, savesOf, startSite } from './support.mjs';

const { site, browser } = await startSite();

/** Opens a single scene, and waits until it has computed and learned everything. */
async function openScene(id, scheme = 'light') {
  const address = `${site.url}?embed=${id}`;
  const opened = await openPage(browser, address, { story: true, calm: true, scheme });
  await opened.page.waitForSelector(`#scene-${id}[data-state=ready]`);
  await opened.page.waitForFunction(() =>
    [...document.querySelectorAll('[data-work]')].every((one) => one.dataset.work === 'done'),
  );
  const saved = async () => {
    await savesOf(opened.page, `#scene-${id} .save`);
    return savedPanels(opened.page);
  };
  const textsOf = (selector) =>
    opened.page.$$eval(`#scene-${id} ${selector}`, (all) => all.map((one) => one.textContent));
  const close = async () => {
    assert.deepEqual(opened.said, []);
    await opened.page.close();
  };
  return { page: opened.page, saved, textsOf, close };
}

const near = (value, expected, room, what) =>
  assert.ok(Math.abs(value - expected) <= room, `${what}: ${value}, not ${expected}`);

/** Colour of the only line in a panel whose name matches. */
function colourOf(panel, pattern) {
  const found = Object.entries(panel.legend).filter(([name]) => pattern.test(name));
  assert.equal(found.length, 1, `${pattern} in ${Object.keys(panel.legend)}`);
  const own = new Set(Object.values(panel.legend));
  assert.deepEqual(
    panel.painted.filter((colour) => !own.has(colour)),
    [],
  );
  return found[0][1];
}

/** Maps part of every line's text to the name of its colour in the style sheet. */
const coloured = {
  hero: [
    {
      'noise that cancels itself': 'private',
      'fresh noise': 'fresh',
      'true count': 'secret',
    },
  ],
  attacker: [{ came: 'secret', 'stayed away': 'muted' }],
  naive: [{ 'each person': 'fresh', 'each total': 'fresh' }],
  take_back: [{ 'fresh noise': 'fresh', 'taken back': 'private' }, { λ: 'private' }],
  tree: [
    { 'blocks of': 'tree', 'all 1,024': 'muted' },
    { fresh: 'fresh', '^the tree:': 'tree', Honaker: 'map-negative' },
  ],
  floor: [
    { 'your bars': 'ink', 'square root': 'root' },
    { 'your bars': 'ink', 'square root': 'root', floor: 'floor' },
  ],
  yours: [
    {
      ...{ fresh: 'fresh', '^tree:': 'tree', Honaker: 'map-negative', 'square root': 'root' },
      ...{ optimal: 'private', floor: 'floor' },
    },
  ],
  handwriting: [
    { 'taken back': 'private', fresh: 'fresh', 'no noise': 'ink' },
    { published: 'private', '^true': 'secret' },
  ],
  crowd: [{ crowd: 'private', 'after round': 'private' }],
};

for (const [id, panels] of some(Object.entries(coloured), 3)) {
  test(`${id}: the picture has the colours of the light theme, even if the page is dark`, async () => {
    const { page, saved, close } = await openScene(id, 'dark');
    const drawn = await saved();
    assert.equal(await page.$eval('html', (root) => root.hasAttribute('data-theme')), false);
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    const light = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const names = [
        'private',
        'tree',
        'floor',
        'fresh',
        'root',
        'map-negative',
        'secret',
        'ink',
        'muted',
      ];
      return Object.fromEntries(
        names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
      );
    });
    for (const [i, names] of panels.entries()) {
      assert.equal(Object.keys(drawn[i].legend).length, Object.keys(names).length, drawn[i].all);
      for (const [name, colour] of Object.entries(names)) {
        assert.equal(
          colourOf(drawn[i], new RegExp(name)),
          light[colour],
          `${name}, panel ${i + 1}`,
        );
      }
    }
    await close();
  });
}

test('hero: the picture has the legend, the bands and the final true count', async () => {
  const { saved, textsOf, close } = await openScene('hero');
  const [panel, ...others] = await saved();
  assert.equal(others.length, 0);
  const values = await textsOf('.numeral data');
  for (const text of ['within ±270.4 people', 'within ±25.0 people'])
    assert.ok(panel.all.includes(text), text);
  assert.deepEqual(values, ['±270', '±25']);
  assert.equal(panel.areas.length, 2);
  assert.equal(panel.lines.length, 3);
  const truth = Number((await textsOf('.labels .truth'))[0].split(' ').at(-1));
  near(panel.valueAt(panel.lines.at(-1).at(-1)[1]), truth, 3, 'people in the end');
  await close();
});

test('attacker: the picture says how often the best guess is right', async () => {
  const { page, saved, textsOf, close } = await openScene('attacker');
  const [before] = await saved();
  assert.ok(before.all.includes(`right ${(await textsOf('strong.claim'))[0]} of`), before.all);
  assert.equal(before.areas.length, 1);
  await page.$eval('#scene-attacker [data-epsilon="3"]', (button) => button.click());
  const [after] = await saved();
  const [right] = await textsOf('strong.claim');
  assert.ok(after.all.includes(`ε = 3: the best guess is right ${right} of the time`), after.all);
  await close();
});

test('naive: the picture has thirty runs and the stated band', async () => {
  const { saved, textsOf, close } = await openScene('naive');
  const [panel] = await saved();
  const [band] = await textsOf('.naive-band');
  assert.ok(panel.all.includes(`Off by ${band} after 1,024 people`), panel.all);
  assert.equal(panel.lines.length, 30);
  const heights = panel.areas[0].map(([, y]) => panel.valueAt(y));
  near(Math.max(...heights), Number(band.slice(1)), 2, 'band');
  await close();
});

test('take back: the picture has the error only after the guess', async () => {
  const { page, saved, textsOf, close } = await openScene('take_back');
  const before = await saved();
  assert.equal(before.length, 2);
  assert.ok(before[0].all.includes((await textsOf('.take-lambda'))[0]));
  assert.ok(before[1].all.includes(`${(await textsOf('.take-size'))[0]} times as large`));
  assert.equal(before[0].strokes.filter((d) => (d.match(/M/g) ?? []).length === 16).length, 2);
  await page.$eval('#scene-take_back .ask', (button) => button.click());
  const after = await saved();
  assert.equal(after.length, 3);
  assert.ok(after[2].all.includes((await textsOf('.take-error'))[0]), after[2].all);
  await close();
});

test('tree: the picture has the lit blocks and the errors of the worst totals', async () => {
  const { page, saved, textsOf, close } = await openScene('tree');
  const [blocks, errors] = await saved();
  const [words] = await textsOf('.readout');
  assert.equal(blocks.areas.length, Number(/adds up (\d+) blocks/.exec(words)[1]));
  const numbers = await page.$$eval('#scene-tree .scene-numbers data', (all) =>
    all.map((one) => [one.textContent, Number(one.value)]),
  );
  assert.equal(errors.lines.length, 3);
  for (const [i, [text, value]] of numbers.entries()) {
    assert.ok(errors.all.includes(`: ${text}`), text);
    const top = Math.max(...errors.lines[i].map(([, y]) => errors.valueAt(y)));
    near(top, value, 0.2, text);
  }
  await close();
});

test('floor: the picture has your bars, their error and the floor', async () => {
  const { page, saved, textsOf, close } = await openScene('floor');
  await page.$eval('[name=floor-buffers][value="3"]', (radio) => radio.click());
  const [bars, errors] = await saved();
  assert.equal(bars.strokes.filter((d) => (d.match(/M/g) ?? []).length === 9).length, 2);
  const [own] = await textsOf('.scene-numbers data.own');
  const [floor] = await textsOf('.scene-numbers data.floor');
  const [chosen] = await textsOf('.scene-numbers .chosen data');
  for (const text of [`your bars: ${own}`, `the floor: ${floor}`, `3 buffers: ${chosen}`]) {
    assert.ok(errors.all.includes(text), text);
  }
  assert.equal(errors.lines.length, 4);
  await close();
});

test('handwriting: the picture has the accuracies, the running total and the weights of all models', async () => {
  const { saved, textsOf, close } = await openScene('handwriting');
  const [chart, total, ...maps] = await saved();
  const accuracies = await textsOf('.results data');
  assert.equal(accuracies.length, 3);
  for (const text of accuracies) assert.ok(chart.all.includes(`: ${text}`), text);
  assert.deepEqual(
    total.lines.map((line) => line.length),
    [100, 100],
  );
  assert.equal(maps.length, 3);
  for (const { cells } of maps) assert.ok(cells > 500 && cells <= 1960, `${cells}`);
  await close();
});

test('crowd: the picture has the round, its accuracy and the titles of its maps', async () => {
  const { saved, textsOf, close } = await openScene('crowd');
  const [chart, ...maps] = await saved();
  const [, round, share] = /round (\d+) the model reads ([\d.]+\s%)/.exec(
    (await textsOf('.crowd-accuracy'))[0],
  );
  assert.ok(chart.all.includes(`after round ${round}: ${share}`), chart.all);
  const titles = await textsOf('.crowd-row strong');
  assert.deepEqual(
    maps.map(({ texts }) => texts[0]),
    titles,
  );
  await close();
});

test('yours: the picture has the errors in the table for the horizon', async () => {
  const { saved, textsOf, close } = await openScene('yours');
  const [panel] = await saved();
  const numbers = await textsOf('.scene-numbers data.noise');
  assert.equal(numbers.length, 6);
  for (const text of numbers) assert.ok(panel.all.includes(`: ${text}`), text);
  assert.equal(panel.lines.length, 6);
  await close();
});

test('queries: the picture has histogram, answers and matrices, but no true answers when deployed', async () => {
  const { page, said } = await openPage(browser, `${site.url}#queries`, { calm: true });
  await page.waitForSelector('#queries .queries-plot canvas');
  await page.waitForSelector('#queries:not([aria-busy]) .maps canvas');
  await page.$eval('#queries-numbers', (details) => (details.open = true));
  await page.waitForSelector('#queries-numbers tbody tr');
  await savesOf(page, '#queries-save');
  const [histogram, answers, ...maps] = await savedPanels(page);
  const counts = await page.$$eval('#queries .bar-slot', (all) =>
    all.map((one) => Number(one.getAttribute('aria-valuenow'))),
  );
  const bars = histogram.strokes.find((d) => (d.match(/M/g) ?? []).length === counts.length);
  const tops = [...bars.matchAll(/V([\d.]+)/g)].map(([, y]) => histogram.valueAt(Number(y)));
  for (const [i, count] of counts.entries())
    near(tops[i], count, 0.01 * Math.max(...counts), `value ${i}`);
  const truths = await page.$$eval('#queries-numbers tbody tr', (all) =>
    all.map((row) => Number([...row.querySelectorAll('data')].at(-1).value)),
  );
  const room = 0.01 * Math.max(...truths.map(Math.abs));
  for (const [i, truth] of truths.entries()) {
    near(answers.valueAt(answers.lines[0][i][1]), truth, room, `query ${i}`);
  }
  assert.ok(answers.all.includes('true answer'));
  assert.equal(maps.length, 3);
  await page.click('#queries-deployed');
  await page.waitForFunction(() => !document.querySelector('#queries .key-group.secret'));
  await savesOf(page, '#queries-save');
  const [published, ...rest] = await savedPanels(page);
  assert.ok(published.all.includes('factorization') && !published.all.includes('true answer'));
  assert.equal(published.lines.length, 0);
  assert.equal(rest.length, 3);
  assert.deepEqual(said, []);
  await page.close();
});
