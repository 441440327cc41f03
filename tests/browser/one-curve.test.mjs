// SPDX-License-Identifier: Apache-2.0

// The laboratory: learners compared over one true curve, users with several records, and the share
// of a budget that a release spends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  complaints,
  enter,
  fits,
  readKey,
  readTable,
  reveal,
  settled,
  shopDay,
  startSite,
  textOf,
} from './support.mjs';

const { open } = await startSite();
const library = await load();

const hashOf = (page) => page.evaluate(() => location.hash);
const valueOf = (page, selector) => page.$eval(selector, (input) => Number(input.value));

const private1 = { epsilon: 1, delta: 1e-6 };

test('learners beside each other: one truth, and both releases are of it', async () => {
  for (const loss of ['logistic', 'squared']) {
    const { page, said } = await open(`steps=60&compare=independent&loss=${loss}&sums=2`);
    assert.equal(await page.$$eval('#sums .panel', (all) => all.length), 1);
    const key = await readKey(page, '#sums');
    assert.equal(Object.keys(key).filter((name) => name === 'true total').length, 1);
    const rows = await readTable(page, 'sums-numbers');
    // The regularisation keeps this learner at its start, whose gradients the page sums.
    const common = { ...private1, steps: 60, streamSeed: 12, loss, lambda: 1e100 };
    const held = ['optimal', 'independent'].map((strategy) => {
      const simulation = library.study.simulation({ ...common, strategy });
      const chunk = simulation.advance(60);
      simulation.dispose();
      return chunk;
    });
    for (const [step, row] of rows) {
      const at = (step - 1) * 4 + 1;
      assert.equal(row.release, held[0].noisySums[at]);
      assert.equal(row['release-b'], held[1].noisySums[at]);
      assert.equal(row.truth, held[0].trueSums[at]);
      assert.ok(Math.abs(row['truth-b'] - row.truth) < 1e-90, 'the same records');
    }
    const errors = await readKey(page, '#sum-errors');
    assert.equal(errors['A release − truth'], key['A optimal'] - key['true total']);
    assert.equal(errors['B release − truth'], key['B fresh noise'] - key['true total']);
    assert.match(
      await textOf(page, '#sums-note'),
      /gradients at weights 0, where all learners start/,
    );
    // Figure 2 shows learners that move.
    const learned = await readTable(page, 'learning-numbers');
    const { lambda, ...free } = common;
    assert.equal(lambda, 1e100);
    const own = library.study.simulation({ ...free, strategy: 'independent' });
    const losses = own.advance(60).privateLoss;
    const mean = losses.reduce((sum, value) => sum + value, 0) / 60;
    assert.ok(Math.abs(learned.get(60)['loss-b'] / mean - 1) < 1e-12);
    own.dispose();
    assert.deepEqual(said, []);
    await page.close();
  }
});

test('one learner: the totals are of its own gradients, and the figure says so', async () => {
  const { page } = await open('steps=60');
  const own = library.study.simulation({ ...private1, steps: 60, streamSeed: 12 });
  const rows = await readTable(page, 'sums-numbers');
  assert.equal(rows.get(60).truth, own.advance(60).trueSums[59 * 4]);
  own.dispose();
  assert.match(await textOf(page, '#sums-note'), /the learner’s own clipped gradients/);
  assert.equal(
    await page.$eval('#sums-view', ({ options }) => options[1].text),
    'coordinate 1 (gradient)',
  );
  await page.select('#set-compare', 'tree');
  await page.waitForFunction(
    () =>
      document.getElementById('sums-view').options[1].text ===
      'coordinate 1 (gradient at the start)',
  );
  await page.select('#set-source', 'shop_day');
  await page.waitForFunction(() => document.getElementById('sums-note').hidden);
  await page.close();
});

