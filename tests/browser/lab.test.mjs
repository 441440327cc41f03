// SPDX-License-Identifier: Apache-2.0

// The laboratory: two mechanisms over one true curve, epsilon and error linked in both directions,
// the noise of other runs, and exports.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import {
  enter,
  openExport,
  openPage,
  readKey,
  reveal,
  root,
  runProgram,
  savedPanels,
  savesOf,
  settled,
  shopDay,
  startSite,
  textOf,
} from './support.mjs';

const { site, browser, open } = await startSite();
const library = await load();

const hashOf = (page) => page.evaluate(() => location.hash);

/** Runs the learner that the laboratory opens with. */
function openingLearner() {
  const options = { ...{ epsilon: 1, delta: 1e-6 }, steps: 12_000, dimension: 2 };
  const simulation = library.study.simulation({ ...options, streamSeed: 12, noiseSeed: 1 });
  const { certificate, regretBound } = simulation;
  const chunk = simulation.advance(options.steps);
  simulation.dispose();
  return { certificate, regretBound, chunk };
}

test('the laboratory opens with a learner at rest: its own sums, its regret and the bound', async () => {
  const { page, said } = await open('lab');
  const { certificate, regretBound, chunk } = openingLearner();
  const sums = await readKey(page, '#sums');
  const last = 2 * 11_999;
  assert.deepEqual(Object.keys(sums), ['release', '2σ band', 'true total']);
  assert.equal(sums.release, chunk.noisySums[last]);
  assert.equal(sums['true total'], chunk.trueSums[last]);
  const learned = await readKey(page, '#learning');
  assert.deepEqual(learned, {
    'final bound': regretBound.private,
    'private learner': chunk.regret.private.at(-1),
    'non-private twin': chunk.regret.twin.at(-1),
  });
  assert.ok(learned['non-private twin'] < learned['private learner']);
  assert.ok(learned['private learner'] < learned['final bound']);
  // The other coordinate of its sums replaces the first.
  await page.select('#sums-view', '2');
  await page.waitForFunction(() => location.hash.includes('sums=2'));
  assert.equal((await readKey(page, '#sums')).release, chunk.noisySums[last + 1]);
  await page.select('#sums-view', '1');
  await page.waitForFunction(() => location.hash === '#lab');
  // The answer: with fresh noise, the last of n totals has the noise of n records.
  const { noiseStddev, sensitivity, maxError } = certificate;
  const unit = (2 * noiseStddev) / sensitivity;
  const [mine, fresh] = [unit * maxError, unit * Math.sqrt(12_000)];
  const answer = `±${mine.toFixed(1)} against ±${fresh.toFixed(0)} with fresh noise, at\u00a0ε\u00a0=\u00a01: a\u00a0`;
  assert.ok(
    (await textOf(page, '#answer')).startsWith(
      `${answer}${Math.round(fresh / mine)}th of the noise `,
    ),
  );
  assert.deepEqual(said, []);
  await page.close();
});

