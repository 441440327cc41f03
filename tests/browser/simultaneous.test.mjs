// SPDX-License-Identifier: Apache-2.0

// The laboratory: the simultaneous band for all steps, next to the band for single steps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import {
  complaints,
  fits,
  openExport,
  readKey,
  readTable,
  savedPanels,
  savesOf,
  settled,
  startSite,
  textOf,
} from './support.mjs';

const { open } = await startSite();
const library = await load();

const shown = 'every-step-band=shown';
const day = `data=shop_day&column=count&label=-&steps=840&compare=independent&${shown}`;
const line = 'every step, 95 %';
const drawn = (page) => page.waitForSelector('#sums .swatch.wide');

/** Half the width of the band to be drawn, for a simulation that the page shows. */
function expected(options, { certificate, dimension }) {
  const error = library.error({ ...options, beta: 0.05, dimension });
  const unit = certificate.noiseMultiplier * certificate.clipNorm;
  return { entry: unit * error.simultaneousError, norm: unit * error.simultaneousNorm };
}

const near = (value, wanted) =>
  assert.ok(Math.abs(value / wanted - 1) < 1e-9, `${value}, ${wanted}`);

test('the band for every step is as wide as the library says, in the key and in the table', async () => {
  const steps = 96;
  const problem = { steps, strategy: 'tree' };
  const { page, said } = await open(`mechanism=tree&steps=${steps}&clip=3`);
  assert.equal(await page.$eval('#simultaneous-note', (note) => note.hidden), true);
  const before = await readKey(page, '#sums');
  await page.focus('#simultaneous');
  await page.keyboard.press('Space');
  await page.waitForFunction((text) => location.hash.includes(text), {}, shown);
  await drawn(page);
  const simulation = library.study.simulation({ ...problem, epsilon: 1, delta: 1e-6, clip: 3 });
  const { entry, norm } = expected(problem, simulation);
  const key = await readKey(page, '#sums');
  near(key[line], entry);
  const { [line]: wide, ...rest } = key;
  assert.deepEqual(rest, before, 'everything else stays');
  near((await readKey(page, '#sum-errors'))[line], wide);
  for (const row of (await readTable(page, 'sums-numbers')).values()) near(row.wide, entry);
  assert.equal(
    await textOf(page, '#simultaneous-note'),
    'Each step lies in the narrow band with probability 95.4 %, so about 4.4 of 96 may lie outside; with ' +
      'probability at least 95 %, every step lies in the wide band, in all 4 coordinates.',
  );
  assert.match(await textOf(page, '#facts'), /Steps outside the wide band: none\./);
  assert.match(
    await page.$eval('#sums .plot', (plot) => plot.getAttribute('aria-valuetext')),
    /release .*, plus or minus .*, every step plus or minus .*; secret: true total /,
  );
  await page.select('#sums-view', 'norm');
  await page.waitForFunction(() => location.hash.includes('sums=norm'));
  await page.waitForFunction(
    (name, other) => {
      const item = [...document.querySelectorAll('#sums .key li')].find((one) =>
        one.textContent.startsWith(name),
      );
      return item !== undefined && Number(item.querySelector('data').value) !== other;
    },
    {},
    line,
    wide,
  );
  near((await readKey(page, '#sums'))[line], norm);
  await page.focus('#simultaneous');
  await page.keyboard.press('Space');
  await page.waitForFunction((text) => !location.hash.includes(text), {}, shown);
  assert.equal(await page.$('.swatch.wide'), null);
  assert.equal(await page.$eval('#simultaneous-note', (note) => note.hidden), true);
  assert.deepEqual(said, []);
  await page.close();
});

test('of many runs, few leave the band for every step, and many leave the band of each step', async () => {
  const { page } = await open(
    `${shown}&steps=60&data=shop_day&column=count&label=-&mechanism=square-root`,
  );
  await drawn(page);
  const key = await readKey(page, '#sums');
  await page.close();
  const options = { steps: 60, strategy: 'square-root', epsilon: 1, delta: 1e-6 };
  const numRuns = 400;
  const left = { [line]: 0, '2σ band': 0 };
  for (let noiseSeed = 1; noiseSeed <= numRuns; ++noiseSeed) {
    const simulation = library.study.simulation({
      ...options,
      noiseSeed,
      dimension: 1,
      lambda: 1e100,
    });
    const { trueSums, noisySums, stddev } = simulation.advance(60);
    simulation.dispose();
    const errors = noisySums.map((value, step) => Math.abs(value - trueSums[step]));
    if (errors.some((error) => error > key[line])) left[line] += 1;
    if (errors.some((error, step) => error > 2 * stddev[step])) left['2σ band'] += 1;
  }
  // More than 40 of 400 leave a band of probability 0.95 by chance once in 10^5 tries.
  assert.ok(left[line] <= 40, `${left[line]} left the wide band`);
  assert.ok(left[line] > 0, 'the band is not far too wide');
  assert.ok(left['2σ band'] > numRuns / 3, `${left['2σ band']} left the narrow band`);
});

