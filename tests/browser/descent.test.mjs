// SPDX-License-Identifier: Apache-2.0

// The laboratory: gradient descent on private totals, alone and next to FTRL.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  complaints,
  enter,
  fits,
  openExport,
  readKey,
  readTable,
  savedPanels,
  savesOf,
  settled,
  shopDay,
  startSite,
  textOf,
  unfold,
} from './support.mjs';

const { open } = await startSite();
const library = await load();

const steps = 80;
const common = { steps, epsilon: 1, delta: 1e-6, streamSeed: 12 };

/** Final results of a learner from the library, by column; `suffix` ends the column names. */
function endOf(options, suffix, twin) {
  const simulation = library.study.simulation({ ...common, ...options });
  const chunk = simulation.advance(steps);
  simulation.dispose();
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / steps;
  return {
    [`loss${suffix}`]: mean(chunk.privateLoss),
    [`accuracy${suffix}`]: mean(chunk.privateCorrect),
    [`regret${suffix}`]: chunk.regret.private.at(-1),
    [`loss-twin${twin}`]: mean(chunk.twinLoss),
    [`accuracy-twin${twin}`]: mean(chunk.twinCorrect),
    [`regret-twin${twin}`]: chunk.regret.twin.at(-1),
  };
}

function near(row, expected) {
  assert.deepEqual(Object.keys(row).sort(), Object.keys(expected).sort());
  for (const [name, value] of Object.entries(expected)) {
    assert.ok(Math.abs(row[name] - value) < 1e-12, `${name}: ${row[name]}, ${value}`);
  }
}

const lastRow = async (page) => (await readTable(page, 'learning-numbers')).get(steps);

test('descent learns as the library does, from totals of its own gradients', async () => {
  const { page, said } = await open(
    `steps=${steps}&mechanism=square-root&learner=descent&momentum=0.5`,
  );
  const descent = { strategy: 'square-root', descent: { momentum: 0.5 } };
  near(await lastRow(page), endOf(descent, '', ''));
  const rows = await readTable(page, 'sums-numbers');
  const simulation = library.study.simulation({ ...common, ...descent });
  assert.equal(rows.get(steps).truth, simulation.advance(steps).trueSums.at(-4));
  const auto = simulation.lambda.private.toPrecision(4);
  assert.ok((await textOf(page, '#set-lambda-hint')).includes(`${Number(auto)} here`));
  simulation.dispose();
  assert.match(await textOf(page, '#sums-note'), /the learner’s own clipped gradients/);
  assert.deepEqual(said, []);
  await page.close();
});

test('descent beside FTRL: chosen by keyboard, it is in the key, table, link and picture', async () => {
  const { page, said } = await open(`steps=${steps}&mechanism=tree&learning=regret`);
  assert.equal(await page.$eval('#set-momentum', (one) => one.checkVisibility()), false);
  await unfold(page, '#set-rule');
  await page.focus('#set-rule');
  await page.keyboard.press('End');
  await page.waitForFunction(() => location.hash.includes('learner=both'));
  await settled(page);
  assert.ok(await page.$eval('#set-momentum', (one) => one.checkVisibility()));
  const expected = {
    ...endOf({ strategy: 'tree' }, '', ''),
    ...endOf({ strategy: 'tree', descent: { momentum: 0.9 } }, '-descent', '-descent'),
  };
  near(await lastRow(page), expected);
  const key = await readKey(page, '#learning');
  assert.deepEqual(Object.keys(key), [
    ...[
      'final bound FTRL',
      'FTRL',
      'descent',
      'non-private twin, FTRL',
      'non-private twin, descent',
    ],
  ]);
  assert.ok(Math.abs(key.descent - expected['regret-descent']) < 1e-12);
  assert.match(
    await page.$eval('#learning .plot', (one) => one.getAttribute('aria-valuetext')),
    /secret: FTRL [−\d.]+, descent [−\d.]+, twin FTRL [−\d.]+, twin descent [−\d.]+$/,
  );
  assert.match(
    await textOf(page, '#facts'),
    /so far: FTRL .*\s%, descent .*\s%, twin FTRL .*\s%, twin descent/,
  );
  assert.match(await textOf(page, '#sums-note'), /at weights 0, where all learners start/);
  await openExport(page);
  await savesOf(page, '[data-picture=learning]');
  const [{ legend, lines, painted }] = await savedPanels(page);
  for (const name of ['tree, FTRL', 'tree, descent', 'non-private twin, descent'])
    assert.ok(name in legend, name);
  assert.equal(lines.length, 5, 'four learners and a bound');
  assert.ok(new Set(painted).size >= 4, 'each has its colour');
  await page.keyboard.press('Escape');
  await page.reload();
  await settled(page);
  near(await lastRow(page), expected);
  await page.select('#set-rule', 'descent');
  await page.waitForFunction(() => location.hash.includes('learner=descent'));
  await settled(page);
  assert.deepEqual(Object.keys(await readKey(page, '#learning')), [
    'private learner',
    'non-private twin',
  ]);
  assert.deepEqual(said, []);
  await page.close();
});