test('the learner runs on arrival, for 20 to 40 seconds, and all of it is in the window', async () => {
  const { page } = await open('lab', { state: 'playing', width: 1280, height: 720 });
  const isOn = () =>
    page.$$eval('#sums canvas, #learning canvas', ([sums, learning]) => {
      const inks = [sums, learning].map((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return data.reduce((sum, value) => sum + value, 0);
      });
      return inks;
    });
  const before = await isOn();
  await page.waitForFunction(() => document.getElementById('progress').value > 1000);
  const after = await isOn();
  assert.ok(before[0] !== after[0] && before[1] !== after[1], 'both figures run');
  const [steps, speed] = await page.evaluate(() => [
    document.getElementById('progress').max,
    Number(document.getElementById('speed').value),
  ]);
  assert.ok(steps / speed >= 20 && steps / speed <= 40, `${steps} steps, ${speed} each second`);
  await page.click('#finish');
  await settled(page);
  const parts = ['pinned', 'answer', 'sums', 'sum-errors', 'player', 'learning', 'facts'];
  const two = '#compare=independent&steps=300';
  for (const hash of ['#lab', two, `#${shopDay}`]) {
    if (hash !== '#lab') {
      await page.evaluate((one) => (location.hash = one), hash);
      await page.waitForFunction(() => Number(document.getElementById('progress').max) < 1000);
      await page.click('#finish');
      await settled(page);
    }
    const ends = await page.evaluate(
      (ids) =>
        ids
          .map((id) => document.getElementById(id))
          .filter((one) => one.checkVisibility())
          .map((one) => [one.id, one.getBoundingClientRect().bottom, one.offsetHeight]),
      parts,
    );
    // The legends of two learners take more lines, but the charts of totals stay as high.
    for (const [id, bottom, height] of ends) {
      const isBelow = hash === two && ['learning', 'facts'].includes(id);
      const lowest = isBelow ? 745 : 720;
      assert.ok(bottom <= lowest && height > 20, `${id}, ${height} px high, ends at ${bottom}`);
    }
    const plots = await page.$$eval('#sums .plot, #sum-errors .plot', (all) =>
      all.map((one) => one.offsetHeight),
    );
    assert.ok(Math.min(...plots) >= 180, `${hash}: ${plots} px`);
    assert.equal(ends.length, hash.includes('shop') ? 6 : 7);
  }
  await page.close();
});

test('a day in a shop: two mechanisms over one true curve, and their errors', async () => {
  const { page, said } = await open(shopDay);
  assert.equal(await page.$$eval('#sums .panel', (all) => all.length), 1);
  const sums = await readKey(page, '#sums');
  assert.deepEqual(Object.keys(sums), [
    'A optimal',
    'A 2σ band',
    'B fresh noise',
    'B 2σ band',
    'true total',
  ]);
  assert.equal(sums['true total'], 364);
  assert.ok(sums['B 2σ band'] > 9 * sums['A 2σ band']);
  const errors = await readKey(page, '#sum-errors');
  for (const [lane, release] of [
    ['A', sums['A optimal']],
    ['B', sums['B fresh noise']],
  ]) {
    assert.equal(errors[`${lane} release − truth`], release - 364);
    assert.equal(errors[`${lane} 2σ band`], sums[`${lane} 2σ band`]);
  }
  assert.ok(await page.$eval('#learning-figure', (one) => one.hidden), 'nothing is learned');
  assert.match(
    await textOf(page, '#answer'),
    /^±24\.5 against ±245 .*\sε\s=\s1: a\stenth of the noise /,
  );
  await page.select('#set-compare', 'tree');
  await page.waitForFunction(() => location.hash.includes('compare=tree'));
  await settled(page);
  await page.reload();
  await settled(page);
  assert.deepEqual((await readKey(page, '#sums'))['true total'], 364);
  assert.deepEqual(said, []);
  await page.close();
});

/** Counts pixels of a canvas in the colour of a swatch. */
const inkOf = (page, canvas, swatch) =>
  page.evaluate(
    (where, which) => {
      const colour = getComputedStyle(document.querySelector(which))
        .color.match(/\d+/g)
        .map(Number);
      const one = document.querySelector(where);
      const { data } = one.getContext('2d').getImageData(0, 0, one.width, one.height);
      let num = 0;
      for (let at = 0; at < data.length; at += 4)
        if (data[at + 3] > 250 && colour.every((value, k) => Math.abs(data[at + k] - value) < 8))
          num += 1;
      return num;
    },
    canvas,
    swatch,
  );

