// SPDX-License-Identifier: Apache-2.0

// The whole catalogue on the page: selection and parameters, matrices, errors, ranking.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import {
  countWorkers,
  enter,
  hideTab,
  readKey,
  reveal,
  revealAll,
  settled,
  startSite,
  textOf,
} from './support.mjs';

const { open } = await startSite();
const library = await load();

const parametersOf = (page) =>
  page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const shownFields = (page, side) =>
  page.$$eval(`[id^="set-${side}_"]:is(input, select)`, (all) =>
    all.filter((one) => one.closest('.field[hidden], .variants') === null).map((one) => one.name),
  );

const variants = ['epochLength', 'completeEpochs', 'normalizeColumns'];

/** Chooses a mechanism and waits for its run. */
async function chooseMechanism(page, name) {
  await page.select('#set-mechanism', name);
  await page.waitForFunction(
    (wanted) =>
      document.querySelector('#sums .panel')?.dataset.mechanism.split(',')[0] === wanted ||
      [...document.querySelectorAll('.controls .error, #run-error')].some((one) => !one.hidden),
    {},
    name,
  );
  await settled(page);
}

test('the pickers list every mechanism of the catalogue, in groups', async () => {
  const { page } = await open('steps=20');
  const names = library.strategies.map(({ name }) => name);
  for (const id of ['mechanism', 'compare']) {
    const groups = await page.$$eval(`#set-${id} optgroup`, (all) =>
      all.map((one) => [one.label, [...one.children].map((option) => option.value)]),
    );
    assert.deepEqual(
      groups.map(([label]) => label),
      ['The best there is', 'Baselines', 'Trees', 'Toeplitz', 'Short memory', 'Unknown horizon'],
    );
    assert.deepEqual(groups.flatMap(([, options]) => options).sort(), [...names].sort());
  }
  await page.close();
});

test('each mechanism can be chosen, runs as the library does, and shows only its parameters', async () => {
  const { page, said } = await open('steps=40&dimension=1&mechanism=output');
  const sentences = new Set();
  const entries = [...some(library.strategies, 3)];
  for (const { name, parameters } of entries) {
    await chooseMechanism(page, name);
    const complaints = await page.$$eval('.controls .error, #run-error', (all) =>
      all.filter((one) => !one.hidden).map((one) => one.textContent),
    );
    assert.deepEqual(complaints, [], name);
    const simulation = library.study.simulation({
      strategy: name,
      steps: 40,
      dimension: 1,
      epsilon: 1,
      delta: 1e-6,
      noiseSeed: 1,
      streamSeed: 12,
    });
    const chunk = simulation.advance(40);
    simulation.dispose();
    assert.equal((await readKey(page, '#sums')).release, chunk.noisySums[39], name);
    const own = parameters.filter((one) => !variants.includes(one));
    assert.deepEqual((await shownFields(page, 'a')).sort(), own.map((one) => `a_${one}`).sort());
    sentences.add(await textOf(page, '#set-mechanism-hint'));
  }
  assert.equal(sentences.size, entries.length);
  assert.deepEqual(await shownFields(page, 'b'), []);
  assert.deepEqual(said, []);
  await page.close();
});

test('parameters are kept in the address, and choosing another mechanism drops them', async () => {
  const { page } = await open('steps=60');
  await page.select('#set-mechanism', 'banded-square-root');
  await page.select('#set-compare', 'blt');
  await page.waitForSelector('#sums .panel[data-mechanism$=blt]');
  assert.equal(await page.$eval('#set-a_bands', (input) => input.placeholder), 'auto');
  assert.equal(await page.$eval('#set-b_decays', (input) => input.value), '');
  await enter(page, '#set-a_bands', '5');
  await enter(page, '#set-b_decays', '0.9, 0.5');
  await page.waitForFunction(() => !document.getElementById('set-b_weights-error').hidden);
  assert.equal(
    await textOf(page, '#set-b_weights-error'),
    'decays and weights must be given together',
  );
  // The run with five bands, which may still be in progress, must not overwrite later input.
  await settled(page);
  assert.equal(await page.$eval('#set-b_decays', (input) => input.value), '0.9, 0.5');
  assert.equal(await page.$eval('#set-b_weights-error', (error) => error.hidden), false);
  await enter(page, '#set-b_weights', '0.2 0.1');
  await page.waitForFunction(() => location.hash.includes('b-weights'));
  await settled(page);
  const hash = await parametersOf(page);
  assert.deepEqual(hash, {
    mechanism: 'banded-square-root',
    compare: 'blt',
    bands: '5',
    'b-decays': '0.9 0.5',
    'b-weights': '0.2 0.1',
    steps: '60',
  });
  const key = await readKey(page, '#sums');
  const simulation = library.study.simulation({
    strategy: { name: 'blt', decays: [0.9, 0.5], weights: [0.2, 0.1] },
    steps: 60,
    dimension: 4,
    epsilon: 1,
    delta: 1e-6,
    streamSeed: 12,
    lambda: 1e100, // keeps learners at their start, where their gradients agree
  });
  assert.equal(key['B blt'], simulation.advance(60).noisySums[59 * 4]);
  simulation.dispose();
  await page.reload();
  await settled(page);
  assert.deepEqual(await parametersOf(page), hash);
  assert.deepEqual(await readKey(page, '#sums'), key);
  assert.match(await textOf(page, '#certificate tbody tr'), /bands 5.*decays 0\.9 0\.5/);
  await chooseMechanism(page, 'tree');
  assert.equal((await parametersOf(page)).bands, undefined);
  await page.close();
});

