// SPDX-License-Identifier: Apache-2.0

// The laboratory: counting by randomised response, compared with the errors of the mechanisms.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  complaints,
  fits,
  importSources,
  openExport,
  readKey,
  reveal,
  savedPanels,
  savesOf,
  settled,
  startSite,
  textOf,
} from './support.mjs';

const { open } = await startSite();
const library = await load();
const { localStddev, overtakes } = await importSources('web/src/figures', [
  "export * from './local-counter.ts';",
]);

const shown = 'randomised-response=shown';
const name = 'randomised response';
const near = (value, wanted) =>
  assert.ok(Math.abs(value / wanted - 1) < 1e-9, `${value}, ${wanted}`);

/**
 * Standard deviation of the library's count in the units of Figure 4: the noise of a measurement.
 */
function expected(options, reports, participations = 1) {
  const simulation = library.study.simulation({ delta: 1e-6, ...options });
  const { noiseMultiplier } = simulation.certificate;
  simulation.dispose();
  const epsilon = options.epsilon / participations;
  const factor = options.neighbours === 'replace-one' ? 2 : 1;
  return (
    library.queries.estimateCount({ ones: 0, reports, epsilon }).stddev / (noiseMultiplier * factor)
  );
}

test('the formula for randomised response agrees with the library and with many counts', () => {
  for (const epsilon of [0.01, 0.5, 1, 3, 12]) {
    for (const reports of [1, 7, 1000]) {
      near(
        localStddev(epsilon, reports),
        library.queries.estimateCount({ ones: 0, reports, epsilon }).stddev,
      );
    }
  }
  const [numRuns, reports, epsilon] = [400, 50, 1.5];
  let squares = 0;
  for (let run = 0; run < numRuns; ++run) {
    let ones = 0;
    for (let i = 0; i < reports; ++i) {
      ones += library.queries.randomizedResponse({
        bit: i < 20,
        epsilon,
        insecureSeed: run * reports + i,
      });
    }
    squares += (library.queries.estimateCount({ ones, reports, epsilon }).count - 20) ** 2;
  }
  const found = Math.sqrt(squares / numRuns);
  // Five standard deviations of a root of 400 squares; exceeded for one seed in a million.
  assert.ok(
    Math.abs(found / localStddev(epsilon, reports) - 1) < 5 / Math.sqrt(2 * numRuns),
    `${found}`,
  );
});

test('randomised response overtakes a curve at the first step after which it stays above it', () => {
  const root = (step) => Math.sqrt(step);
  assert.equal(overtakes(root, Float64Array.of(2, 2, 2, 2, 2)), 5);
  assert.equal(overtakes(root, Float64Array.of(0, 2, 0, 0)), 3);
  assert.equal(overtakes(root, Float64Array.of(0, 0)), 1);
  assert.equal(overtakes(root, Float64Array.of(0, 0, 2)), null);
});

test('the curve: shown by keyboard, it has the right error and is in the link and the picture', async () => {
  const { page, said } = await open('mechanism=optimal&clip=3');
  await reveal(page, 'errors', '.key');
  assert.ok(!(name in (await readKey(page, '#errors'))));
  assert.equal(await page.$eval('#local-note', (note) => note.hidden), true);
  await page.focus('#local');
  await page.keyboard.press('Space');
  await page.waitForFunction((text) => location.hash.includes(text), {}, shown);
  await page.waitForSelector('#local-note:not([hidden])');
  const options = { steps: 1024, epsilon: 1 };
  near((await readKey(page, '#errors'))[name], expected(options, 1024));
  assert.match(await textOf(page, '#local-note'), /it is above that of optimal from step 171 on\./);
  const { stddev } = library.study.simulation({ ...options, delta: 1e-6 }).advance(1024);
  const local = (step) =>
    library.queries.estimateCount({ ones: 0, reports: step, epsilon: 1 }).stddev;
  assert.ok(local(171) > stddev[170] && local(170) <= stddev[169]);
  await page.focus('#errors .plot');
  await page.keyboard.press('Home');
  near((await readKey(page, '#errors'))[name], expected(options, 1));
  assert.match(
    await page.$eval('#errors .plot', (one) => one.getAttribute('aria-valuetext')),
    /^step 1, standard deviation: optimal [\d.]+, fresh noise 1, randomised response 0\.22/,
  );
  await openExport(page);
  await savesOf(page, '[data-picture=deviations]');
  const [panel] = await savedPanels(page);
  assert.ok(name in panel.legend);
  const heights = panel.lines[2].map(([, y]) => panel.valueAt(y));
  assert.ok(Math.abs(heights.at(-1) / expected(options, 1024) - 1) < 0.01, `${heights.at(-1)}`);
  await page.keyboard.press('Escape');
  await page.reload();
  await settled(page);
  await reveal(page, 'errors', '.key');
  near((await readKey(page, '#errors'))[name], expected(options, 1024));
  assert.deepEqual(said, []);
  await page.close();
});

test('a user with several records divides epsilon, and replace-one doubles only the other errors', async () => {
  const wanted =
    'neighbours=replace-one&participation=separated&participations=3&min-separation=20';
  const { page } = await open(`mechanism=square-root&steps=90&epsilon=2&${wanted}&${shown}`);
  await reveal(page, 'errors', '.key');
  const options = { steps: 90, epsilon: 2, neighbours: 'replace-one' };
  near((await readKey(page, '#errors'))[name], expected(options, 90, 3));
  assert.match(
    await textOf(page, '#local-note'),
    /At the same ε, divided by the 3 records of a user, without δ/,
  );
  await page.close();
});

test('at a short horizon the curve stays below the others, and the note says so', async () => {
  const endsBelow = (numSteps) => {
    const { stddev } = library.study
      .simulation({ steps: numSteps, epsilon: 1, delta: 1e-6 })
      .advance(numSteps);
    return (
      library.queries.estimateCount({ ones: 0, reports: numSteps, epsilon: 1 }).stddev <
      stddev.at(-1)
    );
  };
  assert.deepEqual([96, 97].map(endsBelow), [true, false], 'docs/math/queries.md');
  const { page } = await open(`steps=96&mechanism=optimal&compare=independent&${shown}`);
  await reveal(page, 'errors', '.key');
  const key = await readKey(page, '#errors');
  assert.ok(key[name] < key['A optimal'] && key[name] < key['B fresh noise']);
  assert.match(
    await textOf(page, '#local-note'),
    /it ends below that of optimal\. The lower bound, which is/,
  );
  assert.deepEqual(await complaints(page), []);
  await page.close();
});

test('it fits 320 px in the dark, and axe finds nothing wrong', async () => {
  const { page } = await open(`steps=200&compare=tree&${shown}`, { width: 320, scheme: 'dark' });
  await reveal(page, 'errors', '.key');
  assert.deepEqual(await complaints(page), []);
  await fits(page);
  await page.close();
});