test('the key hides a line, shows it alone, and keeps that for the next run', async () => {
  const { page } = await open(shopDay, { width: 1280 });
  const button = (name) => `#sums .toggle:nth-child(1)::-p-text(${name})`;
  const ink = async () => ({
    a: await inkOf(page, '#sums canvas', '#sums .swatch.private'),
    b: await inkOf(page, '#sums canvas', '#sums .swatch.fresh'),
    truth: await inkOf(page, '#sums canvas', '#sums .swatch.secret'),
  });
  const all = await ink();
  assert.ok(all.a > 100 && all.b > 100 && all.truth > 100, JSON.stringify(all));
  await page.click(button('B fresh noise'));
  const without = await ink();
  assert.equal(without.b, 0);
  assert.ok(without.a > 100 && without.truth > 100);
  const before = await readKey(page, '#sums');
  await page.click('#draw-again');
  await page.waitForFunction(() => location.hash.includes('noise-seed=2'));
  await settled(page);
  assert.equal((await ink()).b, 0, 'another run hides it, too');
  assert.notEqual((await readKey(page, '#sums'))['B fresh noise'], before['B fresh noise']);
  // By keyboard: shown again, then shown alone.
  await page.focus(button('B fresh noise'));
  await page.keyboard.press('Enter');
  assert.ok((await ink()).b > 100);
  await page.keyboard.down('Shift');
  await page.keyboard.press('Enter');
  await page.keyboard.up('Shift');
  const alone = await ink();
  assert.deepEqual([alone.a, alone.truth], [0, 0]);
  assert.ok(alone.b > 100);
  const pressed = await page.$$eval('#sums .toggle', (buttons) =>
    buttons.filter((one) => one.ariaPressed === 'true').map((one) => one.textContent),
  );
  assert.deepEqual(pressed, ['B fresh noise']);
  await page.click(button('B fresh noise'), { count: 2 });
  const again = await ink();
  assert.ok(again.a > 100 && again.b > 100 && again.truth > 100, 'all again');
  await page.close();
});

test('the first mechanism is drawn on top of the second', async () => {
  const { page } = await open('mechanism=square-root&compare=square-root&steps=300&dimension=1');
  for (const place of ['sums', 'sum-errors']) {
    const ink = (colour) => inkOf(page, `#${place} canvas`, `#${place} .swatch.${colour}`);
    const [first, second] = [await ink('root'), await ink('private')];
    assert.ok(first > 200 && second < first / 5, `${first} and ${second}, but for its name`);
  }
  await page.close();
});

test('an old address keeps its meaning: settings that it does not name have the old defaults', async () => {
  const { page } = await open('steps=100');
  assert.deepEqual(Object.keys(await readKey(page, '#sums')), ['release', '2σ band', 'true total']);
  assert.equal(await page.$eval('#set-source', (select) => select.value), 'synthetic');
  await page.close();
});

test('a bearable error determines epsilon, and epsilon determines the error', async () => {
  const { page, said } = await open(shopDay);
  const worstOf = () => page.$eval('#target-worst', (input) => Number(input.value));
  const expected = (epsilon) => {
    const { certificate } = library.study.simulation({ steps: 840, epsilon, delta: 1e-6 });
    const { noiseStddev, sensitivity, maxError } = certificate;
    return (2 * noiseStddev * maxError) / sensitivity;
  };
  assert.ok(Math.abs((await worstOf()) / expected(1) - 1) < 1e-3);
  await enter(page, '#target-worst', '50');
  await page.waitForFunction(() => location.hash.includes('epsilon='));
  await settled(page);
  const epsilon = await page.$eval('#set-epsilon', (input) => Number(input.value));
  assert.ok(Math.abs(expected(epsilon) / 50 - 1) < 1e-3, `epsilon ${epsilon}`);
  assert.equal(await worstOf(), 50);
  const noise = await page.$eval('#target-noise', (input) => Number(input.value));
  await enter(page, '#set-epsilon', '1');
  await page.waitForFunction(() => !location.hash.includes('epsilon='));
  await settled(page);
  assert.ok(Math.abs((await worstOf()) / expected(1) - 1) < 1e-3);
  await enter(page, '#target-noise', String(noise));
  await page.waitForFunction(() => location.hash.includes('epsilon='));
  await settled(page);
  assert.ok(Math.abs((await worstOf()) / 50 - 1) < 1e-3);
  await enter(page, '#target-worst', '-3');
  assert.equal(await textOf(page, '#target-worst-error'), 'must be a finite number > 0, got “-3”');
  assert.deepEqual(said, []);
  await page.close();
});