test('the mechanism’s λ is not the learner’s', async () => {
  const { page } = await open('steps=30&mechanism=lambda-cgd&cgd-lambda=0.25&lambda=7&dimension=1');
  const { stddev } = library.study
    .simulation({
      strategy: { name: 'lambda-cgd', lambda: 0.25 },
      lambda: 7,
      steps: 30,
      dimension: 1,
      epsilon: 1,
      delta: 1e-6,
    })
    .advance(30);
  assert.equal((await readKey(page, '#sums'))['2σ band'], 2 * stddev[29]);
  await reveal(page, 'errors', '.key');
  const { maxError } = library.error({ strategy: { name: 'lambda-cgd', lambda: 0.25 }, steps: 30 });
  assert.equal((await readKey(page, '#errors')).max, maxError);
  await page.close();
});

test('invalid parameters are reported beside their control', async () => {
  const { page } = await open('steps=60&mechanism=banded-square-root&nu=2&b-bands=3&bands=x');
  const items = await page.$$eval('#notice li', (all) => all.map((one) => one.textContent));
  assert.deepEqual(items, [
    'bands must be “auto” or a whole number > 0, got “x”',
    '“nu” has no effect here: banded-square-root has no such parameter',
    '“b-bands” has no effect here: nothing is compared',
  ]);
  assert.equal(await page.$eval('#set-a_bands', (input) => input.value), 'x');
  const before = await readKey(page, '#sums');
  await enter(page, '#set-a_bands', '0');
  assert.match(await textOf(page, '#set-a_bands-error'), /whole number > 0, got “0”$/);
  await enter(page, '#set-a_bands', '100000000');
  await page.waitForFunction(() =>
    /100000000/.test(document.getElementById('set-a_bands-error').textContent),
  );
  assert.deepEqual(await readKey(page, '#sums'), before, 'the last good run stays');
  await enter(page, '#set-a_bands', '4');
  await page.waitForFunction(() => document.getElementById('set-a_bands-error').hidden);
  await page.waitForFunction(() => location.hash.includes('bands=4'));
  await page.close();
});

/** Text and value in the read-out of a heat map. */
const readEntry = (page, map) =>
  page.$eval(`.map:nth-child(${map}) .map-at`, (at) => [
    at.textContent,
    Number(at.querySelector('data')?.value),
  ]);