test('participation: sensitivity and noise are those of the library, and in the address', async () => {
  const { page, said } = await open(shopDay);
  assert.match(await textOf(page, '#set-participation-hint'), /sensitivity 1 \(exact\).*; B sens/);
  await page.select('#set-compare', 'tree');
  await page.select('#set-mechanism', 'square-root');
  await page.select('#set-participation', 'separated');
  await page.waitForFunction(() => /participation=separated/.test(location.hash));
  await enter(page, '#set-participations', '3');
  await enter(page, '#set-minSeparation', '100');
  await page.waitForFunction(() => /participations=3&min-separation=100/.test(location.hash));
  await settled(page);
  const participation = { times: 3, apart: 100 };
  const target = { ...private1, steps: 840 };
  const certificates = ['square-root', 'tree'].map((mechanism) =>
    library.certificate({ ...target, strategy: mechanism, participation }),
  );
  const hint = await textOf(page, '#set-participation-hint');
  assert.match(
    hint,
    /^You promise that a user has at most 3 records, at least 100 steps apart; the/,
  );
  for (const { sensitivity, sensitivityExactness, noiseStddev } of certificates) {
    const exact = sensitivityExactness === 'exact' ? 'exact' : 'an upper bound';
    const digits = (value) => Number(value.toPrecision(4));
    const said = `sensitivity ${digits(sensitivity)} (${exact}), σ ${digits(noiseStddev)}`;
    assert.ok(hint.includes(said), `${hint}: ${said}`);
  }
  const rows = await readTable(page, 'sums-numbers');
  for (const [tag, { noiseStddev, sensitivity, maxError }] of [
    ['', certificates[0]],
    ['-b', certificates[1]],
  ]) {
    const worst = Math.max(...[...rows.values()].map((row) => row[`stddev${tag}`]));
    assert.ok(worst <= ((noiseStddev * maxError) / sensitivity) * (1 + 1e-6));
    assert.ok(worst > ((noiseStddev * maxError) / sensitivity) * 0.8);
  }
  // Figures computed directly by the library are about the same users.
  await reveal(page, 'errors', '.key');
  const errors = await readKey(page, '#errors');
  // The key has a “max” for each mechanism; the last one belongs to the tree.
  const unit = library.error({ strategy: 'tree', steps: 840, participation });
  assert.equal(errors.max, unit.maxError);
  await page.reload();
  await settled(page);
  assert.equal(await textOf(page, '#set-participation-hint'), hint);
  await page.select('#set-participation', 'epochs');
  await page.waitForFunction(() => /participation=epochs/.test(location.hash));
  await settled(page);
  assert.ok(await page.$eval('#set-minSeparation', (one) => one.getClientRects().length === 0));
  const epochs = library.certificate({
    ...target,
    strategy: 'square-root',
    participation: { epochs: 3 },
  });
  assert.equal(await valueOf(page, '#target-noise'), Number(epochs.noiseStddev.toPrecision(4)));
  assert.match(
    await textOf(page, '#set-participation-hint'),
    /in each of 3 epochs, each of 280 steps/,
  );
  // 840 is not a multiple of 11, so the message appears where it was typed.
  await enter(page, '#set-participations', '11');
  await page.waitForSelector('#set-participations-error:not([hidden])');
  assert.match(await textOf(page, '#set-participations-error'), /epochs must be a divisor/);
  assert.deepEqual(said, []);
  await page.close();
});

test('budget: shares add up as the library composes them, and are linked with epsilon', async () => {
  const { page, said } = await open(shopDay);
  assert.ok(await page.$eval('.budget', (one) => one.hidden));
  await enter(page, '#set-budget', '2');
  await page.waitForSelector('.budget:not([hidden])');
  const delta = 1e-6;
  const muOf = (epsilon) => library.calibrate({ epsilon, delta }).mu;
  const share = (muOf(1) / muOf(2)) ** 2;
  assert.ok(Math.abs((await valueOf(page, '#budget-share')) / (100 * share) - 1) < 1e-3);
  const many = (epsilon, num) => ({ mu: muOf(epsilon) * Math.sqrt(num) });
  const fits = (epsilon, num) => library.budget({ epsilon: 2, delta }).fits(many(epsilon, num));
  const spent = library.calibrate({ ...many(1, 4), delta });
  const text = await textOf(page, '#budget-text');
  const [, shown] = /spend ε = ([\d.]+) together, over budget/.exec(text);
  assert.ok(Number(shown) >= spent.epsilon && Number(shown) < 1.001 * spent.epsilon, shown);
  assert.ok(fits(1, 3) && !fits(1, 4));
  assert.match(text, /; 3 fit\./);
  assert.match(text, /“Draw the noise again” is a simulation and spends nothing/);
  const meter = () => page.$eval('#budget-meter', (one) => one.getAttribute('aria-valuetext'));
  assert.equal(await meter(), `${(400 * share).toFixed(1)}\u00a0% by 4 releases`);
  assert.match(await hashOf(page), /budget=2/);
  // From the share to epsilon.
  await page.click('#budget-divide');
  await page.waitForFunction(() => /epsilon=/.test(location.hash));
  await settled(page);
  const epsilon = await valueOf(page, '#set-epsilon');
  assert.ok(fits(epsilon, 4) && !fits(epsilon * 1.001, 4), `${epsilon}`);
  await page.waitForFunction(() =>
    /within budget; 4 fit\./.test(document.getElementById('budget-text').textContent),
  );
  await enter(page, '#budget-share', '10');
  await page.waitForFunction(
    (before) => Number(document.getElementById('set-epsilon').value) !== before,
    {},
    epsilon,
  );
  await settled(page);
  const tenth = (muOf(await valueOf(page, '#set-epsilon')) / muOf(2)) ** 2;
  assert.ok(Math.abs(tenth - 0.1) < 1e-4, `${tenth}`);
  // Conversely, epsilon changes the share.
  await enter(page, '#set-epsilon', '2');
  await page.waitForFunction(() => document.getElementById('budget-share').value === '100');
  await enter(page, '#budget-share', '101');
  assert.match(
    await textOf(page, '#budget-share-error'),
    /must be a number above 0 and at most 100/,
  );
  await enter(page, '#set-releases', '1');
  await page.waitForFunction(() =>
    /One release/.test(document.getElementById('budget-text').textContent),
  );
  assert.ok(await page.$eval('#budget-divide', (one) => one.hidden));
  await page.reload();
  await settled(page);
  await page.waitForSelector('.budget:not([hidden])');
  assert.equal(await meter(), '100.0\u00a0% by one release');
  // Drawing again spends nothing here.
  await page.click('#draw-again');
  await page.waitForFunction(() => /noise-seed=2/.test(location.hash));
  await settled(page);
  assert.equal(await meter(), '100.0\u00a0% by one release');
  await enter(page, '#set-budget', 'none');
  await page.waitForFunction(() => document.querySelector('.budget').hidden);
  assert.deepEqual(said, []);
  await page.close();
});