test('drawing the noise again keeps the truth, and the noise of other runs can be shown', async () => {
  const { page } = await open(shopDay);
  const before = await readKey(page, '#sums');
  await page.click('#draw-again');
  await page.waitForFunction(() => location.hash.includes('noise-seed=2'));
  await settled(page);
  const again = await readKey(page, '#sums');
  assert.notEqual(again['A optimal'], before['A optimal']);
  assert.equal(again['true total'], before['true total']);
  assert.equal(again['A 2σ band'], before['A 2σ band']);
  /** Number of distinct colours in the error figure. */
  const ink = () =>
    page.evaluate(() => {
      const canvas = document.querySelector('#sum-errors canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const colours = new Set();
      for (let i = 0; i < data.length; i += 4) colours.add(data.slice(i, i + 4).join());
      return colours.size;
    });
  const plain = await ink();
  await page.click('#ghosts');
  await page.waitForFunction(() => location.hash.includes('other-draws=shown'));
  for (let i = 0; i < 100 && (await ink()) < 2 * plain; ++i) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok((await ink()) >= 2 * plain, `${await ink()} colours, ${plain} without other draws`);
  assert.equal((await readKey(page, '#sums'))['A optimal'], again['A optimal']);
  await page.close();
});

test('the inverse stands among the matrices, and the row of the step is lit', async () => {
  const { page, said } = await open('mechanism=square-root&steps=16');
  await reveal(page, 'factorization', '.map');
  await page.$eval('#factorization-numbers', (details) => (details.open = true));
  const captions = await page.$$eval('#factorization-numbers caption', (all) =>
    all.map((one) => one.textContent),
  );
  assert.match(captions[1], /^C⁻¹ of square root/);
  const row = await page.$$eval('#factorization-numbers table:nth-of-type(2) tbody tr', (rows) =>
    [...rows[4].querySelectorAll('data')].map((cell) => Number(cell.value)),
  );
  for (const [i, value] of [-5 / 128, -1 / 16, -1 / 8, -1 / 2, 1].entries()) {
    assert.ok(Math.abs(row[i] - value) < 1e-12, `${row}`);
  }
  await page.focus('#sums .plot');
  await page.keyboard.press('Home');
  for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowRight');
  const lit = await page.$$eval('#factorization .map-lit', (all) =>
    all.map((one) => [one.hidden, one.style.top]),
  );
  assert.deepEqual(lit, [
    [false, '25%'],
    [false, '25%'],
    [false, '25%'],
    [false, '25%'],
  ]);
  assert.equal(
    await textOf(page, '#factorization-step'),
    'Step 5, a row of C⁻¹: takes back 0.5 of noise 4, 0.125 of noise 3, 0.0625 of noise 2.',
  );
  await page.keyboard.press('Escape');
  assert.equal(await page.$eval('#factorization-step', (note) => note.hidden), true);
  // The rows of a tree's encoder are nodes, and no step is one of them.
  await page.select('#set-mechanism', 'tree');
  await settled(page);
  await reveal(page, 'factorization', '[data-mechanism=tree] .map');
  await page.focus('#sums .plot');
  await page.keyboard.press('Home');
  assert.deepEqual(
    await page.$$eval('#factorization .map-lit', (all) => all.map((one) => one.hidden)),
    [true, false, false, false],
  );
  assert.deepEqual(said, []);
  await page.close();
});

for (const hash of some(
  [
    shopDay,
    'mechanism=blt&decays=0.9%2C0.5&weights=0.3%2C0.1&steps=60&neighbours=replace-one&stream=drifting',
    'mechanism=banded-toeplitz&bands=5&steps=60&participation=separated&participations=3&min-separation=9',
    'mechanism=tree&steps=60&participation=epochs&participations=4',
    'data=shop_day&column=items&column=revenue&label=-&steps=840&clip=20&mechanism=banded-toeplitz&bands=9',
    'data=pendulum&label=label&steps=300',
    'learner=descent&momentum=0.5&steps=60&mechanism=square-root',
    'learner=both&momentum=0&steps=60',
    'compare=tree&steps=60',
  ],
  4,
)) {
  test(`programs and command print what the page shows: #${hash}`, async () => {
    const { page, said } = await open(hash);
    const numSteps = await page.$eval('#progress', ({ max }) => Number(max));
    await openExport(page);
    const program = await textOf(page, '#export-javascript');
    const command = await page
      .$('#export-command')
      .then((one) => one && textOf(page, '#export-command'));
    await page.evaluate(() => {
      URL.createObjectURL = (blob) => {
        window.saved = blob;
        return 'data:text/plain,';
      };
    });
    await page.click('#export-csv');
    const csv = await page.evaluate(() => window.saved.text());
    const [comment, names, ...rows] = csv.trimEnd().split('\n');
    const header = JSON.parse(comment.slice(2));
    assert.equal(header.version, library.version);
    assert.equal(header.settings.numSteps, numSteps);
    assert.equal(rows.length, numSteps);
    const cells = rows.at(-1).split(',').map(Number);
    const release = names.split(',').findIndex((name) => name.startsWith('release'));
    const key = await readKey(page, '#sums');
    assert.equal(cells[release], key[Object.keys(key)[0]]);
    const printed = runProgram(program);
    assert.deepEqual(printed, cells.slice(release, release + printed.length));
    assert.equal(command !== null, hash.includes('shop_day'), 'of tables only');
    if (command !== null) {
      const words = command.trim().split(' ').slice(1);
      const args = ['dist/cli.js', ...words];
      const lines = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).trim();
      const last = lines.split('\n').at(-1).split(',').map(Number);
      assert.deepEqual(last.slice(1, 1 + printed.length), printed);
    }
    assert.deepEqual(said, []);
    await page.close();
  });
}

