// SPDX-License-Identifier: Apache-2.0

// The page plays, and shows what the library computes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  hideTab,
  openPage,
  readKey,
  readTable,
  revealAll,
  settled,
  startSite,
  stateOf,
  stepOf,
  textOf,
} from './support.mjs';

const { site, browser } = await startSite();
const library = await load();

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The library's own run, in chunks of an odd size. */
function simulate(options) {
  const simulation = library.study.simulation({ noiseSeed: 1, streamSeed: 12, ...options });
  const { dimension, steps, regretBound, certificate, grid } = simulation;
  const rows = [];
  const regret = { steps: [], private: [], twin: [] };
  const sums = { privateLoss: 0, twinLoss: 0, privateCorrect: 0, twinCorrect: 0 };
  while (!simulation.finished) {
    const chunk = simulation.advance(37);
    for (let i = 0; i < chunk.steps; ++i) {
      for (const key of Object.keys(sums)) sums[key] += chunk[key][i] ?? NaN;
      const row = (values) => [...values.subarray(i * dimension, (i + 1) * dimension)];
      const done = chunk.firstStep + i + 1;
      rows.push({
        truth: row(chunk.trueSums),
        release: row(chunk.noisySums),
        stddev: chunk.stddev[i],
        means: Object.fromEntries(Object.entries(sums).map(([key, sum]) => [key, sum / done])),
      });
    }
    for (const key of Object.keys(regret)) regret[key].push(...chunk.regret[key]);
  }
  simulation.dispose();
  return { rows, regret, steps, regretBound, certificate, grid };
}

