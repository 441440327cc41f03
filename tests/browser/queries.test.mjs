// SPDX-License-Identifier: Apache-2.0

// The histogram view: drawing, typing or loading a histogram, and the answers about it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import {
  complaints,
  enter,
  openPage,
  readKey,
  reveal,
  settled,
  startSite,
  textOf,
  transferred,
} from './support.mjs';

const { site, browser } = await startSite();
const library = await load();

async function open(hash = '') {
  const opened = await openPage(browser, `${site.url}#${hash || 'queries'}`, { calm: true });
  await reveal(opened.page, 'queries', '.map');
  return opened;
}

/** Numbers of the table, row by row, once they are about this histogram and workload. */
async function table(page, { queries }) {
  await page.waitForFunction(
    (n) => document.getElementById('queries-note').textContent.startsWith(`${n} queries`),
    {},
    queries,
  );
  await page.$eval('#queries-numbers', (details) => (details.open = true));
  await page.waitForSelector('#queries:not([aria-busy])');
  await page.waitForSelector('#queries-numbers tbody tr');
  return page.$$eval('#queries-numbers tbody tr', (rows) =>
    rows.map((row) => [
      row.querySelector('th').textContent,
      ...[...row.querySelectorAll('data')].map((cell) => Number(cell.value)),
    ]),
  );
}

/** Computes the numbers that the table must show. */
function expected(workload, histogram, more = {}) {
  const target = { workload, epsilon: 1, delta: 1e-6, ...more };
  const best = library.queries.linear(target).result();
  const each = library.queries.linear({ ...target, measurements: 'queries' }).result();
  const [a, b] = [best, each].map((one) => one.release(histogram, { insecureSeed: 1 }).answers);
  const { queries, numValues } = best.matrices();
  const rows = best.labels().map((label, i) => {
    const truth = histogram.reduce((sum, count, v) => sum + count * queries[i * numValues + v], 0);
    return [label, a[i], best.standardErrors[i], b[i], each.standardErrors[i], truth];
  });
  best.dispose();
  each.dispose();
  return rows;
}