/** The picture made by an export button: its texts, lines and areas, with numeric positions. */
async function pictureOf(page, name) {
  await savesOf(page, `[data-picture=${name}]`);
  return page.evaluate(async () => {
    const { documentElement: svg } = new DOMParser().parseFromString(
      await window.saved.text(),
      'image/svg+xml',
    );
    const all = (selector) => [...svg.querySelectorAll(selector)];
    const points = (one) =>
      one
        .getAttribute('points')
        .split(' ')
        .map((point) => point.split(',').map(Number));
    const place = (one) => ({ x: Number(one.getAttribute('x')), y: Number(one.getAttribute('y')) });
    return {
      type: window.saved.type,
      name: svg.localName,
      texts: all('text').map((one) => one.textContent),
      /** Ticks of the vertical axis. */
      ticks: all('text[text-anchor=end]').map((one) => [Number(one.textContent), place(one).y - 4]),
      lines: all('polyline').map(points),
      areas: all('polygon').map(points),
      cells: all('g g').map(
        (map) =>
          [...map.querySelectorAll('path')].flatMap((one) => one.getAttribute('d').match(/M/g))
            .length,
      ),
    };
  });
}

/** Value at a height, computed from two ticks of the axis. */
function valueAt({ ticks }, y) {
  const [[low, from], [high, to]] = [ticks[0], ticks.at(-1)];
  return low + ((y - from) / (to - from)) * (high - low);
}