function near(actual, expected, what) {
  const tolerance = 1e-11 * Math.max(1, Math.abs(expected));
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`);
}

const common = { epsilon: 1, delta: 1e-6 };
const cases = [
  { hash: '', options: { steps: 1024, dimension: 4 }, coordinate: 1 },
  {
    hash: 'mechanism=tree&steps=300&dimension=3&stream=drifting&sums=2&epsilon=2.5&clip=0.5',
    options: {
      strategy: 'tree',
      steps: 300,
      dimension: 3,
      stream: 'drifting',
      epsilon: 2.5,
      clip: 0.5,
    },
    coordinate: 2,
  },
  {
    hash: 'mechanism=honaker&steps=77&dimension=1&loss=squared&stream=switching&lambda=3&neighbours=replace-one',
    options: {
      strategy: 'honaker',
      steps: 77,
      dimension: 1,
      loss: 'squared',
      stream: 'switching',
      lambda: 3,
      neighbours: 'replace-one',
    },
    coordinate: 1,
  },
  {
    hash: 'mechanism=output&steps=1&delta=0.01&noise-seed=7&stream-seed=9007199254740991',
    options: {
      strategy: 'output',
      steps: 1,
      delta: 0.01,
      noiseSeed: 7,
      streamSeed: 9007199254740991,
    },
    coordinate: 1,
  },
];

for (const { hash, options, coordinate } of cases) {
  test(`the tables hold the library's numbers, digit for digit: #${hash}`, async () => {
    const { page, said } = await openPage(browser, `${site.url}#${hash}`, { calm: true });
    await settled(page);
    const expected = simulate({ ...common, ...options });
    const sums = await readTable(page, 'sums-numbers');
    assert.ok(sums.size >= Math.min(20, expected.steps));
    assert.ok(sums.has(expected.steps), 'the last step is there');
    for (const [step, cells] of sums) {
      const row = expected.rows[step - 1];
      assert.equal(cells.release, row.release[coordinate - 1]);
      assert.equal(cells.truth, row.truth[coordinate - 1]);
      assert.equal(cells.stddev, row.stddev);
      near(cells.band, 2 * row.stddev, 'band');
    }
    for (const [step, cells] of await readTable(page, 'learning-numbers')) {
      const { means } = expected.rows[step - 1];
      near(cells.loss, means.privateLoss, 'loss');
      near(cells['loss-twin'], means.twinLoss, 'loss of the twin');
      if (options.loss === 'squared') assert.ok(!('accuracy' in cells));
      else {
        near(cells.accuracy, means.privateCorrect, 'accuracy');
        near(cells['accuracy-twin'], means.twinCorrect, 'accuracy of the twin');
      }
      const k = expected.regret.steps.findLastIndex((at) => at <= step);
      assert.equal(cells.regret, k < 0 ? undefined : expected.regret.private[k]);
      assert.equal(cells['regret-twin'], k < 0 ? undefined : expected.regret.twin[k]);
    }
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('the drawn line goes through the released numbers', async () => {
  const numSteps = 40;
  const url = `${site.url}#steps=${numSteps}&secrets=hidden&compare=none`;
  const { page } = await openPage(browser, url, { calm: true });
  await settled(page);
  const { rows } = simulate({ ...common, steps: numSteps });
  const values = rows.map((row) => row.release[0]);
  // Rows of the canvas that have the line's colour, in the columns of each step and its neighbours.
  const drawn = await page.evaluate((n) => {
    const canvas = document.querySelector('#sums canvas');
    const frame = canvas.getBoundingClientRect();
    const area = document.querySelector('#sums .u-over').getBoundingClientRect();
    const colour = getComputedStyle(document.querySelector('.swatch.line')).color.match(/\d+/g);
    const { data, width, height } = canvas
      .getContext('2d')
      .getImageData(0, 0, canvas.width, canvas.height);
    const isLine = (x, y) =>
      [0, 1, 2].every((k) => Math.abs(data[4 * (y * width + x) + k] - colour[k]) < 40) &&
      data[4 * (y * width + x) + 3] > 200;
    return Array.from({ length: n }, (_, i) => {
      const x = Math.round(area.left - frame.left + ((i + 1) / n) * area.width);
      const hits = [];
      for (let y = 0; y < height; ++y)
        if ([x - 1, x, x + 1].some((at) => isLine(at, y))) hits.push(y);
      return hits;
    });
  }, numSteps);
  const top = Math.min(...drawn.flat());
  const bottom = Math.max(...drawn.flat());
  const [low, high] = [Math.min(...values), Math.max(...values)];
  assert.ok(bottom - top > 80, `the line takes ${bottom - top} px`);
  for (const [i, hits] of drawn.entries()) {
    const y = top + ((high - values[i]) / (high - low)) * (bottom - top);
    const miss = Math.min(...hits.map((hit) => Math.abs(hit - y)));
    assert.ok(miss <= 3, `step ${i + 1}: expected at ${y.toFixed(1)} px, drawn ${hits.join(' ')}`);
  }
  await page.close();
});

test('nothing that is drawn is cut off above or below', async () => {
  const url = `${site.url}#steps=40&secrets=hidden&epsilon=0.5`;
  const { page } = await openPage(browser, url, { calm: true });
  await settled(page);
  const isUniform = await page.evaluate(() => {
    const canvas = document.querySelector('#sums canvas');
    const frame = canvas.getBoundingClientRect();
    const area = document.querySelector('#sums .u-over').getBoundingClientRect();
    const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const [left, right] = [area.left, area.right].map((x) => Math.round(x - frame.left));
    const rows = [area.top + 2, area.bottom - 3].map((y) => Math.round(y - frame.top));
    return rows.map((y) => {
      const colours = new Set();
      for (let x = left + 2; x < right - 2; ++x) {
        const at = 4 * (y * width + x);
        colours.add(data.slice(at, at + 4).join());
      }
      return colours.size === 1;
    });
  });
  assert.deepEqual(isUniform, [true, true]);
  await page.close();
});

test('the stated share of steps whose true total lies in the band is correct', async () => {
  const url = `${site.url}#steps=300&dimension=2&sums=2`;
  const { page } = await openPage(browser, url, { calm: true });
  await settled(page);
  const { rows } = simulate({ ...common, steps: 300, dimension: 2 });
  const inside = rows.filter(
    ({ release, truth, stddev }) => Math.abs(release[1] - truth[1]) <= 2 * stddev,
  );
  assert.ok(inside.length > 150 && inside.length < 300, `${inside.length} of 300`);
  const share = ((100 * inside.length) / 300).toFixed(1);
  assert.match(await textOf(page, '#facts'), new RegExp(`true total in ${share}\\s% of the steps`));
  await page.close();
});

test('the norm is shown with its own band, the bound with the regret', async () => {
  const url = `${site.url}#steps=64&dimension=2&sums=norm&learning=regret`;
  const { page } = await openPage(browser, url, { calm: true });
  await settled(page);
  const expected = simulate({ ...common, steps: 64, dimension: 2 });
  const last = expected.rows.at(-1);
  const key = await readKey(page, '#sums');
  near(key.release, Math.hypot(...last.release), 'norm of the release');
  near(key['true total'], Math.hypot(...last.truth), 'norm of the true total');
  // In two dimensions P(||z|| <= r) = 1 - exp(-r^2 / 2), which is set to P(|N(0, 1)| <= 2).
  near(key['2σ band'], last.stddev * Math.sqrt(-2 * Math.log(1 - 0.9544997361036416)), 'radius');
  const learning = await readKey(page, '#learning');
  assert.equal(learning['final bound'], expected.regretBound.private);
  assert.equal(learning['private learner'], expected.regret.private.at(-1));
  await page.close();
});

test('every privacy parameter in force is on the page', async () => {
  const url = `${site.url}#steps=50&neighbours=replace-one&clip=3&compare=tree`;
  const { page } = await openPage(browser, url, { calm: true });
  await settled(page);
  const rows = await page.$$eval('#certificate tbody tr', (lines) =>
    lines.map((line) => [...line.cells].map((cell) => cell.textContent)),
  );
  const cells = Object.fromEntries(rows.map(([name, ...values]) => [name, values]));
  const find = (name) => Object.entries(cells).find(([key]) => key.startsWith(name))[1];
  for (const [lane, mechanism] of ['optimal', 'tree'].entries()) {
    const { certificate, grid } = simulate({
      ...common,
      strategy: mechanism,
      steps: 50,
      neighbours: 'replace-one',
      clip: 3,
    });
    const shows = (name, value) =>
      assert.ok(
        Math.abs(parseFloat(find(name)[lane].replaceAll(',', '')) / value - 1) < 1e-5,
        `${name}: ${find(name)[lane]}, expected ${value}`,
      );
    for (const [name, key] of [
      ['ε', 'epsilon'],
      ['μ', 'mu'],
      ['ρ', 'rho'],
      ['Horizon', 'numSteps'],
      ['Clip norm', 'clipNorm'],
      ['Sensitivity', 'sensitivity'],
      ['Noise multiplier', 'noiseMultiplier'],
      ['Noise std', 'noiseStddev'],
    ])
      shows(name, certificate[key]);
    const scale = certificate.noiseStddev / certificate.sensitivity;
    shows('Greatest error', scale * certificate.maxError);
    shows('RMS error', scale * certificate.meanError);
    assert.equal(find('δ')[lane], '10⁻⁶');
    assert.equal(find('Neighbours')[lane], 'replace-one');
    assert.match(find('Sensitivity')[lane], /\((exact|upper bound)\)/);
    assert.equal(find('Mode')[lane], 'grid');
    assert.ok(find('Grid')[lane].endsWith(String(Number(grid.toPrecision(4)))), find('Grid')[lane]);
  }
  assert.ok((await page.$$('math')).length >= 6, 'formulas are MathML');
  await page.close();
});

test('the run plays by itself, pauses, steps, resets, and requests no frames after its end', async () => {
  const { page, said } = await openPage(browser, `${site.url}#steps=400&speed=10`);
  await settled(page, 'playing');
  await page.waitForFunction(
    () => !document.getElementById('progress-text').textContent.startsWith('0 '),
  );
  await page.click('#play');
  assert.equal(await stateOf(page), 'paused');
  await pause(300);
  const step = await stepOf(page);
  assert.ok(step > 0 && step < 400, `paused at ${step}`);
  const frames = await page.evaluate(() => window.frameTimes.length);
  await pause(200);
  assert.equal(await stepOf(page), step, 'time stands still');
  assert.ok(
    (await page.evaluate(() => window.frameTimes.length)) - frames <= 1,
    'no frames at rest',
  );
  await page.click('#step-once');
  await page.waitForFunction(
    (next) => document.getElementById('progress').value === next,
    {},
    step + 1,
  );
  await page.click('#reset');
  await page.waitForFunction(() => document.getElementById('progress').value === 0);
  assert.equal(await stateOf(page), 'paused');
  await page.select('#speed', '500');
  await page.click('#play');
  await settled(page);
  assert.equal(await stepOf(page), 400);
  await pause(100);
  const atEnd = await page.evaluate(() => window.frameTimes.length);
  await pause(300);
  assert.equal(
    await page.evaluate(() => window.frameTimes.length),
    atEnd,
    'no frames after the end',
  );
  assert.equal(await textOf(page, '#play'), 'Replay');
  assert.deepEqual(said, []);
  await page.close();
});

test('when the player reports that it has finished, the page shows the last step', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=400&speed=120`);
  await settled(page, 'playing');
  const shown = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const player = document.getElementById('player');
        new MutationObserver((_, observer) => {
          if (player.dataset.state !== 'finished') return;
          observer.disconnect();
          resolve([
            document.getElementById('progress').value,
            document.getElementById('progress-text').textContent,
          ]);
        }).observe(player, { attributes: true, attributeFilter: ['data-state'] });
        document.getElementById('finish').click();
      }),
  );
  assert.deepEqual(shown, [400, '400 / 400']);
  await page.close();
});

test('time stands still while the tab is hidden or the charts are off screen', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=100000&speed=120`, { height: 700 });
  await settled(page, 'playing');
  await page.waitForFunction(() => document.getElementById('progress').value > 5);
  const still = async (why) => {
    await page.waitForFunction(
      (reason) => document.getElementById('player').dataset.waitsFor === reason,
      {},
      why,
    );
    await pause(80);
    const step = await stepOf(page);
    const frames = await page.evaluate(() => window.frameTimes.length);
    await pause(250);
    assert.equal(await stepOf(page), step, why);
    assert.ok((await page.evaluate(() => window.frameTimes.length)) - frames <= 1, why);
    assert.equal(await stateOf(page), 'playing');
  };
  const goesOn = async () => {
    const step = await stepOf(page);
    await page.waitForFunction((old) => document.getElementById('progress').value > old, {}, step);
  };
  await hideTab(page, true);
  await still('hidden');
  await hideTab(page, false);
  await goesOn();
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await still('off screen');
  await page.evaluate(() => window.scrollTo(0, 0));
  await goesOn();
  await page.close();
});

