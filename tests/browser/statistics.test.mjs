// SPDX-License-Identifier: Apache-2.0

// The laboratory: mean and spread of a column, counts of categories, and several sums, after every
// step.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import {
  complaints,
  enter,
  openExport,
  readKey,
  readTable,
  reveal,
  root,
  savesOf,
  seedOf,
  startSite,
  textOf,
} from './support.mjs';

const { open } = await startSite();
const library = await load();

const shop = 'mechanism=square-root&data=shop_day&label=-&column=count&steps=840';
const target = {
  strategy: 'square-root',
  steps: 840,
  epsilon: 1,
  delta: 1e-6,
  insecureSeed: 1,
};
const text = await readFile(path.join(root, 'examples/shop_day.csv'), 'utf8');
const rows = text
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split(','));

/** Readings of the library, with every record as a step. */
function readings(kind, options, records) {
  const stream = library[kind]({ ...target, ...options });
  const all = stream.releaseMany(records);
  stream.dispose();
  return all;
}

/** Waits for charts with these keys, and for a released number other than `before`. */
async function drawn(page, keys, before = NaN) {
  await page.$eval('#statistics', (one) => one.scrollIntoView());
  await page.waitForFunction(
    (wanted, old) => {
      const shown = [...document.querySelectorAll('#statistics .panel')].map(
        (one) => one.dataset.key,
      );
      const value = document.querySelector('#statistics .panel data')?.value;
      return (
        shown.join() === wanted &&
        Number(value) !== old &&
        !document.getElementById('statistics').hasAttribute('aria-busy')
      );
    },
    {},
    keys,
    before,
  );
}

const keyOf = (page, key) => readKey(page, `#statistics [data-key="${key}"]`);

/** Rows of the CSV of Figure 6 by column name, and the comment above them. */
async function savedNumbers(page) {
  await openExport(page);
  await savesOf(page, '#export-statistics');
  const csv = await page.evaluate(() => window.saved.text());
  await page.$eval('#export', (one) => one.close());
  const [comment, names, ...lines] = csv.trimEnd().split('\n');
  const named = (line) =>
    Object.fromEntries(line.split(',').map((cell, i) => [names.split(',')[i], cell]));
  return { settings: JSON.parse(comment.slice(2)).settings, rows: lines.map(named) };
}

const partsOf = (row, key) =>
  ['value', 'low', 'high', 'stddev'].map((part) => Number(row[`${key}-${part}`]));
const partsIn = ({ value, low, high, stddev }) => [value, low, high, stddev];