test('figures are exported as SVG, with the values that the page shows', async () => {
  const { page, said } = await open(shopDay);
  await reveal(page, 'factorization', '.map');
  await reveal(page, 'errors', '.key');
  await reveal(page, 'deltas', '.key');
  await reveal(page, 'statistics', '.key');
  await openExport(page);
  const names = () =>
    page.$$eval('[data-picture]', (all) => all.map(({ dataset }) => dataset.picture));
  assert.deepEqual(await names(), [
    'totals',
    'errors',
    'matrices',
    'deviations',
    'deltas',
    'statistics',
  ]);
  const totals = await pictureOf(page, 'totals');
  assert.deepEqual([totals.type, totals.name], ['image/svg+xml', 'svg']);
  const key = await readKey(page, '#sums');
  for (const name of Object.keys(key)) {
    if (!name.includes('band')) assert.ok(totals.texts.includes(name.trim()), name);
  }
  const height = Math.abs(valueAt(totals, 0) - valueAt(totals, 0.02));
  const ends = totals.lines.map((points) => valueAt(totals, points.at(-1)[1]));
  const shown = Object.entries(key).filter(([name]) => !name.includes('band'));
  assert.equal(ends.length, shown.length);
  for (const [i, [name, value]] of shown.entries()) {
    assert.ok(Math.abs(ends[i] - value) < height, `${name}: ${ends[i]}, shown ${value}`);
  }
  assert.equal(totals.areas.length, 2, 'a band for each mechanism');
  const errors = await pictureOf(page, 'errors');
  assert.equal(errors.lines.length, 2);
  const deviations = await pictureOf(page, 'deviations');
  const { maxError } = library.error({ strategy: 'optimal', steps: 840 });
  const top = Math.min(...deviations.lines[0].map(([, y]) => y));
  assert.ok(Math.abs(valueAt(deviations, top) / maxError - 1) < 0.01);
  const matrices = await pictureOf(page, 'matrices');
  assert.equal(matrices.cells.length, 8);
  const { encoder } = library.error({ strategy: 'optimal', steps: 64, matrices: true }).matrices;
  const numBig = encoder.filter((value) => Math.abs(value) > 1e-13 * Math.max(...encoder)).length;
  assert.equal(matrices.cells[0], numBig);
  // In deployed mode the true total is unknown, so the picture must not contain it.
  await page.keyboard.press('Escape');
  await page.click('#deployed');
  await openExport(page);
  assert.ok(!(await names()).includes('learning'));
  const deployed = await pictureOf(page, 'totals');
  assert.deepEqual([deployed.lines.length, deployed.areas.length], [2, 2]);
  assert.ok(!deployed.texts.some((text) => /true|truth/.test(text)));
  assert.deepEqual(said, []);
  await page.close();
});

test('Figure 4 compares a single mechanism with fresh noise', async () => {
  const { page, said } = await open(
    'steps=300&workload=window&window=20&data=shop_day&label=-&column=count',
  );
  await reveal(page, 'errors', '.key');
  const problem = { steps: 300, workload: { window: 20 } };
  for (const strategy of ['optimal', 'tree']) {
    const key = await readKey(page, '#errors');
    for (const [name, one] of [
      [strategy, strategy],
      ['fresh noise', 'independent'],
    ]) {
      const { perStep } = library.error({ strategy: one, ...problem, perStep: true });
      assert.ok(Math.abs(key[name] / perStep.at(-1) - 1) < 1e-3, `${name}: ${key[name]}`);
    }
    await page.select('#set-mechanism', 'tree');
    await page.waitForFunction(() =>
      /tree/.test(document.querySelector('#errors .key').textContent),
    );
  }
  await page.select('#set-mechanism', 'independent');
  await page.waitForFunction(
    () => !/tree/.test(document.querySelector('#errors .key').textContent),
  );
  const names = await page.$eval('#errors .key', (one) => one.textContent.match(/fresh noise/g));
  assert.deepEqual(names, ['fresh noise']);
  assert.deepEqual(said, []);
  await page.close();
});

test('an exported figure has the colours of its mechanisms', async () => {
  const options = { scheme: 'dark' };
  const { page } = await open(
    'steps=60&mechanism=square-root&compare=honaker&learning=regret',
    options,
  );
  await reveal(page, 'errors', '.key');
  await openExport(page);
  const pictures = new Map();
  for (const name of ['totals', 'errors', 'learning', 'deviations']) {
    await savesOf(page, `[data-picture=${name}]`);
    pictures.set(name, (await savedPanels(page))[0]);
  }
  // The exported background is white, so the colours are those of the light theme.
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  const [root, honaker, secret, ink] = await page.evaluate(() =>
    ['root', 'map-negative', 'secret', 'ink'].map((name) =>
      getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(),
    ),
  );
  const expected = {
    totals: [
      [/^A /, root],
      [/^B /, honaker],
      [/^true total/, secret],
    ],
    errors: [
      [/^A /, root],
      [/^B /, honaker],
    ],
    learning: [
      [/^A /, root],
      [/^B /, honaker],
      [/twin/, secret],
      [/for A/, root],
      [/for B/, honaker],
    ],
    deviations: [
      [/^A/, root],
      [/^B/, honaker],
      [/^no max/, ink],
    ],
  };
  for (const [name, colours] of Object.entries(expected)) {
    const { legend, painted } = pictures.get(name);
    for (const [line, colour] of Object.entries(legend)) {
      const [, wanted] = colours.find(([pattern]) => pattern.test(line)) ?? [];
      assert.equal(colour, wanted, `${name}: ${line}`);
    }
    assert.deepEqual(new Set(painted), new Set(Object.values(legend)), name);
    assert.equal(new Set(painted).size, new Set(colours.map(([, colour]) => colour)).size, name);
  }
  await page.close();
});

