// SPDX-License-Identifier: Apache-2.0

// The laboratory: windows, decaying sums and momentum, in every figure, in links and in programs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import {
  complaints,
  enter,
  importSources,
  openExport,
  readKey,
  readTable,
  reveal,
  root,
  runProgram,
  settled,
  startSite,
  textOf,
  unfold,
} from './support.mjs';

const { open } = await startSite();
const library = await load();
const { decayOf, halfLifeOf, stepsOf, sumOfSquares, weightedSums } = await importSources(
  'web/src',
  ["export * from './data/weighted-sums.ts';", "export * from './controls/workload.ts';"],
);

const near = (value, wanted, tolerance = 1e-9) =>
  assert.ok(
    Math.abs(value - wanted) <= tolerance * Math.max(1, Math.abs(wanted)),
    `${value}, ${wanted}`,
  );
const customers = 'data=shop_day&label=-&column=count';
const shop = `${customers}&steps=840&mechanism=square-root`;
const hashOf = (page) => page.evaluate(() => location.hash.slice(1));
const titleOf = (page) => textOf(page, '#sums-title');

/** Numbers of customers during a day, per minute. */
const counts = execFileSync(process.execPath, ['dist/cli.js', 'example', 'shop_day'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .map((line) => line.split(','));
const column = counts[0].indexOf('count');
const records = counts.slice(1).map((cells) => Number(cells[column]));

/** Sum after a step (from 0), by definition. */
const windowAt = (values, step, width) =>
  values.slice(Math.max(0, step - width + 1), step + 1).reduce((sum, value) => sum + value, 0);
const decayingAt = (values, step, decay) =>
  values.slice(0, step + 1).reduce((sum, value, i) => sum + value * decay ** (step - i), 0);
const withMomentumAt = (values, step, momentum) =>
  values.slice(0, step + 1).reduce((sum, _, i) => sum + decayingAt(values, i, momentum), 0);

/** All releases of the library with the page's noise seed. */
function released(options) {
  const target = { steps: 840, delta: 1e-6, epsilon: 1, insecureSeed: 1 };
  const counter = library.counter({ ...target, ...options });
  const readings = counter.releaseMany(records.slice(0, target.steps));
  counter.dispose();
  return { certificate: counter.certificate, readings };
}

test('true sums are those of the definition, and the steps can be recovered from them', () => {
  const rows = Float64Array.from({ length: 20 }, (_, i) => Math.sin(i * i));
  const none = { window: Infinity, decay: 1, momentum: 0 };
  for (const given of [
    {},
    { window: 1 },
    { window: 3 },
    { window: 10 },
    { decay: 0.5 },
    { decay: 0.9 },
    { momentum: 0.5 },
    { momentum: 0.9 },
  ]) {
    const weights = { ...none, ...given };
    const { window, decay, momentum } = weights;
    const sums = weightedSums(rows, 2, weights);
    for (const k of [0, 1]) {
      const values = [...rows].filter((_, i) => i % 2 === k);
      for (let step = 0; step < 10; ++step) {
        const withoutMomentum =
          decay === 1 ? windowAt(values, step, window) : decayingAt(values, step, decay);
        near(
          sums[2 * step + k],
          momentum > 0 ? withMomentumAt(values, step, momentum) : withoutMomentum,
        );
      }
    }
    stepsOf(sums, 2, weights).forEach((value, i) => near(value, rows[i]));
    // Weight of a single record in each step.
    const counts = weightedSums(
      Float64Array.from({ length: 10 }, (_, i) => (i === 0 ? 1 : 0)),
      1,
      weights,
    );
    for (let step = 0, squares = 0; step < 10; ++step) {
      squares += counts[step] ** 2;
      near(sumOfSquares(weights, step + 1), squares);
    }
  }
});

test('a half-life and its decay convert into each other', () => {
  for (const halfLife of [0.1, 1, 24, 1e6]) near(halfLifeOf(decayOf(halfLife)), halfLife, 1e-5);
  near(decayOf(1), 0.5);
});

test('a window: chosen by keyboard, it is in every figure and in the link', async () => {
  const { page, said } = await open(shop);
  assert.match(await titleOf(page), /The running total$/);
  assert.equal(await page.$eval('#set-window', (one) => one.closest('[hidden]') !== null), true);
  await unfold(page);
  await page.focus('#set-workload');
  await page.keyboard.type('sliding');
  await page.waitForFunction(() => location.hash.includes('workload=window'));
  await settled(page);
  await enter(page, '#set-window', '60');
  await page.waitForFunction(() => location.hash.includes('window=60'));
  await settled(page);
  assert.match(await titleOf(page), /The sum of the last 60 steps$/);
  const workload = { window: 60 };
  const problem = { steps: 840, strategy: 'square-root', workload };
  const wanted = released({ strategy: problem.strategy, workload });
  const rows = await readTable(page, 'sums-numbers');
  assert.ok(rows.size > 20);
  for (const [step, { release, truth, stddev, band }] of rows) {
    assert.equal(release, wanted.readings[step - 1].value);
    near(truth, windowAt(records, step - 1, 60));
    near(stddev, wanted.readings[step - 1].stddev);
    near(band, 2 * stddev);
  }
  assert.match(await textOf(page, '#facts'), /The band held the true sum in 9[0-9]/);
  assert.match(await textOf(page, '#summary'), /true sum /);
  await reveal(page, 'certificate', 'tbody tr');
  assert.match(await textOf(page, '#certificate'), /Workload.*window=60/);
  await reveal(page, 'errors', '.key');
  const { maxError, meanError, lowerBound } = library.error(problem);
  const key = await readKey(page, '#errors');
  near(key.max, maxError);
  near(key.rms, meanError);
  near(key['lower bound'], lowerBound);
  near(key['square root'], library.error({ ...problem, perStep: true }).perStep[839]);
  await reveal(page, 'ranking', 'tbody tr');
  const { mechanisms, leftOut } = library
    .compare({ steps: 840, objective: 'max', workload })
    .result();
  assert.deepEqual(
    await page.$$eval('#ranking tbody tr', (lines) => lines.map((line) => line.dataset.mechanism)),
    mechanisms.map(({ mechanism }) => mechanism),
  );
  assert.match(await textOf(page, '#ranking-note'), /840 steps \(Sum of the last 60 steps\)/);
  assert.ok(leftOut.length > 0);
  const reasons = await textOf(page, '#ranking-left-out');
  for (const { mechanism, reason } of leftOut) {
    assert.ok(reasons.includes(mechanism) && reasons.includes(reason), `${mechanism}: ${reason}`);
  }
  await reveal(page, 'factorization', '.map');
  assert.match(await textOf(page, '#factorization-note'), /Made for 64 steps instead of 840/);
  const hash = await hashOf(page);
  await page.reload();
  await settled(page);
  assert.equal(await hashOf(page), hash);
  assert.match(await titleOf(page), /The sum of the last 60 steps$/);
  assert.deepEqual(await readTable(page, 'sums-numbers'), rows);
  assert.deepEqual(await complaints(page), []);
  assert.deepEqual(said, []);
  await page.close();
});

test('a window takes a mechanism that needs no long search, as the library does', async () => {
  const { page } = await open(`${customers}&steps=840&mechanism=optimal`);
  await page.select('#set-workload', 'window');
  await page.waitForFunction(() => location.hash.includes('workload=window'));
  await settled(page);
  assert.equal(
    await page.$eval('#set-mechanism', (select) => select.value),
    library.certificate({ steps: 840, epsilon: 1, delta: 1e-6, workload: { window: 30 } })
      .mechanism,
  );
  assert.match(
    await textOf(page, '#set-mechanism-hint'),
    /This describes running totals; Figure 4 shows the errors for this sum\.$/,
  );
  await enter(page, '#set-numSteps', '100');
  await page.waitForFunction(() => location.hash.includes('steps=100'));
  await page.select('#set-mechanism', 'optimal');
  await page.waitForFunction(
    () => location.hash.includes('mechanism=optimal') || !location.hash.includes('mechanism'),
  );
  await settled(page);
  assert.equal((await readTable(page, 'sums-numbers')).size, 25);
  const { optimal } = await reveal(page, 'errors', '.key').then(() => readKey(page, '#errors'));
  const problem = { steps: 100, strategy: 'optimal', workload: { window: 30 } };
  near(optimal, library.error({ ...problem, perStep: true }).perStep[99], 1e-6);
  await page.select('#set-workload', 'total');
  await page.waitForFunction(() => !location.hash.includes('workload'));
  await settled(page);
  assert.doesNotMatch(await textOf(page, '#set-mechanism-hint'), /describes running totals/);
  await page.close();
});

test('a decaying sum: its decay follows from a half-life, and invalid values are reported', async () => {
  const { page, said } = await open(`${shop}&workload=decay`);
  near(
    await page.$eval('#half-life', (input) => Number(input.value)),
    Math.LN2 / -Math.log(0.98),
    1e-3,
  );
  for (const [text, pattern] of [
    ['-2', /above 0.*got “-2”/],
    ['', /got “”/],
    ['1e20', /the decay is below 1/],
  ]) {
    await unfold(page, '#half-life');
    await page.focus('#half-life');
    await page.$eval('#half-life', (input) => input.select());
    await page.keyboard.press('Backspace');
    await page.keyboard.type(text);
    await page.keyboard.press('Tab');
    await page.waitForSelector('#half-life-error:not([hidden])');
    assert.match(await textOf(page, '#half-life-error'), pattern);
    assert.equal(
      await page.$eval('#half-life', (input) => input.getAttribute('aria-invalid')),
      'true',
    );
  }
  await enter(page, '#half-life', '20');
  const decay = decayOf(20);
  await page.waitForFunction((text) => location.hash.includes(text), {}, `decay=${decay}`);
  await settled(page);
  assert.equal(await page.$eval('#set-decay', (input) => Number(input.value)), decay);
  assert.equal(await page.$eval('#half-life-error', (one) => one.hidden), true);
  assert.match(await titleOf(page), /The decaying sum, half-life 20 steps$/);
  const wanted = released({ strategy: 'square-root', workload: { decay } });
  for (const [step, { release, truth, stddev }] of await readTable(page, 'sums-numbers')) {
    assert.equal(release, wanted.readings[step - 1].value);
    near(truth, decayingAt(records, step - 1, decay));
    near(stddev, wanted.readings[step - 1].stddev);
  }
  await enter(page, '#set-decay', '1');
  await page.waitForSelector('#set-decay-error:not([hidden])');
  assert.match(
    await textOf(page, '#set-decay-error'),
    /decay must be above 0 and below 1, got “1”/,
  );
  assert.deepEqual(said, []);
  await page.close();
});

test('a sum with momentum: it has the errors of the library, and an invalid momentum is reported', async () => {
  const { page, said } = await open(`${customers}&steps=840&mechanism=optimal`);
  await unfold(page);
  await page.focus('#set-workload');
  await page.keyboard.type('moment');
  await page.waitForFunction(() => location.hash.includes('workload=momentum'));
  await settled(page);
  await enter(page, '#set-sumMomentum', '0.5');
  await page.waitForFunction(() => location.hash.includes('sum-momentum=0.5'));
  await settled(page);
  assert.match(await titleOf(page), /The sum with momentum 0\.5$/);
  const workload = { momentum: 0.5 };
  const mechanism = await page.$eval('#set-mechanism', (select) => select.value);
  const problem = { steps: 840, strategy: mechanism, workload };
  assert.equal(
    mechanism,
    library.certificate({ steps: 840, epsilon: 1, delta: 1e-6, workload }).mechanism,
  );
  const wanted = released({ strategy: problem.strategy, workload });
  for (const [step, { release, truth, stddev }] of await readTable(page, 'sums-numbers')) {
    assert.equal(release, wanted.readings[step - 1].value);
    near(truth, withMomentumAt(records, step - 1, 0.5));
    near(stddev, wanted.readings[step - 1].stddev);
  }
  await reveal(page, 'errors', '.key');
  near((await readKey(page, '#errors')).max, library.error(problem).maxError);
  await enter(page, '#set-sumMomentum', '0');
  await page.waitForSelector('#set-sumMomentum-error:not([hidden])');
  assert.match(
    await textOf(page, '#set-sumMomentum-error'),
    /sum-momentum must be above 0 and below 1, got “0”/,
  );
  assert.deepEqual(await complaints(page), []);
  assert.deepEqual(said, []);
  await page.close();
});

test('for a window, randomised response and the wide band are computed over the window', async () => {
  const { page } = await open(
    `${shop}&workload=window&window=10&randomised-response=shown&every-step-band=shown&other-draws=shown`,
  );
  await reveal(page, 'errors', '.key');
  const key = await readKey(page, '#errors');
  const { certificate } = released({ strategy: 'square-root', workload: { window: 10 } });
  const { stddev } = library.queries.estimateCount({ ones: 0, reports: 10, epsilon: 1 });
  near(key['randomised response'], stddev / certificate.noiseMultiplier);
  assert.match(await textOf(page, '#local-note'), /until the window is full; it /);
  await page.waitForFunction(() =>
    /wide band/.test(document.getElementById('simultaneous-note').textContent),
  );
  const problem = {
    steps: 840,
    strategy: 'square-root',
    workload: { window: 10 },
    beta: 0.05,
    dimension: 1,
  };
  const { simultaneousError, sensitivity } = library.error(problem);
  const rows = await readTable(page, 'sums-numbers');
  near(rows.get(840).wide, (certificate.noiseStddev / sensitivity) * simultaneousError);
  await page.close();
});

test('learners have running totals: a note says that the workload is ignored until learning ends', async () => {
  const { page, said } = await open('mechanism=square-root&steps=100&workload=window&window=5');
  assert.match(await titleOf(page), /The running total$/);
  assert.match(await textOf(page, '#set-workload-hint'), /^Ignored here: .* choose an example/);
  assert.equal(await page.$eval('#set-window', (one) => one.closest('[hidden]') !== null), true);
  await page.select('#set-source', 'shop_day');
  await page.waitForFunction(() => location.hash.includes('data=shop_day'));
  await settled(page);
  await page.select('#set-label', '-');
  await page.waitForFunction(() =>
    /The sum of the last 5 steps/.test(document.getElementById('sums-title').textContent),
  );
  await settled(page);
  await page.select('#set-workload', 'total');
  await page.waitForFunction(() =>
    /The running total/.test(document.getElementById('sums-title').textContent),
  );
  assert.deepEqual(said, []);
  await page.close();
});

/** Texts of the programs on the page, by name. */
async function programsOf(page) {
  await openExport(page);
  const texts = await page.$$eval('#export-parts pre', (all) =>
    all.map((one) => [one.id, one.textContent]),
  );
  await page.keyboard.press('Escape');
  return Object.fromEntries(texts);
}

const lastOf = (command) => {
  const args = command.trim().replaceAll("'", '').split(' ').slice(1, -1);
  const [, ...rows] = execFileSync(
    process.execPath,
    ['dist/cli.js', ...args, 'examples/shop_day.csv'],
    {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
    .trim()
    .split('\n');
  return Number(rows.at(-1).split(',')[1]);
};

for (const [workload, said] of some(
  [
    ['workload=window&window=7', '--workload window=7 '],
    ['workload=decay&decay=0.9', '--workload momentum=0,decay=0.9 '],
    ['workload=momentum&sum-momentum=0.9', '--workload momentum=0.9 '],
  ],
  3,
)) {
  test(`program and command release what the page shows: ${workload}`, async () => {
    const { page } = await open(`${customers}&mechanism=square-root&steps=200&${workload}`);
    const rows = await readTable(page, 'sums-numbers');
    const shown = rows.get(200).release;
    const programs = await programsOf(page);
    await page.close();
    const located = (text) => text.replaceAll("'shop_day.csv'", "'examples/shop_day.csv'");
    assert.deepEqual(runProgram(located(programs['export-javascript'])), [shown]);
    assert.ok(
      programs['export-command'].replaceAll("'", '').includes(said),
      programs['export-command'],
    );
  });
}

test('the command releases what the page shows if the horizon is the length of the table', async () => {
  for (const workload of some(
    ['workload=window&window=7', 'workload=decay&decay=0.9', 'workload=momentum&sum-momentum=0.9'],
    3,
  )) {
    const { page } = await open(`${shop}&${workload}`);
    const rows = await readTable(page, 'sums-numbers');
    const programs = await programsOf(page);
    await page.close();
    assert.equal(lastOf(programs['export-command']), rows.get(840).release, workload);
  }
});
