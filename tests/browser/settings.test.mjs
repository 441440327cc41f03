// SPDX-License-Identifier: Apache-2.0

// The address holds the whole state; errors are reported at their control, and the last valid run
// stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enter, readKey, settled, startSite, stepOf, textOf, unfold } from './support.mjs';

const { site, browser, open } = await startSite();

const hashOf = (page) => page.evaluate(() => location.hash);
const stateOfControls = (page) =>
  page.$$eval('select, input[type=text], input[type=checkbox]', (controls) =>
    controls
      .filter((control) => control.closest('[hidden]') === null)
      .map((control) => [control.id || control.value, control.checked ?? false, control.value]),
  );

test('every setting goes into the address, and a reload brings everything back', async () => {
  const { page, said } = await open('');
  assert.equal(await hashOf(page), '#mechanism=optimal', 'the defaults need no other settings');
  await page.select('#set-mechanism', 'tree');
  await page.select('#set-compare', 'independent');
  await page.select('#set-neighbours', 'replace-one');
  await page.select('#set-stream', 'drifting');
  await page.select('#set-loss', 'squared');
  for (const [id, text] of [
    ['epsilon', '0.75'],
    ['delta', '2e-7'],
    ['clipNorm', '1.5'],
    ['numSteps', '150'],
    ['dimension', '3'],
    ['streamSeed', '5'],
    ['lambda', '40'],
    ['noiseSeed', '6'],
  ])
    await enter(page, `#set-${id}`, text);
  await page.select('#sums-view', '3');
  await page.select('#learning-view', 'regret');
  await page.select('#speed', 'max');
  await page.click('#deployed');
  await page.waitForFunction(() => document.getElementById('progress').max === 150);
  await settled(page);
  const hash = await hashOf(page);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(hash.slice(1))), {
    mechanism: 'tree',
    compare: 'independent',
    epsilon: '0.75',
    delta: '2e-7',
    neighbours: 'replace-one',
    clip: '1.5',
    stream: 'drifting',
    steps: '150',
    dimension: '3',
    'stream-seed': '5',
    loss: 'squared',
    lambda: '40',
    'noise-seed': '6',
    speed: 'max',
    sums: '3',
    learning: 'regret',
    secrets: 'hidden',
  });
  const controls = await stateOfControls(page);
  const key = await readKey(page, '#sums .panel:first-child');
  await page.reload();
  await settled(page);
  assert.equal(await hashOf(page), hash);
  assert.deepEqual(await stateOfControls(page), controls);
  assert.deepEqual(await readKey(page, '#sums .panel:first-child'), key);
  assert.equal(await page.$eval('#notice', (notice) => notice.hidden), true);
  assert.deepEqual(said, []);
  await page.close();
});

test('an example and its columns go into the address', async () => {
  const { page } = await open('');
  await page.select('#set-source', 'shop_day');
  await page.waitForFunction(() => location.hash.includes('data=shop_day'));
  await settled(page);
  const names = new URLSearchParams((await hashOf(page)).slice(1));
  assert.deepEqual(names.getAll('column'), ['count']);
  const key = await readKey(page, '#sums');
  await page.reload();
  await settled(page);
  assert.equal(await page.$eval('#set-source', (select) => select.value), 'shop_day');
  assert.deepEqual(await readKey(page, '#sums'), key);
  await page.close();
});

test('invalid settings in an address are reported, and marked at the control', async () => {
  const { page, said } = await open(
    'epsilon=-1&delta=2&horizom=3&mechanisn=tree&colour=red&mechanism=magic&steps=50&steps=60&data=secrets&dimension=1e3',
  );
  const items = await page.$$eval('#notice li', (list) => list.map((item) => item.textContent));
  for (const pattern of [
    /^there is no setting “colour”$/,
    /^there is no setting “horizom”$/,
    /^there is no setting “mechanisn”; is “mechanism” meant\?$/,
    /^“steps” is given twice$/,
    /^epsilon must be a finite number > 0, got “-1”$/,
    /^delta must be > 0 and < 1, got “2”$/,
    /^mechanism must be one of optimal, independent, output, tree, .*, log-perturbed, got “magic”$/,
    /^data must be one of synthetic, .*, got “secrets”$/,
    /^dimension must be a whole number from 1 to 64, got “1e3”$/,
  ])
    assert.ok(
      items.some((item) => pattern.test(item)),
      `${pattern} in ${items.join(' | ')}`,
    );
  assert.equal(items.length, 9);
  assert.equal(
    await page.$eval('#set-epsilon', (input) => input.getAttribute('aria-invalid')),
    'true',
  );
  assert.equal(await page.$eval('#set-epsilon', (input) => input.value), '-1');
  assert.equal(await stepOf(page), 50, 'the rest is in force');
  await page.click('#notice button');
  assert.equal(await page.$eval('#notice', (notice) => notice.hidden), true);
  assert.deepEqual(said, []);
  await page.close();
});