test('mean, spread and count are those of the library, in the figure, table and file', async () => {
  const { page, said } = await open(shop);
  await reveal(page, 'statistics', '.key');
  const revenue = rows.map((row) => Number(row[3]));
  const records = revenue.map((price) => ({ price }));
  const all = readings('moments', { columns: { price: [0, 20] } }, records);
  const { mean, standardDeviation, count } = all.at(-1);
  const shown = await keyOf(page, 'mean');
  assert.equal(shown.release, mean.price.value);
  assert.ok(
    Math.abs(shown['without noise'] - revenue.reduce((sum, one) => sum + one, 0) / 840) < 1e-9,
  );
  assert.equal((await keyOf(page, 'spread')).release, standardDeviation.price.value);
  assert.equal((await keyOf(page, 'count')).release, count.value);
  assert.match(
    await textOf(page, '#statistics-note'),
    /hide whether any one record was there, and what it says, at ε\s=\s1 and δ\s=\s10⁻⁶/,
  );
  assert.match(
    await textOf(page, '#statistics-note'),
    /Publishing Figure 1 too would spend the same budget again\./,
  );
  assert.match(await textOf(page, '#set-statistic-hint'), /^Of the records of Figure 1, /);
  const table = await readTable(page, 'statistics-numbers');
  const [step, cells] = [...table][3];
  const { low, high, stddev } = all[step - 1].mean.price;
  assert.deepEqual(
    [cells['mean-low'], cells['mean-high'], cells['mean-stddev']],
    [low, high, stddev],
  );
  assert.equal(cells['count-truth'], step);
  // The file has all digits of all steps.
  const saved = await savedNumbers(page);
  assert.equal(saved.settings.statistic, 'moments');
  assert.equal(saved.rows.length, 840);
  saved.rows.forEach((row, i) => {
    assert.equal(row.step, String(i + 1));
    assert.deepEqual(partsOf(row, 'mean'), partsIn(all[i].mean.price));
    assert.deepEqual(partsOf(row, 'spread'), partsIn(all[i].standardDeviation.price));
    assert.deepEqual(
      [...partsOf(row, 'count'), Number(row['count-truth'])],
      [...partsIn(all[i].count), i + 1],
    );
  });
  assert.equal('time' in saved.rows[0], false);
  // The cursor moves in all charts, and in the figures above.
  await page.focus('#statistics [data-key=spread] .plot');
  await page.keyboard.press('Home');
  assert.equal(await textOf(page, '#statistics [data-key=mean] .key-at'), 'step 1');
  assert.equal((await keyOf(page, 'mean')).release, all[0].mean.price.value);
  assert.match(
    await page.$eval('#statistics [data-key=count] .plot', (one) =>
      one.getAttribute('aria-valuetext'),
    ),
    /^step 1, Number of records: release .*, interval .* to .*; secret: without noise 1$/,
  );
  assert.deepEqual(await complaints(page), []);
  // Enters another range by keyboard, which appears in the address; an invalid one is refused in
  // place.
  await enter(page, '#set-range', '0:5');
  await drawn(page, 'mean,spread,count', shown.release);
  assert.match(page.url(), /range=0%3A5/);
  const clipped = revenue.filter((one) => one > 5).length;
  assert.match(
    await textOf(page, '#statistics-note'),
    new RegExp(`Secret: ${clipped} of 840 records are outside 0 to 5 and are clipped\\.`),
  );
  await enter(page, '#set-range', '5:0');
  assert.match(await textOf(page, '#set-range-error'), /^range must be two numbers such as 0:90/);
  // No secret remains when secrets are hidden.
  await page.click('#deployed');
  await page.waitForFunction(() => !document.querySelector('#statistics .secret'));
  const spoken = await page.$eval('figure:has(#statistics)', (one) => one.outerHTML);
  assert.doesNotMatch(spoken, /secret:|Secret:|without noise <|clipped\./);
  assert.ok(
    [...(await readTable(page, 'statistics-numbers')).values()].every(
      (one) => !('mean-truth' in one),
    ),
  );
  assert.doesNotMatch(Object.keys((await savedNumbers(page)).rows[0]).join(), /truth/);
  assert.deepEqual(said, []);
  await page.close();
});

test('counts of categories follow the address, the seed and the neighbours', async () => {
  const { page, said } = await open(
    `${shop}&statistic=histogram&domain=0,1&noise-seed=7&neighbours=replace-one`,
  );
  await reveal(page, 'statistics', '.key');
  await drawn(page, '0,1,other');
  const categories = ['0', '1'];
  const items = rows.map((row) => row[2]);
  const options = { categories, other: 'other', neighbours: 'replace-one' };
  const last = (insecureSeed) => readings('histogram', { ...options, insecureSeed }, items).at(-1);
  for (const name of [...categories, 'other']) {
    const shown = await keyOf(page, name);
    assert.equal(shown.release, last(7).count[name].value);
    const isIn = (item) => (name === 'other' ? !categories.includes(item) : item === name);
    assert.equal(shown['without noise'], items.filter(isIn).length);
    const percent = (value) => `${(100 * value).toFixed(1).replace('-', '−')}\u00a0%`;
    const { value, low, high } = last(7).share[name];
    const share = `Share of all records: ${percent(value)}, ${percent(low)} to ${percent(high)}`;
    assert.equal(await textOf(page, `#statistics [data-key="${name}"] .hint`), share);
    const saved = (await savedNumbers(page)).rows.at(-1);
    assert.deepEqual(partsOf(saved, `${name}-share`), partsIn(last(7).share[name]));
    assert.equal(Number(saved[`${name}-share-truth`]), items.filter(isIn).length / 840);
  }
  await page.focus('#statistics [data-key="0"] .plot');
  await page.keyboard.press('Home');
  await page.waitForFunction(() =>
    /^Share of all records: /.test(
      document.querySelector('#statistics [data-key="1"] .hint').textContent,
    ),
  );
  assert.match(
    await page.$eval('#statistics [data-key="0"] .plot', (one) =>
      one.getAttribute('aria-valuetext'),
    ),
    /^step 1, .*\. Share of all records: .*\s%; secret: without noise [01]$/,
  );
  assert.match(
    await textOf(page, '#statistics-note'),
    /hide whether any one record was there, what it says, and which of any two it was, at/,
  );
  await page.click('#statistics-again');
  await drawn(page, '0,1,other', last(7).count['0'].value);
  assert.equal((await keyOf(page, '0')).release, last(8).count['0'].value);
  // Another column has other categories, which the user must specify.
  await page.select('#set-category', 'count');
  await page.waitForFunction(() =>
    /^Say which categories of count to count/.test(
      document.getElementById('statistics').textContent,
    ),
  );
  assert.doesNotMatch(page.url(), /domain/);
  assert.match(page.url(), /by=count/);
  assert.deepEqual(said, []);
  await page.close();
});

