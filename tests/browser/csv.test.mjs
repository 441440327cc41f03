// SPDX-License-Identifier: Apache-2.0

// A table of one's own: taken in, learned from, refused with row and column, and never sent.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { load } from '../../dist/index.js';
import { launch, openPage, readKey, serveSite, settled, stepOf, textOf } from './support.mjs';

let site;
let browser;
let library;
before(async () => {
  [site, browser, library] = await Promise.all([serveSite(), launch(), load()]);
});
after(async () => {
  await browser.close();
  site.close();
});

/** Chooses "your own CSV" and pastes a text the way a clipboard does. */
async function paste(page, text) {
  await page.select('#set-source', 'own');
  await page.$eval(
    '#csv-text',
    (area, value) => {
      area.focus();
      area.select();
      document.execCommand('insertText', false, value);
      area.dispatchEvent(new ClipboardEvent('paste', { bubbles: true }));
    },
    text,
  );
}

const open = async (hash = '') => {
  const opened = await openPage(browser, `${site.url}#${hash}`, { calm: true });
  await settled(opened.page);
  return opened;
};
const ranSteps = (page, steps) =>
  page.waitForFunction((n) => document.getElementById('progress').max === n, {}, steps);

const visits = 'day,visits,bought\n1,2.5,1\n2,0,0\n3,-1,0\n4,4,1\n5,1,0\n';

test('a pasted table is summed, column by column, as the library does', async () => {
  const { page, said, asked } = await open();
  const loaded = [...asked];
  await paste(page, visits);
  await ranSteps(page, 5);
  await settled(page);
  const boxes = await page.$$eval('.columns input', (all) => all.map((b) => [b.value, b.checked]));
  assert.deepEqual(
    boxes,
    [
      ['day', false],
      ['visits', true],
      ['bought', true],
    ],
    'a row counter is left out',
  );
  const values = Float64Array.of(2.5, 1, 0, 0, -1, 0, 4, 1, 1, 0);
  const simulation = library.simulation({
    epsilon: 1,
    delta: 1e-6,
    numSteps: 5,
    table: { numRows: 5, numColumns: 2, values },
  });
  const chunk = simulation.advance(5);
  simulation.dispose();
  const key = await readKey(page, '#sums');
  assert.equal(key.release, chunk.noisySums[8]);
  assert.equal(key['true total'], chunk.trueSums[8]);
  assert.match(await textOf(page, '#learning'), /choose a label column/);
  assert.match(
    await page.$eval('.columns', (box) => box.closest('.field').textContent),
    /5 rows; 40\.0 % are longer than the clip norm/,
  );
  const others = asked.filter((url) => !loaded.includes(url));
  assert.deepEqual(others, [], 'nothing was sent or fetched');
  assert.deepEqual(said, []);
  assert.match(await page.$eval('.drop', (box) => box.textContent), /never leaves this computer/);
  assert.ok(!(await page.evaluate(() => location.href)).includes('2.5'), 'no data in the address');
  await page.close();
});

test('a label column is learned, and columns are chosen by their boxes', async () => {
  const { page } = await open();
  await paste(page, visits);
  await ranSteps(page, 5);
  await settled(page);
  await page.select('#set-label', 'bought');
  await page.waitForFunction(() => document.querySelector('#learning .key') !== null);
  await settled(page);
  assert.equal(await page.$eval('.columns input[value=bought]', (box) => box.disabled), true);
  assert.equal(await page.$eval('.columns input[value=bought]', (box) => box.checked), false);
  const simulation = library.simulation({
    epsilon: 1,
    delta: 1e-6,
    numSteps: 5,
    table: {
      numRows: 5,
      numColumns: 1,
      values: Float64Array.of(2.5, 0, -1, 4, 1),
      labels: Float64Array.of(1, 0, 0, 1, 0),
    },
  });
  const chunk = simulation.advance(5);
  simulation.dispose();
  const mean = chunk.privateLoss.reduce((sum, loss) => sum + loss, 0) / 5;
  const key = await readKey(page, '#learning');
  assert.ok(Math.abs(key['private learner'] - mean) < 1e-12);
  await page.close();
});

test('a bad table is refused with row and column, and the last good run stays', async () => {
  const { page, said } = await open('steps=40');
  const before = await readKey(page, '#sums');
  for (const [text, pattern] of [
    [
      'a,b\n1,2\n3\n',
      /^row 2 \(line 3 of the text\) must have as many cells as the header, 2, got 1$/,
    ],
    ['a,b\n', /^there is no row below the header$/],
    ['1,2\n3,4\n', /^the first row must name the columns, but all its cells are numbers$/],
    ['a,a\n1,2\n', /^the header row has “a” twice$/],
    ['a,\n1,2\n', /^the header row has no name for column 2$/],
    ['name\nx\ny\n', /^no column has a number in it$/],
    ['a,b\n"1,2\n', /^the text is not CSV: /],
  ]) {
    await paste(page, text);
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.getElementById('set-source-error').textContent),
      { timeout: 3000 },
      pattern.source,
    );
    assert.deepEqual(await readKey(page, '#sums'), before);
  }
  assert.equal(
    await page.$eval('#set-source', (select) => select.getAttribute('aria-invalid')),
    'true',
  );
  assert.deepEqual(said, []);
  await page.close();
});