test('bad values are reported beside their control, and the last good run stays', async () => {
  const { page, said } = await open('steps=60');
  const before = await readKey(page, '#sums');
  for (const [id, text, message] of [
    ['epsilon', '0', 'epsilon must be a finite number > 0, got “0”'],
    ['epsilon', 'NaN', 'epsilon must be a finite number > 0, got “NaN”'],
    ['epsilon', '1e999', 'epsilon must be a finite number > 0, got “1e999”'],
    ['delta', '1', 'delta must be > 0 and < 1, got “1”'],
    ['delta', '', 'delta must be > 0 and < 1, got nothing'],
    ['clipNorm', '-2', 'clip must be a finite number > 0, got “-2”'],
    ['numSteps', '0', 'steps must be a whole number from 1 to 1,000,000, got “0”'],
    ['numSteps', '2.5', 'steps must be a whole number from 1 to 1,000,000, got “2.5”'],
    ['numSteps', '1000001', 'steps must be a whole number from 1 to 1,000,000, got “1000001”'],
    ['dimension', '0', 'dimension must be a whole number from 1 to 64, got “0”'],
    ['lambda', 'some', 'lambda must be “auto” or a finite number > 0, got “some”'],
    [
      'noiseSeed',
      '-1',
      'noise-seed must be a whole number from 0 to 9,007,199,254,740,991, got “-1”',
    ],
  ]) {
    const good = await page.$eval(`#set-${id}`, (input) => input.value);
    await unfold(page, `#set-${id}`);
    await page.focus(`#set-${id}`);
    await page.$eval(`#set-${id}`, (input) => input.select());
    if (text === '') await page.keyboard.press('Delete');
    else await page.keyboard.type(text);
    await page.$eval(`#set-${id}`, (input) => input.blur());
    assert.equal(await textOf(page, `#set-${id}-error`), message);
    const [invalid, described] = await page.$eval(`#set-${id}`, (input) => [
      input.getAttribute('aria-invalid'),
      input.getAttribute('aria-describedby'),
    ]);
    assert.equal(invalid, 'true');
    assert.ok(described.includes(`set-${id}-error`));
    assert.deepEqual(await readKey(page, '#sums'), before);
    assert.equal(await hashOf(page), '#steps=60');
    await enter(page, `#set-${id}`, good);
    assert.equal(
      await page.$eval(`#set-${id}`, (input) => input.getAttribute('aria-invalid')),
      null,
    );
    assert.equal(await page.$eval(`#set-${id}-error`, (error) => error.hidden), true);
  }
  assert.deepEqual(said, []);
  await page.close();
});

test('steps and dimension that are too large together are reported at the horizon', async () => {
  const { page } = await open('steps=60');
  await enter(page, '#set-dimension', '64');
  await enter(page, '#set-numSteps', '100000');
  await page.waitForFunction(
    () => document.getElementById('set-numSteps-error').textContent !== '',
  );
  assert.match(
    await textOf(page, '#set-numSteps-error'),
    /^steps × dimension must be at most 4,000,000, got 100,000 × 64$/,
  );
  assert.equal(await stepOf(page), 60);
  await page.close();
});

test('an address that cannot run is reported, and the defaults run', async () => {
  const { page, said } = await open('steps=100000&dimension=64&mechanism=tree');
  assert.match(await textOf(page, '#notice'), /steps × dimension must be at most 4,000,000/);
  assert.equal(await stepOf(page), 1024);
  assert.deepEqual(said, []);
  await page.close();
});

