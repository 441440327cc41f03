// SPDX-License-Identifier: Apache-2.0

// The page works without a network after one visit, and meets the requirements for installation.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { onlyInAll } from '../js/support/extent.mjs';
import {
  becomes,
  complaints,
  enter,
  hideTab,
  launch,
  launchFirefox,
  openPage,
  readKey,
  serveSite,
  settled,
  site as folder,
  textOf,
  withoutFirefox,
} from './support.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Cached addresses, by cache. */
const keptNames = (page) =>
  page.evaluate(async () => {
    const all = [];
    for (const name of await caches.keys()) {
      const files = await (await caches.open(name)).keys();
      all.push(files.map(({ url }) => url));
    }
    return all;
  });

/** Waits until a page is cached completely; its own address is stored last. */
async function untilKept(page, url) {
  await page.waitForFunction(
    async (address) => (await caches.match(address)) !== undefined,
    { polling: 50 },
    url,
  );
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
}

/** A new host and a separate profile, so that nothing is cached from another test. */
async function onNewHost({ from = browser, ...options }, use) {
  const [profile, site] = await Promise.all([from.createBrowserContext(), serveSite(options)]);
  try {
    await use(profile, site);
  } finally {
    site.close();
    await profile.close();
  }
}

/** Serves a copy of the site whose folder the test changes. */
async function onChangingHost(options, use) {
  const at = await mkdtemp(path.join(os.tmpdir(), 'dp-ftrl-build-'));
  try {
    await cp(folder, at, { recursive: true });
    await onNewHost({ ...options, folder: at }, (profile, site) => use(profile, site, at));
  } finally {
    await rm(at, { recursive: true });
  }
}

test('after one visit to the story, story and laboratory open and compute without the host', () =>
  onNewHost({}, async (profile, site) => {
    const first = await openPage(profile, site.url, { story: true, calm: true, kept: true });
    await untilKept(first.page, site.url);
    const [kept, ...others] = await keptNames(first.page);
    assert.deepEqual(others, []);
    const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
    const left = names.filter((name) => !kept.includes(site.url + name)).sort();
    // Pages without workers run the script of the worker, too, so that there is only one.
    assert.equal(kept.filter((name) => /assets\/worker-/.test(name)).length, 1);
    assert.deepEqual(left, ['card.png', 'dp-ftrl.html', 'index.html', 'service-worker.js']);
    assert.equal(
      kept.length,
      names.length - 3,
      'nothing else is kept but the page, by its address',
    );
    assert.ok(kept.includes(site.url));
    const asked = site.requests.map((pathname) => site.origin + pathname);
    const known = [...kept, `${site.url}service-worker.js`];
    assert.deepEqual(
      asked.filter((one) => !known.includes(one)),
      [],
      'nothing else is fetched',
    );
    const address = `${site.url}#steps=300&compare=honaker`;
    const served = await openPage(profile, address, { calm: true, kept: true });
    await settled(served.page);
    const expected = await readKey(served.page, '#sums .panel:last-child');
    await served.page.close();
    site.close();
    const { page, said } = first;
    await page.reload();
    await page.waitForSelector('#scene-hero[data-state=ready]');
    for (const scene of await page.$$eval('.scene', (all) => all.map(({ id }) => id))) {
      await page.$eval(`#${scene}`, (one) => one.scrollIntoView());
      await page.waitForSelector(`#${scene}[data-state=ready]`);
    }
    const lab = await openPage(profile, address, { calm: true, kept: true });
    await settled(lab.page);
    const alone = await readKey(lab.page, '#sums .panel:last-child');
    assert.deepEqual(alone, expected);
    assert.deepEqual([...said, ...lab.said, ...served.said], []);
    assert.deepEqual(await lab.page.evaluate(() => window.violations), []);
  }));

/** Hash of the build in a folder whose service worker lists its files. */
async function hashOf(at, worker) {
  const names = [...new Set(worker.match(/assets\/[\w.-]+/g)), 'index.html'].sort();
  const sum = createHash('sha256');
  for (const name of names) {
    const content = await readFile(path.join(at, name));
    for (const part of [name, content]) sum.update(`${Buffer.byteLength(part)} `).update(part);
  }
  return sum.digest('hex').slice(0, 16);
}

/**
 * Makes a later build in a folder: its first script has another name, and the page another title.
 */