/** Adds up the layout shifts of the page. */
function watchShifts() {
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) {
      if (!hadRecentInput) window.shift += value;
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

const countsOf = (page) =>
  page.$$eval('.bar-slot', (all) => all.map((bar) => Number(bar.getAttribute('aria-valuenow'))));

test('queries: answers, errors and matrices are those of the library', async () => {
  const { page, said, asked } = await open('histogram=5,0,40,7&queries=ranges');
  const rows = await table(page, { queries: 10 });
  assert.deepEqual(rows, expected({ ranges: 4 }, [5, 0, 40, 7]));
  assert.match(
    await textOf(page, '#queries .map:nth-child(1) .map-at'),
    /^10 × 4, 20 non-zero entries/,
  );
  assert.match(await textOf(page, '#queries .map:nth-child(3) .map-at'), /^4 × 4,/);
  assert.match(
    await textOf(page, '#queries-note'),
    /provably at most .*\s% above that of the best/,
  );
  await page.select('#queries-view', 'errors');
  await page.waitForSelector('#queries .plot[aria-label^=Errors]');
  const rms = (column) => Math.sqrt(rows.reduce((sum, row) => sum + row[column] ** 2, 0) / 10);
  const key = await readKey(page, '#queries');
  assert.ok(Math.abs(key['std, factorization'] / rms(2) - 1) < 1e-12);
  assert.ok(Math.abs(key['std, noise on each'] / rms(4) - 1) < 1e-12);
  await page.select('#queries-workload', 'rectangles');
  assert.deepEqual(
    await table(page, { queries: 9 }),
    expected({ product: [{ ranges: 2 }, { ranges: 2 }] }, [5, 0, 40, 7]),
  );
  await page.click('#queries-deployed');
  await reveal(page, 'queries', '.map');
  await page.waitForFunction(() => !document.querySelector('#queries .key-group.secret'));
  assert.equal((await table(page, { queries: 9 }))[0].length, 5, 'no true answers');
  assert.deepEqual(said, []);
  assert.ok(asked.every((url) => /^(blob|data):/.test(url) || url.startsWith(site.url)));
  await page.close();
});

test('queries: with replace-one the number of records is released exactly', async () => {
  const { page } = await open('histogram=5,0,40,7&queries=ranges&neighbours=replace-one');
  const rows = await table(page, { queries: 10 });
  const neighbours = 'replace-one';
  assert.deepEqual(rows, expected({ ranges: 4 }, [5, 0, 40, 7], { neighbours }));
  const [, answer, std] = rows.find(([label]) => label === '0..3');
  assert.deepEqual([answer, std], [52, 0]);
  assert.match(
    await textOf(page, '#queries-note'),
    /above that of the best .* one row of M counts/,
  );
  await page.close();
});

test('queries: bars are drawn with the pointer and with the keyboard', async () => {
  const { page, said } = await open('histogram=10,10,10,10&queries=identity');
  const box = await page.$eval('.bars', (bars) => {
    const { x, y, width, height } = bars.getBoundingClientRect();
    return { x, y, width, height };
  });
  // The upper edge corresponds to 20 records.
  const at = (value, records) => [
    box.x + ((value + 0.5) * box.width) / 4,
    box.y + (1 - records / 20) * box.height,
  ];
  await page.mouse.move(...at(1, 4));
  await page.mouse.down();
  await page.mouse.move(...at(2, 16), { steps: 8 });
  await page.mouse.up();
  const drawn = await countsOf(page);
  assert.deepEqual([drawn[0], drawn[3]], [10, 10]);
  assert.ok(Math.abs(drawn[2] - 16) <= 1, `${drawn}`);
  assert.ok(drawn[1] < 12, `${drawn}`);
  await page.focus('.bar-slot');
  for (const key of ['ArrowUp', 'ArrowUp', 'ArrowRight', 'Home', 'ArrowRight', 'PageDown']) {
    await page.keyboard.press(key);
  }
  const typed = [12, 0, Math.max(0, drawn[2] - 10), 10];
  assert.deepEqual(await countsOf(page), typed);
  assert.match(await textOf(page, '.bars-at'), /^value 2: /);
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  assert.equal(await focused(), 'value 2');
  const shown = await table(page, { queries: 4 });
  await page.waitForFunction(
    (truths) =>
      [...document.querySelectorAll('#queries-numbers tbody tr')].every(
        (row, i) => Number(row.lastElementChild.firstElementChild.value) === truths[i],
      ),
    {},
    typed,
  );
  assert.equal(shown.length, 4);
  const hash = decodeURIComponent(await page.evaluate(() => location.hash));
  assert.match(hash, new RegExp(`histogram=${typed.join(',')}(&|$)`));
  await page.reload();
  await reveal(page, 'queries', '.map');
  assert.deepEqual(await countsOf(page), typed);
  await page.select('#histogram-size', '8');
  await page.waitForFunction(() => document.querySelectorAll('.bar-slot').length === 8);
  assert.deepEqual(
    await countsOf(page),
    typed.flatMap((n) => [Math.ceil(n / 2), Math.floor(n / 2)]),
  );
  assert.equal((await table(page, { queries: 8 })).length, 8);
  assert.deepEqual(said, []);
  await page.close();
});

test('queries: the data of a CSV stays on the page, and rows outside the range are reported', async () => {
  const { page, said, asked } = await open('histogram=1,1,1,1&queries=identity');
  const loaded = asked.length;
  await page.$eval('.histogram-source', (details) => (details.open = true));
  const give = (text) =>
    page.$eval(
      '#histogram-csv-text',
      (area, value) => {
        area.value = value;
        document.getElementById('histogram-csv-use').click();
      },
      text,
    );
  await give('name,n\nx,\ny,2\n');
  await page.waitForFunction(() => !document.getElementById('histogram-error').hidden);
  assert.match(await textOf(page, '#histogram-error'), /no column has a number in every row/);
  await page.select('#histogram-missing', 'skip');
  await page.waitForFunction(() => document.querySelector('.bars-at').textContent === '1 record');
  await page.select('#histogram-missing', 'zero');
  await page.waitForFunction(() => document.querySelector('.bars-at').textContent === '2 records');
  await give('n\n0\n1\n1\n3\n4\n-2\n');
  await page.waitForFunction(() => document.querySelector('.bars-at').textContent === '6 records');
  assert.deepEqual(await countsOf(page), [1, 1, 2, 2], 'from -2 to 4');
  await page.$eval('#histogram-low', (input) => {
    input.value = '0';
    input.dispatchEvent(new Event('change'));
  });
  await page.waitForFunction(() => /1 row lies outside and counts/.test(document.body.textContent));
  assert.deepEqual(await countsOf(page), [2, 2, 0, 2]);
  assert.deepEqual(
    (await table(page, { queries: 4 })).map((row) => row.at(-1)),
    [2, 2, 0, 2],
  );
  const hash = decodeURIComponent(await page.evaluate(() => location.hash));
  assert.match(hash, /histogram=1,1,1,1/, 'no data in the address');
  assert.equal(asked.length, loaded, 'nothing was sent or fetched');
  await page.click('#histogram-reset');
  await page.waitForFunction(() => document.querySelectorAll('.bar-slot').length === 16);
  assert.deepEqual(said, []);
  await page.close();
});

test('queries: invalid settings in an address are reported', async () => {
  const { page } = await openPage(browser, `${site.url}#histogram=1,2,3&nonsense=1`, {
    calm: true,
  });
  await page.waitForSelector('#notice:not([hidden])');
  assert.match(await textOf(page, '#notice'), /there is no setting “nonsense”/);
  assert.match(await textOf(page, '#notice'), /histogram must be 4, 8, 16, 32 counts/);
  await page.close();
});

test('queries: hiding the secrets hides the true answers', async () => {
  const { page } = await open('queries&secrets=hidden');
  await reveal(page, 'queries', '.key');
  await page.$eval('#queries-numbers', (details) => (details.open = true));
  const answers = await page.waitForSelector('#queries-numbers table');
  assert.equal(await answers.$$eval('thead th', (cells) => cells.length), 5);
  assert.equal(await answers.$eval('tbody tr', (row) => row.cells.length), 5);
  const spoken = await page.$eval('#queries .plot[role=slider]', (one) =>
    one.getAttribute('aria-valuetext'),
  );
  assert.match(spoken, /^query .*: factorization /);
  const key = await page.$eval('#queries .key', (one) => one.textContent);
  for (const text of [spoken, key, await answers.evaluate((one) => one.textContent)]) {
    assert.doesNotMatch(text, /true answer|secret/i);
  }
  await page.close();
});

test('queries: the view has its own privacy settings, and the laboratory links to it', async () => {
  const { page, said } = await openPage(browser, `${site.url}#epsilon=2&steps=20`, { calm: true });
  await settled(page);
  assert.equal(await page.$('.bench #queries'), null, 'no part of the laboratory');
  await page.click('#to-queries');
  await page.waitForFunction(() => document.documentElement.dataset.view === 'queries');
  assert.equal(await page.evaluate(() => location.hash), '#queries&epsilon=2');
  await reveal(page, 'queries', '.map');
  assert.deepEqual(
    await table(page, { queries: 136 }),
    expected({ ranges: 16 }, await countsOf(page), { epsilon: 2 }).slice(0, 40),
  );
  assert.ok(await page.$eval('#player', (player) => player.getClientRects().length === 0));
  await page.select('#ask-neighbours', 'replace-one');
  await page.waitForFunction(() => location.hash === '#queries&epsilon=2&neighbours=replace-one');
  await enter(page, '#ask-epsilon', '-1');
  assert.match(
    await textOf(page, '#ask-epsilon-error'),
    /epsilon must be a finite number > 0, got/,
  );
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('ask-neighbours').value === 'zero-out');
  await page.click('.topbar .to-lab');
  await page.waitForFunction(() => document.documentElement.dataset.view === 'lab');
  await settled(page);
  assert.equal(await page.evaluate(() => location.hash), '#epsilon=2&steps=20');
  assert.deepEqual(said, []);
  await page.close();
});