test('reduced motion: the finished run is shown, and nothing moves by itself', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=5000`, { calm: true });
  await settled(page);
  assert.equal(await stepOf(page), 5000);
  const frames = await page.evaluate(() => window.frameTimes.length);
  assert.ok(frames < 20, `${frames} frames`);
  await page.click('#play');
  await settled(page, 'playing');
  await page.close();
});

test('100,000 steps at full speed are shown with short frames', async () => {
  const medianFrame = async (page) => {
    await settled(page);
    const times = (await page.evaluate(() => window.frameTimes)).sort((a, b) => a - b);
    return times[Math.floor(times.length / 2)];
  };
  const { page, said } = await openPage(browser, `${site.url}#steps=100000&speed=max`);
  const median = await medianFrame(page);
  if (median >= 16) {
    // On a busy machine every frame is long; then frames must not be much longer than in a run of
    // 2,000 steps.
    const { page: short } = await openPage(browser, `${site.url}#steps=2000&speed=500`);
    const usual = await medianFrame(short);
    assert.ok(median < 4 * usual, `median frame took ${median} ms, of a short run ${usual} ms`);
    await short.close();
  }
  assert.deepEqual(said, []);
  await page.close();
});

test('a change mid-run takes the new run to the same step', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=2000&speed=500`);
  await settled(page, 'playing');
  await page.waitForFunction(() => document.getElementById('progress').value > 100);
  await page.click('#play');
  await pause(300);
  const step = await stepOf(page);
  await page.select('#set-mechanism', 'honaker');
  await page.waitForFunction(
    () => document.querySelector('#sums .panel').dataset.mechanism === 'honaker',
  );
  assert.equal(await stepOf(page), step);
  assert.equal(await stateOf(page), 'paused');
  const { rows } = simulate({ ...common, strategy: 'honaker', steps: 2000 });
  const key = await readKey(page, '#sums');
  assert.equal(key.release, rows[step - 1].release[0]);
  await page.close();
});

test('nothing is loaded from elsewhere, and only one figure is loaded after the start', async () => {
  const { page, said, asked } = await openPage(browser, `${site.url}#steps=100`, { calm: true });
  await settled(page);
  const atStart = asked.length;
  await page.select('#set-source', 'tide');
  await page.waitForFunction(() => document.getElementById('progress').max > 500);
  await settled(page);
  assert.deepEqual(
    asked.filter((url) => !url.startsWith(site.url) && !url.startsWith('data:')),
    [],
  );
  await revealAll(page);
  const known = asked.slice(0, atStart);
  assert.deepEqual(
    asked
      .filter((url) => !known.includes(url))
      .map((url) => url.replace(/.*assets\//, '').replace(/-[\w-]{8}\.js$/, '')),
    ['statistic-release'],
    'Figure 6 has a module of its own, and a second worker has the script of the first',
  );
  assert.deepEqual(said, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
  const meta = await page.$eval('meta[http-equiv]', (tag) => tag.content);
  for (const part of [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "connect-src 'none'",
  ]) {
    assert.ok(meta.includes(part), meta);
  }
  await page.close();
});