for (const mechanism of some(['optimal', 'banded-toeplitz', 'blt', 'banded'], 2)) {
  test(`several sums are released with a mechanism that was found for one of them: ${mechanism}`, async () => {
    const { page, said } = await open(
      `mechanism=${mechanism}&data=shop_day&label=-&column=count&steps=40&statistic=sums&window=5`,
    );
    await reveal(page, 'statistics', '.key');
    await drawn(page, 'sum-1,sum-2,sum-3');
    assert.match(
      await textOf(page, '#statistics-note'),
      new RegExp(`The mechanism is ${mechanism}`),
    );
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('several sums share one budget, and the page shows what error each would have alone', async () => {
  const { page, said } = await open(
    'mechanism=optimal&data=shop_day&label=-&column=count&buffers=4&steps=200&statistic=sums&window=5',
  );
  await reveal(page, 'statistics', '.key');
  await drawn(page, 'sum-1,sum-2,sum-3');
  assert.equal(
    await page.$eval('#set-together', (one) => one.placeholder),
    'total,window=5,decay=0.98',
  );
  await enter(page, '#set-together', 'total,window=60');
  await drawn(page, 'sum-1,sum-2');
  assert.match(page.url(), /together=total%2Cwindow%3D60/);
  const revenue = rows.slice(0, 200).map((row) => Number(row[3]));
  const own = { strategy: 'normalized-square-root', steps: 200 };
  const workloads = ['prefix', { window: 60 }];
  const named = { total: workloads[0], hour: workloads[1] };
  const { epsilon, delta, insecureSeed } = target;
  const sums = library.sums({
    ...{ ...own, epsilon, delta, insecureSeed },
    ...{ workloads: named, clip: 20 },
  });
  const all = sums.releaseMany(revenue).map((reading) => [reading.sums.total, reading.sums.hour]);
  const truth = [200, 60].map((latest) =>
    revenue.slice(-latest).reduce((sum, one) => sum + one, 0),
  );
  for (const [i, workload] of workloads.entries()) {
    const key = `sum-${i + 1}`;
    const shown = await keyOf(page, key);
    assert.equal(shown.release, all.at(-1)[i].value);
    assert.ok(Math.abs(shown['without noise'] - truth[i]) < 1e-9);
    // Errors stated with the releases, and those of a single workload with the same noise
    // multiplier.
    const together = Math.sqrt(all.reduce((sum, one) => sum + one[i].stddev ** 2, 0) / 200);
    const alone =
      20 * sums.certificate.noiseMultiplier * library.error({ ...own, workload }).meanError;
    const text = await textOf(page, `#statistics [data-key="${key}"] .hint`);
    const numbers = text
      .match(
        /^RMS error ([\d.]+)\. Alone, with the whole budget: ([\d.]+); with 1\/2 of it: ([\d.]+)\.$/,
      )
      .slice(1);
    for (const [k, wanted] of [together, alone, Math.SQRT2 * alone].entries()) {
      assert.ok(Math.abs(Number(numbers[k]) / wanted - 1) < 6e-3, `${text} ${wanted}`);
    }
    assert.ok(
      Number(numbers[1]) < Number(numbers[0]) && Number(numbers[0]) < Number(numbers[2]),
      text,
    );
  }
  sums.dispose();
  const note = await textOf(page, '#statistics-note');
  assert.match(
    note,
    /^These 2 sums come from one noisy measurement of the records, and are published after every step\. All of them together hide/,
  );
  assert.match(
    note,
    /The mechanism is normalized square root, because beyond 128 steps the search for the optimum is slow\. 1\/2 of the budget is 1\/2 of μ²\./,
  );
  await enter(page, '#set-together', 'total');
  assert.match(
    await textOf(page, '#set-together-error'),
    /^together must be 2 to 6 different sums/,
  );
  await enter(page, '#set-together', 'window=2,decay=0.5');
  // A long horizon uses the quick encoder, without parameters of another one.
  await enter(page, '#set-numSteps', '840');
  await page.$eval('#statistics', (one) => one.scrollIntoView());
  await page.waitForFunction(() =>
    /The mechanism is blt, because beyond 512 steps .*; alone, each would use normalized square root, or this one where it is better\./.test(
      document.getElementById('statistics-note').textContent,
    ),
  );
  assert.equal(await textOf(page, '#statistics [data-key="sum-1"] h3'), 'Sum of the last 2 steps');
  await page.click('#deployed');
  await page.waitForFunction(() => !document.querySelector('#statistics .secret'));
  assert.deepEqual(await complaints(page), []);
  assert.deepEqual(said, []);
  await page.close();
});

test('own rows of persons by day: the rows that count are released once categories are given', async () => {
  const { page, said } = await open('mechanism=square-root&steps=30&statistic=histogram');
  const csv =
    'day,member,minutes,drink\n2026-01-01,a,10,tea\n2026-01-01,b,20,tea\n2026-01-02,a,30,mate\n2026-01-04,b,40,tea\n2026-01-04,a,50,tea\n';
  await page.evaluate((content) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([content], 'own.csv', { type: 'text/csv' }));
    document.body.dispatchEvent(
      new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
    );
  }, csv);
  await page.waitForSelector('#clip-guide:not([hidden]) .ask');
  assert.match(await textOf(page, '#set-statistic-hint'), /^Of synthetic visitors, one per step, /);
  // Numbers that rise as evenly as these may be row numbers.
  await page.$$eval('#clip-guide button', (all) => all.at(-1).click());
  await page.waitForSelector('#clip-guide li:nth-child(3) button');
  await page.$eval('#clip-guide button', (one) => one.click());
  await page.waitForFunction(() => /data=own/.test(location.hash));
  await page.$eval('#statistics', (one) => one.scrollIntoView());
  await page.waitForFunction(() =>
    /^Say which categories of drink/.test(document.getElementById('statistics').textContent),
  );
  await enter(page, '#set-participations', '2');
  await enter(page, '#set-domain', 'tea');
  await drawn(page, 'tea,other');
  const histogram = library.histogram({
    ...{ ...target, steps: 4, people: { times: 2, apart: 1 }, insecureSeed: await seedOf(page) },
    ...{ categories: ['tea'], other: 'other' },
  });
  const days = [['a', 'b'], ['a'], [], ['b', 'a']];
  const drinks = [['tea', 'tea'], ['mate'], [], ['tea', 'tea']];
  const released = days.map((people, day) => histogram.releaseBatch(people, drinks[day]));
  histogram.dispose();
  const shown = await keyOf(page, 'tea');
  assert.equal(shown.release, released.at(-1).count.tea.value);
  assert.equal(shown['without noise'], 3);
  const saved = await savedNumbers(page);
  assert.deepEqual(
    saved.rows.map(({ time }) => time),
    ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'],
  );
  assert.deepEqual(partsOf(saved.rows[2], 'tea'), partsIn(released[2].count.tea));
  assert.match(
    await textOf(page, '#statistics-note'),
    /any one person was there, with up to 2 records that count, and what they say/,
  );
  assert.deepEqual(said, []);
  await page.close();
});