test('queries: an old address opens the view, and nothing of the laboratory runs', async () => {
  const old = 'mechanism=tree&epsilon=3&histogram=5,0,40,7&queries=prefix&queries-by=errors';
  const { page } = await open(old);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.view), 'queries');
  assert.deepEqual(
    await table(page, { queries: 4 }),
    expected({ prefix: 4 }, [5, 0, 40, 7], { epsilon: 3 }),
  );
  assert.equal(await page.$eval('#player', (player) => player.dataset.state), 'loading');
  await page.close();
});

test('queries: the view transfers at most 130 KB, not counting the core', async () => {
  const { page, asked } = await open('queries');
  const bytes = await transferred(asked, site);
  console.log(`view of histograms: ${bytes} bytes`);
  assert.ok(bytes > 20_000 && bytes <= 130 * 1024, `${bytes} bytes`);
  await page.close();
});

test('queries: axe finds no problems in either theme, and the view fits 320 px and hardly shifts', async () => {
  for (const scheme of ['light', 'dark']) {
    const options = { scheme, width: 320, before: watchShifts };
    const { page } = await openPage(browser, `${site.url}#queries`, options);
    await reveal(page, 'queries', '.map');
    assert.deepEqual(await complaints(page), []);
    const { scrollWidth } = await page.evaluate(() => ({
      scrollWidth: document.documentElement.scrollWidth,
    }));
    assert.ok(scrollWidth <= 320, `${scrollWidth} px`);
    await page.close();
  }
  const { page } = await openPage(browser, `${site.url}#queries`, { before: watchShifts });
  await page.waitForSelector('#queries .map');
  const shift = await page.evaluate(() => window.shift);
  console.log(`layout shift of the view of histograms: ${shift}`);
  assert.ok(shift <= 0.02, `${shift}`);
  await page.close();
});