test('budget: after a choice that fails, the meter shows the settings in force', async () => {
  const { page, said } = await open('lab&budget=2');
  await page.waitForSelector('.budget:not([hidden])');
  const meter = () =>
    page.evaluate(() => ({
      share: document.getElementById('budget-share').value,
      error: document.getElementById('budget-share-error').textContent,
      epsilon: document.getElementById('set-epsilon').value,
      text: document.getElementById('budget-text').textContent,
      drawn: document.querySelector('#budget-meter .own').style.width,
    }));
  const inForce = await meter();
  assert.equal(inForce.epsilon, '1');
  // The share is so small that no double is its epsilon; it is refused where it was entered.
  await enter(page, '#budget-share', '1e-30');
  await page.waitForSelector('#budget-share-error:not([hidden])');
  const error = 'is too small a share to leave any epsilon';
  assert.deepEqual(await meter(), { ...inForce, share: '1e-30', error });
  // Runs that fail while a share is refused, due to the share or to another setting.
  await page.evaluate(() => {
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...rest) {
      if (message?.method === 'open') throw new Error('no room');
      post.call(this, message, ...rest);
    };
  });
  const fails = async (selector, text) => {
    await enter(page, selector, text);
    await page.waitForSelector('#run-error:not([hidden])');
    assert.match(
      await textOf(page, '#run-error'),
      /no room.* The controls again show the current run/,
    );
    assert.deepEqual(await meter(), inForce, selector);
    await page.click('#run-error button');
  };
  await fails('#budget-share', '50');
  await enter(page, '#budget-share', '200');
  await page.waitForSelector('#budget-share-error:not([hidden])');
  await fails('#set-clipNorm', '3');
  // Another budget needs no run. A meter is hidden if its numbers cannot be added up.
  await page.evaluate(() => {
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...rest) {
      if (message?.argument?.name === 'calibrate') throw new Error('no room');
      post.call(this, message, ...rest);
    };
  });
  await enter(page, '#set-budget', '3');
  await page.waitForFunction(() => document.querySelector('.budget').hidden);
  await enter(page, '#set-clipNorm', '3');
  await page.waitForSelector('#run-error:not([hidden])');
  assert.ok(await page.$eval('.budget', (one) => one.hidden));
  assert.deepEqual(said, []);
  await page.close();
});

test('participation and budget fit 320 px, and axe finds nothing wrong', async () => {
  const hash = 'steps=50&compare=tree&budget=2&participation=separated&participations=2';
  for (const scheme of ['light', 'dark']) {
    const { page } = await open(hash, { width: 320, scheme });
    await page.waitForSelector('.budget:not([hidden])');
    assert.deepEqual(await complaints(page), []);
    await fits(page);
    await page.close();
  }
});