test('the matrices of the tree: the keyboard reads entries, and each value has its own colour', async () => {
  const { page, said } = await open('steps=8&mechanism=tree');
  await reveal(page, 'factorization', '.map');
  const matrices = library.error({ strategy: 'tree', steps: 8, matrices: true }).matrices;
  const { encoder, decoder, noiseCovariance, numMeasurements: m } = matrices;
  // In the whole tree over eight steps, each of the four levels covers every step once.
  assert.equal(
    encoder.reduce((sum, value) => sum + value),
    4 * 8,
  );
  assert.match(
    await textOf(page, '.map:nth-child(1) .map-at'),
    /^The first record is in 4 of 15 measurements\. 15 × 8, 32 non-zero entries,/,
  );
  const inverse = decoder.map((value, at) => value - (at < m ? 0 : decoder[at - m]));
  const shown = [
    [encoder, m, 8],
    [inverse, 8, m],
    [decoder, 8, m],
    [noiseCovariance, 8, 8],
  ];
  for (const [i, [values, numRows, numColumns]] of shown.entries()) {
    const plot = `.map:nth-child(${i + 1}) .map-plot`;
    await page.focus(plot);
    assert.equal(await page.$eval(plot, (one) => one.getAttribute('role')), 'slider');
    for (let row = 0; row < numRows; ++row) {
      for (const column of [0, numColumns - 1]) {
        if (column === 0) await page.keyboard.press('Home');
        else await page.keyboard.press('End');
        const [text, value] = await readEntry(page, i + 1);
        assert.match(text, new RegExp(`^row ${row + 1}, column ${column + 1}: `));
        assert.equal(value, values[row * numColumns + column]);
      }
      await page.keyboard.press('ArrowDown');
    }
    const colours = await page.$eval(`${plot} canvas`, (canvas) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      return Array.from({ length: width * height }, (_, at) =>
        data.slice(4 * at, 4 * at + 3).join(),
      );
    });
    const byValue = new Map();
    for (const [at, value] of values.entries()) {
      assert.equal(byValue.get(value) ?? colours[at], colours[at], 'one colour for one value');
      byValue.set(value, colours[at]);
    }
    assert.equal(new Set(byValue.values()).size, byValue.size, 'another one for another value');
  }
  assert.deepEqual(said, []);
  await page.close();
});

test('the pointer reads an entry, and leaving gives the summary back', async () => {
  const { page } = await open('steps=500&mechanism=square-root');
  await reveal(page, 'factorization', '.map');
  assert.match(await textOf(page, '#factorization-note'), /Made for 64 steps instead of 500/);
  const summary = await textOf(page, '.map:nth-child(1) .map-at');
  assert.match(
    summary,
    /ever fainter\. 64 × 64, 2,080 non-zero entries, none above the diagonal, none negative;/,
  );
  const seen = await page.$$eval('.map-at', (all) => all.map((one) => one.firstChild.data));
  assert.match(seen[1], /^Each step subtracts a little of everything before\.$/);
  assert.match(
    seen[2],
    /^A total keeps most of the latest noise, and ever less of what is older\.$/,
  );
  const { encoder, noiseCovariance } = library.error({
    strategy: 'square-root',
    steps: 64,
    matrices: true,
  }).matrices;
  const times = Number((noiseCovariance.at(-1) / noiseCovariance[0]).toPrecision(2));
  assert.ok(seen[3].includes(` ${times} times the variance of the first`), seen[3]);
  const heights = () => page.$$eval('.map', (all) => all.map((one) => one.offsetHeight));
  const before = await heights();
  const box = await (await page.$('.map:nth-child(1) canvas')).boundingBox();
  await page.mouse.move(box.x + (2.5 / 64) * box.width, box.y + (10.5 / 64) * box.height);
  const [text, value] = await readEntry(page, 1);
  assert.match(text, /^row 11, column 3: /);
  assert.equal(value, encoder[10 * 64 + 2]);
  assert.deepEqual(await heights(), before, 'nothing moves');
  await page.mouse.move(2, 2);
  assert.equal(await textOf(page, '.map:nth-child(1) .map-at'), summary);
  await page.close();
});

test('two mechanisms share their scales; their first entries are in tables', async () => {
  const { page } = await open('steps=32&mechanism=tree&compare=independent');
  await reveal(page, 'factorization', '.lane:nth-child(2) .map');
  const scales = await page.$$eval('.map-scale div', (all) => all.map((one) => one.textContent));
  assert.equal(scales.length, 8);
  assert.deepEqual(scales.slice(0, 4), scales.slice(4));
  await page.$eval('#factorization-numbers', (details) => (details.open = true));
  await page.waitForSelector('#factorization-numbers tbody tr');
  const captions = await page.$$eval('#factorization-numbers caption', (all) =>
    all.map((one) => one.textContent),
  );
  assert.equal(captions.length, 8);
  assert.match(captions[0], /^C of tree, the encoder, its first 8 rows and 8 columns$/);
  const rows = await page.$$eval('#factorization-numbers table:first-child tbody tr', (all) =>
    all.map((row) => [...row.querySelectorAll('data')].map((one) => Number(one.value))),
  );
  const { encoder } = library.error({ strategy: 'tree', steps: 32, matrices: true }).matrices;
  rows.forEach((row, i) => assert.deepEqual(row, [...encoder.slice(32 * i, 32 * i + 8)]));
  await page.close();
});

