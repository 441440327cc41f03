// SPDX-License-Identifier: Apache-2.0

// The laboratory: two mechanisms over one true curve, epsilon and error linked both ways, the noise
// of other runs, and what can be taken away.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { enter, readKey, reveal, root, settled, startSite, textOf } from './support.mjs';

const { open } = await startSite();
const library = await load();

const hashOf = (page) => page.evaluate(() => location.hash);

test('it opens with two mechanisms over one true curve, and their errors beside it', async () => {
  const { page, said } = await open('lab');
  assert.equal(await page.$$eval('#sums .panel', (all) => all.length), 1);
  const sums = await readKey(page, '#sums');
  assert.deepEqual(Object.keys(sums), [
    'A optimal',
    'A 2σ band',
    'B independent',
    'B 2σ band',
    'true total',
  ]);
  assert.equal(sums['true total'], 364);
  assert.ok(sums['B 2σ band'] > 9 * sums['A 2σ band']);
  const errors = await readKey(page, '#sum-errors');
  for (const [lane, release] of [
    ['A', sums['A optimal']],
    ['B', sums['B independent']],
  ]) {
    assert.equal(errors[`${lane} release − truth`], release - 364);
    assert.equal(errors[`${lane} 2σ band`], sums[`${lane} 2σ band`]);
  }
  assert.equal(await hashOf(page), '#lab');
  await page.select('#set-compare', 'tree');
  await page.waitForFunction(() => location.hash.includes('compare=tree'));
  await settled(page);
  await page.reload();
  await settled(page);
  assert.deepEqual((await readKey(page, '#sums'))['true total'], 364);
  assert.deepEqual(said, []);
  await page.close();
});

test('an address of before means what it meant: what it does not name is the old default', async () => {
  const { page } = await open('steps=100');
  assert.deepEqual(Object.keys(await readKey(page, '#sums')), ['release', '2σ band', 'true total']);
  assert.equal(await page.$eval('#set-source', (select) => select.value), 'synthetic');
  await page.close();
});

test('an error that can be borne gives its epsilon, and epsilon its error', async () => {
  const { page, said } = await open('lab');
  const worstOf = () => page.$eval('#target-worst', (input) => Number(input.value));
  const expected = (epsilon) => {
    const { certificate } = library.simulation({ numSteps: 840, epsilon, delta: 1e-6 });
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

test('the noise is drawn again over the same truth, with the noise of thirty other runs', async () => {
  const { page } = await open('lab');
  const before = await readKey(page, '#sums');
  await page.click('#draw-again');
  await page.waitForFunction(() => location.hash.includes('noise-seed=2'));
  await settled(page);
  const again = await readKey(page, '#sums');
  assert.notEqual(again['A optimal'], before['A optimal']);
  assert.equal(again['true total'], before['true total']);
  assert.equal(again['A 2σ band'], before['A 2σ band']);
  /** Pixels of the error figure that are not paper. */
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
  assert.match(captions[1], /^C⁻¹ of square-root/);
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
  assert.deepEqual(said, []);
  await page.close();
});

for (const hash of [
  'lab',
  'data=shop_day&column=items&column=revenue&label=-&steps=840&clip=20&mechanism=banded-toeplitz&bands=9',
]) {
  test(`program and command print what the page shows: #${hash}`, async () => {
    const { page, said } = await open(hash);
    const folder = await mkdtemp(path.join(root, 'build/export-'));
    try {
      await page.click('#export-open');
      const program = await textOf(page, '#export-javascript');
      const command = await textOf(page, '#export-command');
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
      assert.equal(header.settings.numSteps, 840);
      assert.equal(rows.length, 840);
      const cells = rows.at(-1).split(',').map(Number);
      const release = names.split(',').findIndex((name) => name.startsWith('release'));
      const key = await readKey(page, '#sums');
      assert.equal(cells[release], key[Object.keys(key)[0]]);
      const file = path.join(folder, 'same.mjs');
      const dist = JSON.stringify(path.join(root, 'dist/index.js'));
      await writeFile(file, program.replace("'dp-ftrl'", dist));
      const run = (args) => execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
      const printed = run([file]).trim().split(' ').map(Number);
      assert.deepEqual(printed, cells.slice(release, release + printed.length));
      const words = command.trim().split(' ').slice(1);
      const last = run(['dist/cli.js', ...words]).trim().split('\n').at(-1).split(',').map(Number);
      assert.deepEqual(last.slice(1, 1 + printed.length), printed);
    } finally {
      await rm(folder, { recursive: true });
    }
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('a question mark lists the keys, except in a text', async () => {
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

test('every preset runs, and Back leads out of it', async () => {
  const { page, said } = await open('steps=20');
  const presets = await page.$$eval('.presets a', (all) => all.map((one) => one.hash));
  assert.ok(presets.length >= 4);
  for (const hash of presets) {
    await page.$eval(`.presets a[href="${hash}"]`, (link) => link.click());
    await page.waitForFunction((wanted) => location.hash === wanted, {}, hash);
    await page.waitForFunction(
      () => Number(document.getElementById('progress').max) > 20,
      { timeout: 60_000 },
    );
    await settled(page);
    assert.equal(await hashOf(page), hash, 'an address as the page writes it');
    assert.equal(await page.$eval('#notice', (notice) => notice.hidden), true);
    assert.equal(await page.$eval('#run-error', (box) => box.hidden), true);
    await page.goBack();
    await page.waitForFunction(() => document.getElementById('set-numSteps').value === '20');
    await settled(page);
  }
  assert.deepEqual(said, []);
  await page.close();
});