test('without momentum, descent scores as FTRL does here, and a momentum of 1 is refused', async () => {
  const { page } = await open(`steps=${steps}&learner=both&momentum=0`);
  const row = await lastRow(page);
  for (const name of ['loss', 'accuracy', 'regret']) {
    assert.ok(Math.abs(row[name] - row[`${name}-descent`]) < 1e-9, name);
  }
  await enter(page, '#set-momentum', '1');
  await page.waitForSelector('#set-momentum-error:not([hidden])');
  assert.equal(
    await textOf(page, '#set-momentum-error'),
    'momentum must be at least 0 and below 1, got “1”',
  );
  await enter(page, '#set-momentum', '0.9');
  await page.waitForFunction(() => !location.hash.includes('momentum='));
  await settled(page);
  const moved = await lastRow(page);
  assert.ok(Math.abs(moved.loss - moved['loss-descent']) > 1e-3);
  await page.close();
});

test('two mechanisms by two rules: the figure shows six learners and only the bounds that exist', async () => {
  const hash = `steps=${steps}&mechanism=optimal&compare=independent&learner=both&momentum=0&learning=regret`;
  const { page } = await open(hash);
  const boundOf = (options) =>
    library.study.simulation({ ...common, ...options }).regretBound?.private;
  const descent = {};
  assert.equal(boundOf({ strategy: 'optimal', descent }), undefined);
  const key = await readKey(page, '#learning');
  const bounds = Object.entries(key).filter(([name]) => name.startsWith('final bound'));
  assert.deepEqual(bounds, [
    ['final bound A FTRL', boundOf({ strategy: 'optimal' })],
    ['final bound B FTRL', boundOf({ strategy: 'independent' })],
    ['final bound B descent', boundOf({ strategy: 'independent', descent })],
  ]);
  assert.deepEqual(Object.keys(key).slice(3), [
    ...['A optimal, FTRL', 'A optimal, descent', 'B fresh noise, FTRL', 'B fresh noise, descent'],
    ...['non-private twin, FTRL', 'non-private twin, descent'],
  ]);
  const { 'regret-b-descent': regret } = await lastRow(page);
  near({ regret }, { regret: endOf({ strategy: 'independent', descent }, '', '').regret });
  const colours = await page.$$eval('#learning .key-group.secret .swatch', (all) =>
    all.map((one) => getComputedStyle(one).borderTopColor),
  );
  assert.equal(new Set(colours).size, 6);
  await page.click('#deployed');
  await page.waitForFunction(() => location.hash.includes('secrets=hidden'));
  assert.deepEqual(
    Object.keys(await readKey(page, '#learning')),
    bounds.map(([name]) => name),
  );
  assert.doesNotMatch(await page.$eval('#learning', (one) => one.innerText), /twin|optimal/);
  await page.close();
});

test('without a learner, the controls of its rule are hidden', async () => {
  const { page } = await open(shopDay);
  await unfold(page);
  for (const name of ['rule', 'momentum']) {
    assert.equal(await page.$eval(`#set-${name}`, (one) => one.checkVisibility()), false, name);
  }
  await page.close();
});

for (const scheme of ['light', 'dark']) {
  test(`both fit 320 px, and axe finds nothing wrong: ${scheme}`, async () => {
    const { page } = await open(`steps=40&compare=tree&learner=both&learning=regret`, {
      width: 320,
      scheme,
    });
    await readTable(page, 'learning-numbers');
    assert.deepEqual(await complaints(page), []);
    await fits(page);
    await page.close();
  });
}