test('the errors are those of the library, on either axis, with the lower bound', async () => {
  const { page, said } = await open('steps=300&mechanism=tree&compare=square-root');
  await reveal(page, 'errors', '.key');
  const values = (selector) =>
    page.$$eval(`${selector} .key data`, (all) => all.map((one) => Number(one.value)));
  const expected = (step) => {
    const each = ['tree', 'square-root'].flatMap((mechanism) => {
      const options = { strategy: mechanism, steps: 300 };
      const { maxError, meanError } = library.error(options);
      return [library.error({ ...options, perStep: true }).perStep[step - 1], maxError, meanError];
    });
    return [...each, library.error({ strategy: 'tree', steps: 300 }).lowerBound];
  };
  assert.deepEqual(await values('#errors'), expected(300));
  for (const axis of ['linear', 'log']) {
    await page.select('#errors-view', axis);
    await page.waitForFunction(
      (wanted) => location.hash.includes('axis=log') === (wanted === 'log'),
      {},
      axis,
    );
    await reveal(page, 'errors', '.key');
    await page.focus('#errors .plot');
    for (const [key, step] of [
      ['Home', 1],
      ['PageUp', 16],
      ['ArrowLeft', 15],
    ]) {
      await page.keyboard.press(key);
      assert.deepEqual(await values('#errors'), expected(step), `${axis}, step ${step}`);
    }
    const text = await page.$eval('#errors .plot', (one) => one.getAttribute('aria-valuetext'));
    assert.match(text, /^step 15, standard deviation: A tree .*, B square root /);
  }
  assert.deepEqual(said, []);
  await page.close();
});

const readRanking = (page) =>
  page.$$eval('#ranking tbody tr', (rows) =>
    rows.map((row) => ({
      mechanism: row.dataset.mechanism,
      values: [...row.querySelectorAll('data')].map((one) => Number(one.value)),
      pressed: row.querySelector('button').getAttribute('aria-pressed'),
    })),
  );

test('the ranking is sorted by its headings, either way', async () => {
  const { page } = await open('steps=60');
  await reveal(page, 'ranking', 'tbody tr');
  const order = () =>
    page.$$eval('#ranking tbody tr', (rows) => rows.map(({ dataset }) => dataset.mechanism));
  const { mechanisms } = library.compare({ steps: 60, objective: 'max' }).result();
  const by = (value, sign = 1) =>
    [...mechanisms].sort((a, b) => sign * (value(a) - value(b))).map((one) => one.mechanism);
  const press = (text) => page.click(`#ranking thead button::-p-text(${text})`);
  await press('Root mean square');
  assert.deepEqual(
    await order(),
    by((one) => one.meanError),
  );
  assert.equal(await page.$eval('#ranking [aria-sort]', (one) => one.ariaSort), 'ascending');
  await press('Root mean square');
  assert.deepEqual(
    await order(),
    by((one) => one.meanError, -1),
  );
  await press('Mechanism');
  const shown = await page.$$eval('#ranking tbody tr button', (all) =>
    all.map((one) => one.textContent),
  );
  assert.deepEqual(shown, [...shown].sort());
  // A row still chooses its own mechanism.
  await page.click('#ranking tr[data-mechanism="haar"] button');
  await page.waitForFunction(() => location.hash.includes('mechanism=haar'));
  await page.close();
});

