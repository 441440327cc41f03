// SPDX-License-Identifier: Apache-2.0

// The page as a single file, opened without a server; pages without workers; sizes.

import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  countWorkers,
  openPage,
  readKey,
  settled,
  site as folder,
  startSite,
  stepOf,
  textOf,
  transferred,
} from './support.mjs';

const { site, browser } = await startSite();
const lonely = await mkdtemp(path.join(os.tmpdir(), 'dp ftrl '));
after(() => rm(lonely, { recursive: true }));
await copyFile(path.join(folder, 'dp-ftrl.html'), path.join(lonely, 'page.html'));

const withoutWorkers = () => {
  window.Worker = class {
    constructor() {
      throw new Error('no workers here');
    }
  };
};

test('one file, alone in a folder, runs from file:// in a worker and shows the same numbers', async () => {
  const url = `${pathToFileURL(path.join(lonely, 'page.html'))}#steps=300&compare=honaker`;
  const { page, said, asked } = await openPage(browser, url, { calm: true, before: countWorkers });
  await settled(page);
  assert.equal(await page.evaluate(() => window.workers), 1);
  const alone = await readKey(page, '#sums .panel:last-child');
  assert.deepEqual(said, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
  const others = asked.filter(
    (one) => !/^(data|blob):/.test(one) && !one.startsWith(url.split('#')[0]),
  );
  assert.deepEqual(others, []);
  const served = await openPage(browser, `${site.url}#steps=300&compare=honaker`, { calm: true });
  await settled(served.page);
  assert.deepEqual(await readKey(served.page, '#sums .panel:last-child'), alone);
  await page.close();
  await served.page.close();
});

test('the page links to its single file, which does not link to itself', async () => {
  const linksOf = (page) =>
    page.$$eval('a[download]', (all) => all.map(({ href, download }) => [href, download]));
  const opened = await openPage(browser, site.url, { story: true, calm: true });
  await opened.page.waitForSelector('#scene-hero[data-state=ready]');
  const links = await linksOf(opened.page);
  assert.deepEqual(
    links,
    Array(2).fill([`${site.url}dp-ftrl.html`, '']),
    'in the story and the laboratory',
  );
  assert.equal(await opened.page.$eval('.onwards .one-file', (one) => one.checkVisibility()), true);
  const answer = await fetch(links[0][0]);
  const file = await readFile(path.join(folder, 'dp-ftrl.html'), 'utf8');
  assert.equal(await answer.text(), file);
  await opened.page.close();
  const url = String(pathToFileURL(path.join(lonely, 'page.html')));
  const { page } = await openPage(browser, url, { story: true, calm: true });
  await page.waitForSelector('#scene-hero[data-state=ready]');
  assert.deepEqual(await linksOf(page), []);
  assert.equal(await page.$('.one-file'), null);
  await page.close();
});

test('the single file loads examples and plays', async () => {
  const { page, said } = await openPage(
    browser,
    `${pathToFileURL(path.join(lonely, 'page.html'))}#speed=max`,
  );
  await settled(page);
  await page.select('#set-source', 'tide');
  await page.waitForFunction(() => location.hash.includes('tide'));
  await settled(page);
  assert.equal(await stepOf(page), 1008);
  assert.deepEqual(said, []);
  await page.close();
});

for (const [name, address] of [
  ['files', () => site.url],
  ['single file', () => String(pathToFileURL(path.join(lonely, 'page.html')))],
]) {
  test(`where no worker can be started, the page computes without one: ${name}`, async () => {
    const { page, said } = await openPage(browser, `${address()}#steps=20000&dimension=8`, {
      calm: true,
      before: withoutWorkers,
    });
    await settled(page);
    assert.equal(await stepOf(page), 20_000);
    assert.deepEqual(said, []);
    await page.close();
  });
}

test('where WebAssembly is forbidden the page says so, with the directive to add', async () => {
  const { page } = await openPage(browser, `${site.url}#steps=20`, {
    before: () => {
      window.Worker = class {
        constructor() {
          throw new Error('no workers here');
        }
      };
      WebAssembly.compile = () =>
        Promise.reject(
          new WebAssembly.CompileError('violates the Content Security Policy directive'),
        );
    },
  });
  await page.waitForFunction(() => document.querySelector('#sums[role=alert]') !== null);
  assert.match(await textOf(page, '#sums'), /^The page could not start: .*'wasm-unsafe-eval'/);
  await page.close();
});

test('sizes: laboratory without the worker below 156 KB in Brotli, single file below 3400 KB', async () => {
  const { page, asked } = await openPage(browser, `${site.url}#steps=20`, { calm: true });
  await settled(page);
  const bytes = await transferred(asked, site);
  await page.close();
  console.log(`laboratory: ${bytes} bytes`);
  assert.ok(bytes > 50_000 && bytes < 156 * 1024, `${bytes} bytes`);
  const single = await readFile(path.join(folder, 'dp-ftrl.html'));
  assert.ok(single.length < 3400 * 1024, `${single.length} bytes`);
  const text = single.toString();
  assert.doesNotMatch(
    text,
    /<(?:script|link|img)[^>]+(?:src|href)="(?!data:)[^"#]/,
    'nothing is referred to',
  );
  assert.deepEqual((await readdir(folder)).sort(), [
    'assets',
    'card.png',
    'dp-ftrl.html',
    'index.html',
    'service-worker.js',
  ]);
});