test('a learner is exported as SVG', async () => {
  const { page } = await open('steps=60&learning=regret');
  await openExport(page);
  const { lines, texts } = await pictureOf(page, 'learning');
  assert.equal(lines.length, 3, 'the learner, its twin and the bound');
  assert.ok(texts.includes('non-private twin'));
  await page.close();
});

test('an export that cannot be loaded is told, and the page goes on', async () => {
  const { page } = await open('steps=20');
  await page.setRequestInterception(true);
  page.on('request', (request) =>
    /export-/.test(request.url()) ? request.abort() : request.continue(),
  );
  await page.click('#export-open');
  await page.waitForSelector('#notice:not([hidden])');
  assert.match(await textOf(page, '#notice p'), /export/);
  assert.equal(await page.$('#export[open]'), null);
  await page.click('#notice button');
  await enter(page, '#set-numSteps', '30');
  await settled(page);
  await page.close();
});

test('a question mark lists the keyboard shortcuts, except in a text field', async () => {
  const { page } = await open('steps=20');
  const isOpen = () => page.$eval('#keys', (dialog) => dialog.open);
  await page.focus('#set-epsilon');
  await page.keyboard.type('?');
  assert.equal(await isOpen(), false);
  await page.focus('#play');
  await page.keyboard.type('?');
  assert.equal(await isOpen(), true);
  await page.keyboard.press('Escape');
  assert.equal(await isOpen(), false);
  await page.close();
});

test('a mechanism has one name in the legends, the table and the list, which adds its own', async () => {
  const { page } = await open('steps=60&mechanism=square-root&compare=independent');
  const keyed = Object.keys(await readKey(page, '#sums'));
  assert.deepEqual([keyed[0], keyed[2]], ['A square root', 'B fresh noise']);
  const listed = (id) => page.$eval(id, (select) => select.selectedOptions[0].text);
  assert.equal(await listed('#set-mechanism'), 'square root');
  assert.equal(await listed('#set-compare'), 'fresh noise (independent)');
  await reveal(page, 'ranking', 'tbody tr');
  const chosen = await page.$$eval('#ranking .chosen button', (all) =>
    all.map((one) => one.textContent),
  );
  assert.deepEqual(chosen.sort(), ['fresh noise', 'square root']);
  const heads = await page.$$eval('#certificate thead th', (all) =>
    all.map((one) => one.textContent),
  );
  assert.deepEqual(heads.slice(-2), ['square root', 'fresh noise']);
  await page.close();
});

test('what to do if nothing starts is said only after six seconds', async () => {
  const { page } = await openPage(browser, `${site.url}#lab`, {
    before: () => {
      window.Worker = class extends EventTarget {
        postMessage() {}
        terminate() {}
      };
    },
  });
  const hint = await page.waitForSelector('#loading .late');
  const isSeen = () => hint.evaluate((one) => getComputedStyle(one).visibility === 'visible');
  assert.equal(await isSeen(), false);
  await hint.evaluate((one) => {
    const [wait] = one.getAnimations();
    wait.currentTime = 5900;
    wait.pause();
  });
  assert.equal(await isSeen(), false);
  await hint.evaluate((one) => one.getAnimations()[0].play());
  await page.waitForFunction(
    () => getComputedStyle(document.querySelector('.late')).visibility === 'visible',
  );
  await page.close();
});