test('the ranking is the library’s, best first, and a click chooses', async () => {
  const { page, said } = await open('steps=300');
  await reveal(page, 'ranking', 'tbody tr');
  for (const objective of ['max', 'mean']) {
    await page.select('#ranking-view', objective);
    const { mechanisms, leftOut } = library.compare({ steps: 300, objective }).result();
    await page.waitForFunction(
      (first) => Number(document.querySelector('#ranking td.ratio data').value) === first,
      {},
      mechanisms[0].ratio,
    );
    const rows = await readRanking(page);
    assert.deepEqual(
      rows.map(({ mechanism, values }) => [mechanism, ...values]),
      mechanisms.map((one) => [one.mechanism, one.maxError, one.meanError, one.ratio]),
    );
    const errors = rows.map(({ values }) => values[objective === 'max' ? 0 : 1]);
    assert.deepEqual(
      errors,
      [...errors].sort((a, b) => a - b),
    );
    assert.ok(
      rows.every(({ values }) => values[2] >= 1 - 1e-12),
      'nothing is below the bound',
    );
    assert.deepEqual(
      rows.filter(({ pressed }) => pressed === 'true').map(({ mechanism }) => mechanism),
      objective === 'max' ? ['optimal'] : [], // The row for the mean is another optimum.
    );
    const reasons = await page.$$eval('#ranking-left-out li', (all) =>
      all.map((one) => one.textContent),
    );
    assert.equal(reasons.length, leftOut.length);
    leftOut.forEach(({ reason }, i) => assert.ok(reasons[i].endsWith(`: ${reason}`)));
  }
  const at = await page.$eval('#ranking', (one) => one.getBoundingClientRect().top);
  await page.click('#ranking tr[data-mechanism="tree"] td');
  await page.waitForFunction(() => location.hash.includes('mechanism=tree'));
  await settled(page);
  assert.equal(
    await page.$eval('#ranking tr[data-mechanism="tree"]', (row) => row.className),
    'chosen tree',
  );
  const moved = await page.$eval('#ranking', (one) => one.getBoundingClientRect().top);
  assert.ok(Math.abs(moved - at) < 1, `the table moved by ${moved - at} px`);
  await page.focus('#ranking tr[data-mechanism="output"] button');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash.includes('mechanism=output'));
  assert.deepEqual(said, []);
  await page.close();
});

test('a row with parameters of its own is chosen with them', async () => {
  const { page } = await open('steps=64');
  await reveal(page, 'ranking', 'tbody tr');
  const { mechanisms } = library.compare({ steps: 64 }).result();
  const index = mechanisms.findIndex(({ parameters }) => Object.keys(parameters).length > 0);
  assert.ok(index >= 0, 'there is such a row');
  await page.click(`#ranking tr[data-index="${index}"] button`);
  await page.waitForFunction(
    (i) =>
      document.querySelector(`#ranking tr[data-index="${i}"] button`).ariaPressed === 'true' &&
      document.querySelectorAll('#ranking [aria-pressed=true]').length === 1,
    {},
    index,
  );
  await settled(page);
  const { mechanism, parameters } = mechanisms[index];
  const { maxError } = library.error({ strategy: { name: mechanism, ...parameters }, steps: 64 });
  await reveal(page, 'errors', '.key');
  assert.equal((await readKey(page, '#errors')).max, maxError);
  await page.close();
});

const rowsOf = (matrix) => matrix.map((row) => row.join(', ')).join('\n');

/** Sets the text of the box at once, since typing a long text takes time. */
async function paste(page, text) {
  await page.$eval('#own-encoder', (one) => (one.open = true));
  await page.$eval(
    '#own-encoder-rows',
    (box, value) => {
      box.value = value;
      box.dispatchEvent(new Event('change'));
    },
    text,
  );
}

test('a pasted C is compared as the library does, is not chosen, and stays out of the address', async () => {
  const { page, said } = await open('steps=4');
  await reveal(page, 'ranking', 'tbody tr');
  const before = await page.evaluate(() => location.href);
  const numRows = (await readRanking(page)).length;
  const encoder = [[1], [0.5, 1], [-0.25, 0.5, 2], [0.125, 0.25, 0.5, 1]];
  await paste(page, rowsOf(encoder));
  await page.waitForSelector('#ranking tr[data-mechanism="own"]');
  const { mechanisms } = library.compare({ steps: 4, strategies: [{ encoder }] }).result();
  const own = mechanisms.find(({ saved }) => saved);
  const values = await page.$$eval('#ranking tr[data-mechanism="own"] data', (all) =>
    all.map((one) => Number(one.value)),
  );
  assert.deepEqual(values, [own.maxError, own.meanError, own.ratio]);
  const order = await page.$$eval('#ranking tbody tr', (rows) =>
    rows.map((row) => row.dataset.mechanism),
  );
  assert.equal(order.length, numRows + 1);
  assert.equal(order.indexOf('own'), mechanisms.indexOf(own));
  await page.click('#ranking tr[data-mechanism="own"] th');
  assert.equal(await page.$eval('#ranking tr[data-mechanism="own"]', (row) => row.className), '');
  assert.equal(await page.evaluate(() => location.href), before);
  await paste(page, '');
  await page.waitForFunction(
    () => document.querySelector('#ranking tr[data-mechanism="own"]') === null,
  );
  assert.equal(await page.$eval('#own-encoder-error', (one) => one.hidden), true);
  assert.deepEqual(said, []);
  await page.close();
});