test('a column with a hole is not chosen; choosing it names the cell', async () => {
  const { page } = await open();
  await paste(page, 'name,count,sum\nx,1,10\ny,,20\nz,n/a,15\nw,4,30\n');
  await ranSteps(page, 4);
  await settled(page);
  const boxes = await page.$$eval('.columns input', (all) => all.map((b) => [b.value, b.checked]));
  assert.deepEqual(boxes, [
    ['count', false],
    ['sum', true],
  ]);
  const before = await readKey(page, '#sums');
  await page.click('.columns input[value=count]');
  await page.waitForFunction(() => document.getElementById('set-columns-error').textContent !== '');
  assert.equal(
    await textOf(page, '#set-columns-error'),
    'row 2 (line 3 of the text), column “count”: must be a number, got an empty cell',
  );
  assert.deepEqual(await readKey(page, '#sums'), before);
  await page.click('.columns input[value=count]');
  await page.waitForFunction(() => document.getElementById('set-columns-error').hidden);
  await page.click('.columns input[value=sum]');
  await page.waitForFunction(() => !document.getElementById('set-columns-error').hidden);
  assert.equal(await textOf(page, '#set-columns-error'), 'choose at least one column to sum');
  await page.close();
});

test('labels the loss does not know are refused with their row; the other loss takes them', async () => {
  const { page } = await open();
  await paste(page, 'x,y\n0.5,1\n0.2,0\n-0.1,3\n');
  await ranSteps(page, 3);
  await settled(page);
  await page.select('#set-label', 'y');
  await page.waitForFunction(() => document.getElementById('set-label-error').textContent !== '');
  assert.match(
    await textOf(page, '#set-label-error'),
    /^row 3, column “y”: a label for the logistic loss must be 0, 1 or −1, got 3/,
  );
  await page.$eval('#set-loss', (select) => {
    select.value = 'squared';
    select.dispatchEvent(new Event('change'));
  });
  await page.waitForFunction(() => document.getElementById('set-label-error').hidden);
  await settled(page);
  assert.ok('private learner' in (await readKey(page, '#learning')));
  await page.close();
});

test('semicolons, quotes, a byte order mark and a dropped file are understood', async () => {
  const { page } = await open();
  await page.evaluate(() => {
    const text = '\uFEFF"visits; all";b\r\n1;2\r\n"3";4.5e0\r\n';
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'own.csv', { type: 'text/csv' }));
    document.body.dispatchEvent(
      new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
    );
  });
  await ranSteps(page, 2);
  await settled(page);
  assert.equal(await page.$eval('#set-source', (select) => select.value), 'own');
  assert.deepEqual(await page.$$eval('.columns input', (all) => all.map((box) => box.value)), [
    'visits; all',
    'b',
  ]);
  await page.close();
});

test('a file that is not UTF-8 is refused, and a choice of own data survives other changes', async () => {
  const { page } = await open('steps=30');
  await page.select('#set-source', 'own');
  await page.select('#set-mechanism', 'tree');
  await settled(page);
  assert.equal(await page.$eval('#set-source', (select) => select.value), 'own');
  assert.equal(await page.$eval('.drop', (box) => box.hidden), false);
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.of(97, 10, 0xff)], 'latin.csv'));
    document.body.dispatchEvent(
      new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
    );
  });
  await page.waitForFunction(() => !document.getElementById('set-source-error').hidden);
  assert.equal(await textOf(page, '#set-source-error'), 'latin.csv must be text in UTF-8');
  await page.close();
});

test('a link made with own data says that the data is not in it', async () => {
  const { page } = await open('data=own&column=x&steps=30');
  assert.match(await textOf(page, '#notice'), /your own CSV is not part of the address/);
  assert.equal(await stepOf(page), 30, 'the rest is in force');
  await page.close();
});

test('every example runs, and pendulum learns', async () => {
  const { page, said } = await open();
  for (const name of ['shop_day', 'tide', 'calendar', 'pendulum']) {
    await page.select('#set-source', name);
    await page.waitForFunction((data) => location.hash.includes(`data=${data}`), {}, name);
    await settled(page);
    assert.equal(await page.$eval('#run-error', (error) => error.hidden), true);
    assert.match(
      await page.$eval('.columns', (box) => box.closest('.field').textContent),
      /(none|no gradient can be) longer than the clip norm/,
    );
  }
  assert.ok('private learner' in (await readKey(page, '#learning')));
  assert.match(await textOf(page, '#facts'), /Predictions right so far/);
  assert.deepEqual(said, []);
  await page.close();
});