test('every preset runs, is marked, and Back leads out of it', async () => {
  const { page, said } = await open('steps=20');
  const marked = () => page.$$eval('.presets [aria-current]', (all) => all.map((one) => one.hash));
  const presets = await page.$$eval('.presets a', (all) => all.map((one) => one.hash));
  assert.ok(presets.length >= 4);
  for (const hash of presets) {
    await page.$eval(`.presets a[href="${hash}"]`, (link) => link.click());
    await page.waitForFunction((wanted) => location.hash === wanted, {}, hash);
    if (hash.includes('workload=active')) {
      await page.waitForSelector('#active:not([aria-busy]) .key');
    } else {
      await page.waitForFunction(() => Number(document.getElementById('progress').max) > 20);
      await settled(page);
    }
    assert.equal(await hashOf(page), hash, 'an address as the page writes it');
    assert.deepEqual(await marked(), [hash]);
    assert.equal(await page.$eval('#notice', (notice) => notice.hidden), true);
    assert.equal(await page.$eval('#run-error', (box) => box.hidden), true);
    await page.goBack();
    await page.waitForFunction(() => document.getElementById('set-numSteps').value === '20');
    await settled(page);
    assert.deepEqual(await marked(), []);
  }
  await page.click('.presets a');
  await page.waitForSelector('.presets [aria-current]');
  await enter(page, '#set-epsilon', '2');
  await page.waitForFunction(() => /epsilon=2/.test(location.hash));
  assert.deepEqual(await marked(), [], 'a setting has changed');
  assert.deepEqual(said, []);
  await page.close();
});

/**
 * Finds the number 1 before a plural noun, in what a page shows and in what screen readers read.
 */
const singulars = (page) =>
  page.evaluate(() => {
    const names = ['aria-valuetext', 'aria-label', 'title', 'placeholder'];
    const told = [...document.querySelectorAll(names.map((name) => `[${name}]`).join())];
    const texts = told.flatMap((one) => names.map((name) => one.getAttribute(name) ?? ''));
    const options = [...document.querySelectorAll('option')].map((one) => one.textContent);
    const all = [document.body.innerText, ...texts, ...options].join('\n');
    // The number of a figure or a scene counts nothing; “1 times” states a factor.
    const pattern =
      /(?<![\d.,^²×−-])(?<!(?:Figure|Scene|step|Step|value|row) )\b1 (?:(?:more|noise) )?(?!times|fits|is|was|has)[a-z]+s\b/g;
    return all.match(pattern) ?? [];
  });

test('one of anything is written in the singular', async () => {
  const shop = 'data=shop_day&column=count&label=-';
  for (const hash of [
    'steps=1&ghosts=shown&every-step-band=shown',
    `${shop}&steps=1&statistic=sums`,
    `${shop}&steps=1&workload=window&window=1&participation=separated&participations=1`,
    `${shop}&steps=2&participation=epochs&participations=1&budget=1&releases=1`,
    `${shop}&steps=4&participation=separated&participations=2&min-separation=1&randomised-response=shown`,
  ]) {
    const { page } = await open(hash);
    for (const id of ['factorization', 'errors', 'ranking', 'statistics'])
      await reveal(page, id, '*');
    await page.$$eval('details', (all) => all.forEach((one) => (one.open = true)));
    assert.deepEqual(await singulars(page), [], hash);
    await page.close();
  }
  const { page } = await open('steps=20');
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['user,t,n,m\na,2026-03-01,1,\n'], 'own.csv'));
    document.body.dispatchEvent(
      new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
    );
  });
  await page.waitForSelector('#clip-guide .ask');
  await page.select('#set-person', 'user');
  await page.select('#set-time', 't');
  assert.match(await textOf(page, '#set-person-hint'), /^1 person; 1 of 1 row counts, /);
  assert.match(await textOf(page, '#set-time-hint'), /^1 step, /);
  assert.deepEqual(await singulars(page), [], 'a table of one row');
  await page.click('#clip-guide button');
  await page.waitForFunction(() => location.hash.includes('data=own'));
  await settled(page);
  assert.deepEqual(await singulars(page), [], 'a run of one row');
  await page.evaluate(() => (document.body.title = '1 rows'));
  assert.deepEqual(await singulars(page), ['1 rows'], 'the check finds one');
  await page.close();
});