test('a pasted text that is no C for the horizon is refused in one sentence', async () => {
  const { page, said } = await open('steps=2');
  await reveal(page, 'ranking', 'tbody tr');
  const many = rowsOf(Array.from({ length: 513 }, () => [1]));
  for (const [text, message] of [
    ['1, 2\n1, 1', /^C: row 1, column 2 must be 0, as it is above the diagonal .*, got 2$/],
    ['1\n1, 0', /^C: row 2, column 2 must be positive, as it is on the diagonal, got 0$/],
    ['1\nNaN, 1', /^C: row 2, column 1 is not a number: "NaN"$/],
    ['a, b\n1, 0\n1, 1', /^C: row 1, column 1 is not a number: "a"$/],
    [
      '1, 0, 0\n1, 1, 0',
      /^C: row 1 must have 1 or 2 numbers, .* --measure of dp-ftrl queries, got 3$/,
    ],
    [
      '1\n0, 1\n0, 0, 1',
      /^C has 3 rows, one per step, but the horizon is 2 steps: set “Horizon” to 3$/,
    ],
    [many, /^C must have at most 512 rows here, got 513$/],
    ['1\n1, 1e-100', /^C must be far enough from singular for double precision$/],
  ]) {
    await paste(page, text);
    await page.waitForFunction(
      (source) =>
        new RegExp(source).test(document.getElementById('own-encoder-error').textContent) &&
        !document.getElementById('ranking').hasAttribute('aria-busy'),
      {},
      message.source,
    );
    assert.equal(await page.$eval('#own-encoder-error', (one) => one.hidden), false);
    assert.equal(await page.$('#ranking tr[data-mechanism="own"]'), null, text);
    assert.equal(await page.$eval('#own-encoder-rows', (one) => one.ariaInvalid), 'true');
  }
  assert.ok((await readRanking(page)).length > 20);
  await paste(page, '1\n0.5 1');
  await page.waitForSelector('#ranking tr[data-mechanism="own"]');
  assert.equal(await page.$eval('#own-encoder-error', (one) => one.hidden), true);
  // With another horizon the row is left out, and the page says so at once.
  await enter(page, '#set-numSteps', '3');
  await page.waitForFunction(() =>
    document.getElementById('own-encoder-error').textContent.includes('set “Horizon” to 2'),
  );
  await reveal(page, 'ranking', 'tbody tr');
  await page.waitForFunction(
    () => document.querySelector('#ranking tr[data-mechanism="own"]') === null,
  );
  assert.deepEqual(said, []);
  await page.close();
});

test('nothing is analysed before it is in view, or while the tab is hidden', async () => {
  const { page } = await open('steps=100', { before: countWorkers });
  assert.equal(await page.evaluate(() => window.workers), 1);
  assert.equal(await page.$('#ranking table'), null);
  await hideTab(page, true);
  await page.$eval('#ranking', (one) => one.scrollIntoView());
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(await page.evaluate(() => window.workers), 1);
  await hideTab(page, false);
  await page.waitForSelector('#ranking table');
  await revealAll(page);
  assert.equal(await page.evaluate(() => window.workers), 2);
  await page.close();
});

test('figures that cannot be computed show the error in their place', async () => {
  const { page, said } = await open('steps=20', {
    before: () => {
      // The library accepts every mechanism that can run, so requests are corrupted in transit.
      const breaks = (message) => {
        const { name, args } = message?.argument ?? {};
        // The scenes of the story ask for errors, too.
        const isFigure = args?.[0]?.matrices || args?.[0]?.perStep;
        if (name !== 'compare' && !isFigure) return message;
        return { ...message, argument: { name, args: [{ ...args[0], steps: -1 }] } };
      };
      Worker.prototype.postMessage = new Proxy(Worker.prototype.postMessage, {
        apply: (target, self, [message, ...rest]) =>
          Reflect.apply(target, self, [breaks(message), ...rest]),
      });
    },
  });
  for (const [id, content] of [
    ['factorization', '[role=alert]'],
    ['errors', '[role=alert]'],
    ['ranking', '[role=alert]'],
  ]) {
    await reveal(page, id, content);
    assert.match(await textOf(page, `#${id}`), /steps must be .*-1/);
  }
  assert.deepEqual(said, []);
  await page.close();
});