test('the link, the CSV and the picture contain the band, even with secrets hidden', async () => {
  const { page, said } = await open(`${day}&secrets=hidden`);
  await drawn(page);
  const key = await readKey(page, '#sums');
  assert.deepEqual(Object.keys(key), [
    'A optimal',
    'A 2σ band',
    `A ${line}`,
    'B fresh noise',
    'B 2σ band',
    `B ${line}`,
  ]);
  for (const lane of ['A', 'B']) assert.ok(key[`${lane} ${line}`] > key[`${lane} 2σ band`]);
  await page.reload();
  await settled(page);
  await drawn(page);
  assert.deepEqual(await readKey(page, '#sums'), key);
  await openExport(page);
  await savesOf(page, '#export-csv');
  const [comment, names, ...rows] = (await page.evaluate(() => window.saved.text()))
    .trimEnd()
    .split('\n');
  const { lanes, settings } = JSON.parse(comment.slice(2));
  assert.equal(settings.numSteps, 840);
  const lane = (name) => [`release_${name}_1`, `std_${name}`, `every_step_${name}`];
  assert.deepEqual(names.split(','), ['step', ...lane('a'), ...lane('b')]);
  for (const [i, lane] of ['A', 'B'].entries()) {
    assert.equal(lanes[i].simultaneousBand.beta, 0.05);
    assert.equal(lanes[i].simultaneousBand.coordinate, key[`${lane} ${line}`]);
    for (const row of [rows[0], rows.at(-1)]) {
      assert.equal(Number(row.split(',')[3 + 3 * i]), key[`${lane} ${line}`]);
    }
  }
  await savesOf(page, '[data-picture=errors]');
  const [errors] = await savedPanels(page);
  const half = key[`B ${line}`];
  const [upper, lower] = errors.lines
    .slice(-2)
    .map((points) => points.map(([, y]) => errors.valueAt(y)));
  for (const value of upper) assert.ok(Math.abs(value - half) < 0.01 * half, `${value}, ${half}`);
  for (const value of lower) assert.ok(Math.abs(value + half) < 0.01 * half, `${value}, ${-half}`);
  for (const lane of ['A', 'B']) assert.ok(`${lane} ${line}` in errors.legend, errors.all);
  await page.keyboard.press('Escape');
  await page.emulateMediaType('print');
  assert.ok(await page.$eval('#simultaneous-note', (note) => note.checkVisibility()));
  assert.deepEqual(said, []);
  await page.close();
});

test('without the band, the CSV has no columns for it', async () => {
  const { page } = await open('steps=20');
  await openExport(page);
  await savesOf(page, '#export-csv');
  const [comment, names] = (await page.evaluate(() => window.saved.text())).split('\n');
  assert.ok(!comment.includes('simultaneousBand') && !names.includes('every_step'));
  await page.close();
});

test('if the band cannot be computed, the note says why, and the rest stays', async () => {
  const { page } = await open('steps=20', {
    before: () => {
      const post = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function (message, ...rest) {
        if (JSON.stringify(message?.argument ?? '').includes('"beta"')) throw new Error('no room');
        post.call(this, message, ...rest);
      };
    },
  });
  await page.click('#simultaneous');
  await page.waitForFunction(() =>
    /no room/.test(document.getElementById('simultaneous-note').textContent),
  );
  assert.deepEqual(Object.keys(await readKey(page, '#sums')), ['release', '2σ band', 'true total']);
  await page.close();
});

for (const scheme of some(['light', 'dark'], 2)) {
  test(`the band fits 320 px, and axe finds nothing wrong: ${scheme}`, async () => {
    const { page } = await open(day, { width: 320, scheme });
    await drawn(page);
    assert.deepEqual(await complaints(page), []);
    await fits(page);
    await page.close();
  });
}