async function rebuild(at) {
  const home = await readFile(path.join(at, 'index.html'), 'utf8');
  const [script] = /assets\/index-[^"]+\.js/.exec(home);
  const later = 'assets/index-later.js';
  await rename(path.join(at, script), path.join(at, later));
  for (const name of await readdir(at, { recursive: true })) {
    if (!/\.(?:html|js)$/.test(name)) continue;
    const file = path.join(at, name);
    const text = (await readFile(file, 'utf8')).replaceAll(
      path.basename(script),
      path.basename(later),
    );
    const titled = text.replace(/<title>.*?<\/title>/, '<title>a later build</title>');
    await writeFile(file, titled.replace(/(<meta name="build" content=")\w+/, '$1later'));
  }
  const file = path.join(at, 'service-worker.js');
  const worker = await readFile(file, 'utf8');
  await writeFile(file, worker.replace(/"[0-9a-f]{16}"/g, `"${await hashOf(at, worker)}"`));
  return { script, later };
}

/** The later build's title, after the names of views: both builds share chunks, and so both run. */
const LATER = /^(Laboratory – )*a later build$/;

test('a reload shows a new build at once; the old one is removed once its pages are closed', () =>
  onChangingHost({}, async (profile, site, at) => {
    const options = { calm: true, kept: true };
    const first = await openPage(profile, `${site.url}#steps=20`, options);
    await untilKept(first.page, site.url);
    const { script, later } = await rebuild(at);
    await first.page.reload();
    await settled(first.page);
    assert.match(await first.page.title(), LATER);
    await untilKept(first.page, site.url + later);
    await first.page.waitForFunction(
      async () => (await navigator.serviceWorker.getRegistration()).waiting !== null,
      { polling: 50 },
    );
    // A page of the same host outside the scope of both workers, so that it keeps neither alive.
    const outside = await profile.newPage();
    await outside.goto(site.origin);
    assert.equal((await keptNames(outside)).length, 2);
    await first.page.close();
    await outside.waitForFunction(async () => (await caches.keys()).length === 1, { polling: 50 });
    const [kept] = await keptNames(outside);
    assert.ok(kept.includes(site.url + later));
    assert.ok(!kept.includes(site.url + script));
    site.close();
    const second = await openPage(profile, `${site.url}#steps=20`, options);
    await settled(second.page);
    assert.match(await second.page.title(), LATER);
    assert.deepEqual([...first.said, ...second.said], []);
  }));

/**
 * Counts how often the page checks for a newer build, and intercepts its hourly timer. For
 * `before`.
 */
function watchLooks() {
  window.looks = 0;
  const { update } = ServiceWorkerRegistration.prototype;
  ServiceWorkerRegistration.prototype.update = function () {
    window.looks += 1;
    return update.call(this);
  };
  const native = window.setInterval;
  window.setInterval = (callback, delay) => {
    if (delay !== 3_600_000) return native(callback, delay);
    window.hourPassed = callback;
    return 0;
  };
}
const looks = (page) => page.evaluate(() => window.looks);

/** Makes a tab check for a newer build once more, and waits until the result is processed. */
async function lookAgain(page) {
  await hideTab(page, false);
  await page.evaluate(async () => {
    // Runs after the page's own request, and takes longer than its check of the cache.
    for (let i = 0; i < 2; ++i) await (await navigator.serviceWorker.getRegistration()).update();
  });
}

const told = (page) => page.waitForSelector('#newer .toast');

/** Two tabs, and a newer build on their host; the second tab has a typed setting. */
async function withNewerBuild(use) {
  await onChangingHost({}, async (profile, site, at) => {
    const options = { calm: true, kept: true, before: watchLooks };
    const story = await openPage(profile, site.url, { ...options, story: true });
    await untilKept(story.page, site.url);
    const lab = await openPage(profile, `${site.url}#steps=20`, options);
    await settled(lab.page);
    await enter(lab.page, '#set-epsilon', '2');
    await lab.page.waitForFunction(() => /epsilon=2/.test(location.hash), { polling: 50 });
    await settled(lab.page);
    await rebuild(at);
    await use({ story, lab, site, at });
    assert.deepEqual([...story.said, ...lab.said], []);
  });
}

/** True if a tab still shows the same document. */
const isMarked = (page) => page.evaluate(() => window.marked === true);

test('open tabs announce a newer build once, and load it when asked to', () =>
  withNewerBuild(async ({ story, lab, site }) => {
    await lab.page.evaluate(() => (window.marked = true));
    for (const { page } of [story, lab]) {
      assert.equal(await page.$eval('#newer', (box) => box.getAttribute('role')), 'status');
      assert.equal(await textOf(page, '#newer'), '');
    }
    await lookAgain(story.page);
    for (const { page } of [story, lab]) {
      await told(page);
      assert.match(await textOf(page, '#newer'), /newer version .*table of your own/);
      await page.setViewport({ width: 320, height: 700 });
      const box = await page.$eval('#newer .toast', (one) => {
        const { left, right, bottom } = one.getBoundingClientRect();
        return left >= 0 && right <= 320 && bottom <= 700;
      });
      assert.ok(box, 'it fits into a narrow window');
    }
    assert.deepEqual(await complaints(story.page), []);
    await story.page.focus('#newer button:last-child');
    await story.page.keyboard.press('Enter');
    assert.equal(await textOf(story.page, '#newer'), '');
    await lookAgain(story.page);
    assert.equal(await textOf(story.page, '#newer'), '', 'a build is spoken of once');
    assert.ok(await isMarked(lab.page), 'nothing is loaded unasked');
    const { hash } = new URL(lab.page.url());
    await Promise.all([lab.page.waitForNavigation(), lab.page.click('#newer button')]);
    await settled(lab.page);
    assert.match(await lab.page.title(), LATER);
    assert.equal(new URL(lab.page.url()).hash, hash);
    assert.equal(await lab.page.$eval('#set-epsilon', (input) => input.value), '2');
    await lab.page.waitForFunction(
      async () => (await navigator.serviceWorker.getRegistration()).waiting !== null,
      { polling: 50 },
    );
    await lookAgain(lab.page);
    assert.equal(await textOf(lab.page, '#newer'), '', 'it is the newest itself');
    site.close();
    await lab.page.reload();
    await settled(lab.page);
    assert.match(
      await lab.page.title(),
      /a later build$/,
      'the worker of the one before serves it',
    );
  }));

test('a tab that slept when a newer build arrived announces it once it is shown', () => {
  const sleeps = () => {
    const { addEventListener } = EventTarget.prototype;
    EventTarget.prototype.addEventListener = function (type, ...rest) {
      if (type !== 'updatefound') addEventListener.call(this, type, ...rest);
    };
  };
  return onChangingHost({}, async (profile, site, at) => {
    const options = { story: true, calm: true, kept: true, before: sleeps };
    const { page, said } = await openPage(profile, site.url, options);
    await untilKept(page, site.url);
    await rebuild(at);
    await lookAgain(page);
    await page.waitForFunction(
      async () => (await navigator.serviceWorker.getRegistration()).installing === null,
      { polling: 50 },
    );
    await lookAgain(page);
    await told(page);
    assert.deepEqual(said, []);
  });
});

test('Firefox: an open tab announces a newer build, and loads it when asked to', {
  skip: withoutFirefox,
  ...onlyInAll,
}, async () => {
  const other = await launchFirefox();
  try {
    await onChangingHost({ from: other }, async (profile, site, at) => {
      const page = await profile.newPage();
      await page.goto(site.url);
      const isKept = async (address) =>
        (await caches.match(address)) !== undefined &&
        (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated';
      await becomes(page, isKept, site.url);
      await rebuild(at);
      await hideTab(page, false);
      await becomes(page, () => document.querySelector('#newer .toast') !== null);
      await Promise.all([page.waitForNavigation(), page.click('#newer button')]);
      assert.match(await page.title(), LATER);
    });
  } finally {
    await other.close();
  }
});

test('a visible tab checks for a newer build every hour, a hidden one when it is shown again', () =>
  withNewerBuild(async ({ story: { page }, at }) => {
    await hideTab(page, true);
    await page.evaluate(() => window.hourPassed());
    assert.equal(await looks(page), 0);
    await hideTab(page, false);
    assert.equal(await looks(page), 1);
    await page.evaluate(() => window.hourPassed());
    assert.equal(await looks(page), 2);
    await told(page);
    await cp(folder, at, { recursive: true });
    await lookAgain(page);
    await becomes(page, () => document.getElementById('newer').textContent === ''); // It is the newest again.
  }));

test('a build that is replaced while it is being kept is never kept in part', async () => {
  const at = await mkdtemp(path.join(os.tmpdir(), 'dp-ftrl-build-'));
  try {
    await cp(folder, at, { recursive: true });
    const { script, later } = await rebuild(at);
    // The host still has the worker and the files of the previous build, but no longer its page.
    const worker = path.join(at, 'service-worker.js');
    const newer = await readFile(worker);
    for (const name of ['service-worker.js', script])
      await cp(path.join(folder, name), path.join(at, name));
    await onNewHost({ folder: at }, async (profile, site) => {
      const { page, said } = await openPage(profile, site.url, {
        story: true,
        calm: true,
        kept: true,
      });
      const isAsked = () =>
        site.requests.filter((one) => one.endsWith('/service-worker.js')).length;
      while (isAsked() === 0) await sleep(20);
      await page.waitForFunction(
        async () => (await navigator.serviceWorker.getRegistration()) === undefined,
        { polling: 50 },
      );
      assert.deepEqual(await keptNames(page), [], 'no part of it');
      await writeFile(worker, newer);
      await untilKept(page, site.url);
      const [kept, ...others] = await keptNames(page);
      assert.deepEqual(others, []);
      assert.ok(kept.includes(site.url + later) && !kept.includes(site.url + script));
      site.close();
      await page.reload();
      await page.waitForSelector('#scene-hero[data-state=ready]');
      assert.match(await page.title(), LATER);
      assert.deepEqual(said, []);
    });
  } finally {
    await rm(at, { recursive: true });
  }
});

test('nothing is cached or logged where the host forbids it, or from file://', () =>
  onNewHost({ strict: true }, async (profile, site) => {
    const { page, said } = await openPage(profile, `${site.url}#steps=20`, {
      calm: true,
      kept: true,
    });
    await settled(page);
    while (!site.requests.some((one) => one.endsWith('/service-worker.js'))) await sleep(50);
    await page.waitForFunction(
      async () => (await navigator.serviceWorker.getRegistrations()).length === 0,
      { polling: 50 },
    );
    assert.equal(await page.evaluate(async () => await caches.match(location.href)), undefined);
    assert.deepEqual(said, []);
    site.close();
    const address = `${pathToFileURL(path.join(folder, 'dp-ftrl.html'))}#steps=20`;
    const calls = () => {
      window.registered = 0;
      const { register } = ServiceWorkerContainer.prototype;
      ServiceWorkerContainer.prototype.register = function (...given) {
        window.registered += 1;
        return register.apply(this, given);
      };
    };
    const single = await openPage(profile, address, { calm: true, kept: true, before: calls });
    await settled(single.page);
    assert.equal(await single.page.evaluate(() => window.registered), 0);
    assert.equal(await single.page.$('link[rel=manifest]'), null);
    assert.deepEqual(single.said, []);
  }));

test('the browser finds no obstacle to installing the page, and icons have their stated sizes', () =>
  onNewHost({}, async (profile, site) => {
    const { page, said } = await openPage(profile, site.url, {
      story: true,
      calm: true,
      kept: true,
    });
    const session = await page.createCDPSession();
    const { url, errors, data } = await session.send('Page.getAppManifest');
    assert.deepEqual(errors, []);
    const manifest = JSON.parse(data);
    for (const part of ['start_url', 'scope']) {
      assert.equal(new URL(manifest[part], url).href, site.url, part);
    }
    const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
    const reasons = installabilityErrors.map(({ errorId }) => errorId);
    // Test profiles are incognito, which does not allow installation.
    assert.deepEqual(
      reasons.filter((reason) => reason !== 'in-incognito'),
      [],
    );
    for (const { src, sizes, type } of manifest.icons) {
      const response = await fetch(new URL(src, url));
      assert.equal(response.headers.get('content-type'), type);
      if (sizes === 'any') continue;
      const bytes = Buffer.from(await response.arrayBuffer());
      assert.equal(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, sizes);
      const drawn = await page.evaluate(async (address) => {
        const image = new Image();
        image.src = address;
        await image.decode();
        return image.naturalWidth;
      }, new URL(src, url).href);
      assert.equal(`${drawn}x${drawn}`, sizes);
    }
    assert.deepEqual(said, []);
  }));