test('a value that only the library refuses shows an error, and the last good run stays', async () => {
  const { page } = await open('steps=60');
  const before = await readKey(page, '#sums');
  await enter(page, '#set-clipNorm', '1e308');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.controls .error, #run-error')].some((error) => !error.hidden),
  );
  assert.deepEqual(await readKey(page, '#sums'), before);
  await enter(page, '#set-clipNorm', '1');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.controls .error, #run-error')].every((error) => error.hidden),
  );
  await page.close();
});

test('a second mechanism runs on the same stream, with its own certificate', async () => {
  const { page } = await open('steps=200&learning=accuracy');
  await page.select('#set-compare', 'output');
  await page.waitForSelector('#sums .panel[data-mechanism$=output]');
  await settled(page);
  assert.equal(
    await page.$$eval('#certificate thead th', (cells) => cells.map((c) => c.textContent).join()),
    'Parameter,optimal,output',
  );
  const both = await readKey(page, '#learning');
  await page.select('#set-mechanism', 'output');
  await page.select('#set-compare', 'none');
  await page.waitForSelector('#sums .panel[data-mechanism=output]');
  await settled(page);
  const alone = await readKey(page, '#learning');
  assert.equal(both['B output'], alone['private learner']);
  assert.equal(both['non-private twin'], alone['non-private twin']);
  await page.close();
});

/** True if a canvas has pixels of the colour that marks secrets. */
const drawsSecrets = (page) =>
  page.evaluate(() => {
    const style = getComputedStyle(document.documentElement).getPropertyValue('--secret').trim();
    const colour = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16));
    return [...document.querySelectorAll('.stage canvas')].map((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] > 200 && colour.every((c, k) => Math.abs(c - data[i + k]) < 30))
          return true;
      }
      return false;
    });
  });

test('secrets are drawn unless they are hidden', async () => {
  const { page } = await open('steps=100&learning=regret');
  assert.deepEqual(await drawsSecrets(page), [true, false, true]);
  assert.ok('release − truth' in (await readKey(page, '#sum-errors')));
  await page.click('#deployed');
  assert.deepEqual(await drawsSecrets(page), [false, false, false]);
  await page.close();
});

test('hiding the secrets leaves nothing of them on the page', async () => {
  const { page } = await open('steps=100&secrets=hidden');
  await page.$$eval('details', (all) => all.forEach((details) => (details.open = true)));
  await page.waitForSelector('#sums-numbers tbody tr');
  assert.deepEqual(Object.keys(await readKey(page, '#sums')), ['release', '2σ band']);
  assert.deepEqual(Object.keys(await readKey(page, '#sum-errors')), ['2σ band']);
  const names = await page.$$eval('data[data-column]', (cells) => [
    ...new Set(cells.map((c) => c.dataset.column)),
  ]);
  assert.deepEqual(names, ['release', 'band', 'stddev']);
  const visible = await page.$eval('.stage', (stage) => stage.innerText);
  assert.doesNotMatch(visible, /true total|truth|twin|right so far/i);
  assert.doesNotMatch(await textOf(page, '#summary'), /true/);
  // Secrets are also absent from the text for screen readers, at the last step and at others.
  await page.focus('#sums [role=slider]');
  await page.keyboard.press('ArrowLeft');
  const spoken = await page.$$eval('.stage *', (all) =>
    all.flatMap((one) => [...one.attributes].map(({ value }) => value)),
  );
  assert.ok(spoken.some((text) => text.startsWith('step 99: release')));
  for (const text of spoken) assert.doesNotMatch(text, /true total|truth|secret: /);
  await page.close();
});

test('the share button copies the address', async () => {
  await browser
    .defaultBrowserContext()
    .overridePermissions(site.origin, [
      'clipboard-read',
      'clipboard-write',
      'clipboard-sanitized-write',
    ]);
  const { page } = await open('steps=70&mechanism=tree');
  await page.bringToFront();
  await page.click('#share');
  await page.waitForFunction(() => document.getElementById('share').textContent === 'Copied');
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    `${site.url}#mechanism=tree&steps=70`,
  );
  await page.close();
});
