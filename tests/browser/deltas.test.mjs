// SPDX-License-Identifier: Apache-2.0

// The laboratory: errors with and without a delta, their crossover, and lower bounds for every
// mechanism.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { some } from '../js/support/extent.mjs';
import {
  complaints,
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
const { crossingOf } = await importSources('web/src', [
  "export { crossingOf } from './figures/delta-figure.ts';",
]);

const customers = 'data=shop_day&label=-&column=count&steps=840&speed=max';
const near = (value, wanted, tolerance = 1e-6) =>
  assert.ok(Math.abs(value / wanted - 1) <= tolerance, `${value}, ${wanted}`);

/** Errors of a release without a delta and of one with it, in input units. */
function errorsOf(options, objective, mechanism = 'optimal') {
  const error = objective === 'max' ? 'maxError' : 'meanError';
  const of = (certificate) =>
    (certificate.noiseStddev / certificate.sensitivity) * certificate[error];
  const pure = library.counter({ ...options, delta: 0 });
  pure.dispose();
  return {
    pure: of(pure.certificate),
    gaussian: (delta) => of(library.certificate({ ...options, strategy: mechanism, delta })),
  };
}

const floorsOf = (page) =>
  page.$$eval('#floors li', (items) =>
    Object.fromEntries(
      items.map((item) => [
        item.querySelector('b')?.textContent,
        Number(item.querySelector('data')?.value),
      ]),
    ),
  );

/** Waits until the note matches, after everything is computed. */
async function noted(page, pattern) {
  await page.$eval('#deltas', (one) => one.scrollIntoView());
  await page.waitForFunction(
    (text) => new RegExp(text).test(document.getElementById('deltas-note').textContent),
    {},
    pattern,
  );
  return textOf(page, '#deltas-note');
}

test('a crossing is found where there is one', async () => {
  const root = async (power) => Math.sqrt(power);
  near(await crossingOf(root, 2, [1, 16]), 4, 1e-6);
  near(await crossingOf(root, Math.sqrt(5.3), [1, 16]), 5.3, 1e-6);
  near(await crossingOf(root, 1, [1, 16]), 1, 1e-6);
  near(await crossingOf(root, 4, [1, 16]), 16, 1e-6);
  assert.equal(await crossingOf(root, 0.9, [1, 16]), null);
  assert.equal(await crossingOf(root, 4.1, [1, 16]), null);
});

for (const objective of some(['max', 'mean'], 2)) {
  test(`errors, crossing and floors are those of the library: ${objective}`, async () => {
    const { page, said } = await open(`${customers}&mechanism=optimal&clip=3`);
    await noted(page, 'worst step');
    if (objective === 'mean') {
      await page.focus('#deltas-view');
      await page.keyboard.press('ArrowDown');
      await page.waitForFunction(() => location.hash.includes('rank-by=mean'));
      await noted(page, 'root mean square');
      assert.equal(await page.$eval('#ranking-view', (select) => select.value), 'mean');
    }
    const options = { steps: 840, epsilon: 1, clip: 3 };
    const { pure, gaussian } = errorsOf(options, objective);
    const bounds = library.bounds({ steps: 840, epsilon: 1, delta: 1e-6 });
    const { mechanisms } = library.bounds({ steps: 840, epsilon: 1 });
    const added = 3 * bounds.addedNoise[objective];
    const key = await readKey(page, '#deltas');
    near(key.optimal, gaussian(1e-6));
    near(key['without δ'], pure);
    near(key['floor: added noise'], added);
    near(key['floor: unbiased, without δ'], 3 * mechanisms.unbiased[objective]);
    near(key['floor: any, without δ'], 3 * mechanisms.every);
    const floors = await floorsOf(page);
    near(floors['added noise'], added);
    near(floors['any, without δ'], 3 * mechanisms.every);
    const { noiseMultiplier } = library.calibrate({ epsilon: 1, delta: 1e-6 });
    near(floors.factorizations, 3 * noiseMultiplier * bounds[objective]);
    const [, digits, power] = /below δ = ([\d.]+) × 10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/.exec(
      await textOf(page, '#deltas-note'),
    );
    const exponent = Number([...power].map((c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(c)).join(''));
    const crossing = Number(digits) * 10 ** -exponent;
    near(gaussian(crossing), pure, 1e-3);
    // For the largest error, the best mechanism of the table is the one shown.
    if (objective === 'max')
      near(
        crossing,
        library.compare({ steps: 840, epsilon: 1 }).result().pure.crossoverDelta,
        5e-3,
      );
    // The cursor moves through the powers of ten.
    await page.focus('#deltas .plot');
    await page.keyboard.press('Home');
    assert.match(await textOf(page, '#deltas .key-at'), /^δ = 10⁻¹$/);
    await page.keyboard.press('ArrowRight');
    const moved = await readKey(page, '#deltas');
    near(moved.optimal, gaussian(0.01));
    near(
      moved['floor: added noise'],
      3 * library.bounds({ steps: 840, epsilon: 1, delta: 0.01 }).addedNoise[objective],
    );
    assert.match(
      await page.$eval('#deltas .plot', (one) => one.getAttribute('aria-valuetext')),
      /^δ 0\.01, .* without δ /,
    );
    await page.keyboard.press('Escape');
    assert.match(await textOf(page, '#deltas .key-at'), /^δ = 10⁻⁶, as chosen$/);
    assert.deepEqual(await complaints(page), []);
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('the figure follows epsilon and the records of a user, and says where no floor is proved', async () => {
  const { page, said } = await open(
    `${customers}&mechanism=square-root&epsilon=4&delta=3e-8&participation=epochs&participations=3`,
  );
  const note = await noted(page, 'square root');
  assert.match(note, /larger than that of square root|below δ = /);
  assert.doesNotMatch(note, /Dotted/);
  const options = { steps: 840, epsilon: 4, participation: { epochs: 3 } };
  const { pure, gaussian } = errorsOf(options, 'max', 'square-root');
  const key = await readKey(page, '#deltas');
  assert.deepEqual(Object.keys(key), ['square root', 'without δ']);
  near(key['square root'], gaussian(3e-8));
  near(key['without δ'], pure);
  assert.match(
    await textOf(page, '#floors'),
    /proved only for one record per user and zero-out neighbours, so none is shown/,
  );
  await page.select('#set-participation', 'single');
  await page.waitForFunction(() => !location.hash.includes('participation=epochs'));
  await settled(page);
  await noted(page, 'Dotted');
  near(
    (await floorsOf(page))['any, without δ'],
    library.bounds({ steps: 840, epsilon: 4 }).mechanisms.every,
  );
  assert.deepEqual(said, []);
  await page.close();
});

test('the figure over delta is hidden for sums other than running totals', async () => {
  const { page } = await open(`${customers}&mechanism=square-root`);
  await noted(page, 'square root');
  await page.select('#set-workload', 'window');
  await page.waitForFunction(() => document.getElementById('deltas-figure').hidden);
  await page.select('#set-workload', 'total');
  await page.waitForFunction(() => !document.getElementById('deltas-figure').hidden);
  await settled(page);
  await reveal(page, 'deltas', '.key');
  await openExport(page);
  await savesOf(page, '[data-picture=deltas]');
  const [panel] = await savedPanels(page);
  assert.equal(panel.lines.length, 5);
  assert.deepEqual(Object.keys(panel.legend).slice(0, 2), ['square root', 'without δ']);
  await page.close();
});
