// SPDX-License-Identifier: Apache-2.0

// Shared by the browser tests: a static server with the strictest headers that the page claims to
// support, a browser, and a page that records everything it logs and requests.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import puppeteer from 'puppeteer-core';
import { STALLED } from './stalled.mjs';

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const site = path.join(root, 'web/dist/');
/** Folder for screenshots, created when a site is started. */
export const screenshots = path.join(root, 'build/screenshots/');

export const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; " +
  "worker-src 'self'; img-src 'self' data:; manifest-src 'self'; connect-src 'none'";
/** Policy of the service worker, which fetches the files that it caches. */
const workerPolicy = policy.replace("connect-src 'none'", "connect-src 'self'");

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

/**
 * Serves a folder, web/dist by default, below a path that is not the root of the host. With
 * `strict`, the service worker may not fetch anything, either.
 */
export async function serveSite({ folder = site, strict = false } = {}) {
  const prefix = '/some/where/';
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://host');
    requests.push(pathname);
    try {
      if (!pathname.startsWith(prefix)) throw new Error('outside');
      const name = pathname.slice(prefix.length) || 'index.html';
      const body = await readFile(path.join(folder, path.normalize(`/${name}`)));
      const isServiceWorker = name === 'service-worker.js';
      response.writeHead(200, {
        'content-type': types[path.extname(name)] ?? 'application/octet-stream',
        'content-security-policy': isServiceWorker && !strict ? workerPolicy : policy,
        'x-content-type-options': 'nosniff',
      });
      response.end(body);
    } catch {
      // Browsers replace an empty page by one of their own, which belongs to no host.
      response.writeHead(404).end('not here');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin, url: `${origin}${prefix}`, requests, close };
}

/**
 * Resolves once a page has drawn no frame for half a minute while its timers kept running. A
 * headless Chromium reached this state in 3 of some 180 visits to the whole story on a busy machine
 * without a graphics card; only a new page makes it draw again.
 */
async function stall(page, { signal }) {
  const isDrawn = () =>
    page.evaluate(
      (patience) =>
        new Promise((resolve) => {
          requestAnimationFrame(() => resolve(true));
          setTimeout(resolve, patience, false);
        }),
      15_000,
    );
  for (let missed = 0; missed < 2; ) {
    await sleep(5000, undefined, { signal, ref: false });
    missed = (await isDrawn()) ? 0 : missed + 1;
  }
}

/** Makes the waits of a page fail when it is no longer drawn. */
function watchFrames(page) {
  for (const name of ['waitForSelector', 'waitForFunction']) {
    const wait = page[name].bind(page);
    page[name] = async (...given) => {
      const over = new AbortController();
      const stalled = stall(page, over).then(
        () => {
          throw new Error(STALLED);
        },
        () => new Promise(() => {}), // The wait is over, or the page is closed or navigates.
      );
      try {
        return await Promise.race([wait(...given), stalled]);
      } finally {
        over.abort();
      }
    };
  }
}

/**
 * Longest time in ms that a page may take to reach the state a test waits for, even on a busy
 * machine.
 */
const patience = 300_000;

export async function launch() {
  const browser = await puppeteer.launch({
    protocolTimeout: patience,
    executablePath: process.env.DPFTRL_CHROMIUM || '/usr/bin/chromium',
    args: [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  console.log(`browser: ${await browser.version()}`);
  return browser;
}

/**
 * An address without settings would open the story; this opens the laboratory with the defaults.
 */
const inLaboratory = (url) => (/#./.test(url) ? url : `${url.replace(/#$/, '')}#mechanism=optimal`);

const firefox = [process.env.DPFTRL_FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'].find(
  (one) => one && existsSync(one),
);
/** Reason why tests in Firefox are skipped, or false. */
export const withoutFirefox = firefox === undefined && 'there is no Firefox';

export async function launchFirefox(more = {}) {
  const options = { browser: 'firefox', executablePath: firefox, headless: true, ...more };
  const browser = await puppeteer.launch(options);
  console.log(`browser: ${await browser.version()}`);
  return browser;
}

/** Polls, because waitForFunction makes a Function in Firefox, which the policy forbids. */
export async function becomes(page, ask, argument, what = `${ask} ${argument}`) {
  for (const end = Date.now() + patience; Date.now() < end; ) {
    if (await page.evaluate(ask, argument)) return;
    await sleep(100);
  }
  assert.fail(what);
}

/** Waits until nothing is wider than the window, as figures are laid out again only in a frame. */
export const fits = (page) =>
  becomes(page, () => document.documentElement.scrollWidth <= innerWidth, null, 'wider than it');

/**
 * Opens a page on the site: the laboratory, or the story with `story`. Service workers are enabled
 * only with `kept`; otherwise nothing is fetched while a test runs. `said` collects console output,
 * uncaught errors and violations of the policy; `asked` every address it loads; frames are counted,
 * and can be timed.
 */
export async function openPage(browser, url, options = {}) {
  const { width = 1440, height = 900, scheme = 'light', calm = false, story = false } = options;
  const { kept = false, before } = options;
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  watchFrames(page);
  const said = [];
  const asked = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('request', (request) => asked.push(request.url()));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: scheme },
    { name: 'prefers-reduced-motion', value: calm ? 'reduce' : 'no-preference' },
  ]);
  await page.evaluateOnNewDocument(() => {
    window.frameTimes = [];
    const native = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (callback) =>
      native((now) => {
        const start = performance.now();
        callback(now);
        window.frameTimes.push(performance.now() - start);
      });
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  if (!kept) await page.evaluateOnNewDocument(() => delete Navigator.prototype.serviceWorker);
  if (before) await page.evaluateOnNewDocument(before);
  await page.goto(story ? url : inLaboratory(url));
  return { page, said, asked };
}

/**
 * Serves the site and starts a browser for the tests of a file; both stop after the last test.
 * `open` opens the laboratory with the settings of `hash` and waits until the player is in `state`.
 */
export async function startSite() {
  mkdirSync(screenshots, { recursive: true });
  const site = await serveSite();
  after(() => site.close());
  const browser = await launch();
  after(() => browser.close());
  const open = async (hash = '', { state = 'finished', ...options } = {}) => {
    const calm = state === 'finished';
    const opened = await openPage(browser, `${site.url}#${hash}`, { calm, ...options });
    await settled(opened.page, state);
    return opened;
  };
  return { site, browser, open };
}

/** Bundles lines that export modules of a folder in the repository, and imports the result. */
export async function importSources(folder, lines) {
  const { outputFiles } = await build({
    stdin: { contents: lines.join('\n'), resolveDir: path.join(root, folder) },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'error',
  });
  const text = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${text}`);
}

/** Counts the workers that a page starts; each error in one subtracts 100. For `before`. */
export const countWorkers = () => {
  window.workers = 0;
  const Native = window.Worker;
  window.Worker = class extends Native {
    constructor(...given) {
      super(...given);
      window.workers += 1;
      this.addEventListener('error', () => (window.workers -= 100));
    }
  };
};

/**
 * Delays optimisation requests to the first worker until `window.release()` is called, so that a
 * search takes as long as the test needs. For `before` or `page.evaluate`.
 */
export function holdSearches() {
  window.held = [];
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    const send = () => post.call(this, message, ...rest);
    if (message?.argument?.name === 'optimize') window.held.push(send);
    else send();
  };
  window.release = () => {
    Worker.prototype.postMessage = post;
    window.held.splice(0).forEach((send) => send());
  };
}

/** Makes the page believe that its tab is hidden, or shown again. */
export const hideTab = (page, hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);

/** Opens the export dialog, whose contents are loaded when it is first opened. */
export async function openExport(page) {
  await page.click('#export-open');
  await page.waitForSelector('#export[open]');
}

/**
 * Bytes of the site's files among the requested addresses, after Brotli, without workers and the
 * font.
 */
export async function transferred(asked, { url }) {
  const ours = asked.filter((one) => one.startsWith(url));
  const names = ours.map((one) => new URL(one).href.slice(url.length).replace(/#.*/, ''));
  let bytes = 0;
  for (const name of new Set(names)) {
    if (/^(worker|serif)/.test(path.basename(name))) continue;
    bytes += brotliCompressSync(await readFile(path.join(site, name || 'index.html'))).length;
  }
  return bytes;
}

/** All problems that axe finds in the visible page. */
export async function complaints(page) {
  const script = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  await page.evaluate(await readFile(script, 'utf8'));
  // axe takes links that a row has scrolled out at the left for skip links without a target.
  await page.$$eval('.menu, .presets', (rows) => rows.forEach((row) => (row.scrollLeft = 0)));
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
}

/** Waits until the player is in a state and no other run is in progress. */
export async function settled(page, state = 'finished') {
  await page.waitForFunction(
    (wanted) => {
      const { dataset } = document.getElementById('player');
      return dataset.state === wanted && !dataset.waitsFor.includes('preparing');
    },
    { polling: 20 },
    state,
  );
}

/** Runs a JavaScript program of the page in the root folder, and returns the numbers it prints. */
export function runProgram(program) {
  const dist = JSON.stringify(path.join(root, 'dist/index.js'));
  const args = ['--input-type=module', '--eval', program.replace("'dp-ftrl'", dist)];
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  return printed.trim().split(' ').map(Number);
}

/**
 * Acts, and waits until the page has written an address for a run of other settings. The address of
 * own data may look as before, but its entry in the history does not.
 */
export async function changes(page, act) {
  const before = await page.evaluate(() => history.state?.entry);
  await act();
  await page.waitForFunction((entry) => history.state?.entry !== entry, {}, before);
  await settled(page);
}

/** Seed of the noise; the page draws one at random for own data. */
export const seedOf = async (page) =>
  Number(await page.$eval('#set-noiseSeed', (input) => input.value));

export const stateOf = (page) => page.$eval('#player', (player) => player.dataset.state);
export const textOf = (page, selector) => page.$eval(selector, (one) => one.textContent);

export async function stepOf(page) {
  return Number((await textOf(page, '#progress-text')).split(' ')[0].replaceAll(',', ''));
}

/** Settings that count the customers of a shop with two mechanisms. */
export const shopDay = 'compare=independent&data=shop_day&label=-&steps=840&column=count';

/** Opens the folds that hold elements: by default, all settings of the laboratory. */
export const unfold = (page, selector = '.controls .field') =>
  page.$$eval(selector, (all) => {
    const outside = (one) => one?.closest('details');
    for (const one of all)
      for (let fold = outside(one); fold; fold = outside(fold.parentElement)) fold.open = true;
  });

/** Types into a control and moves the focus away. */
export async function enter(page, selector, text) {
  await unfold(page, selector);
  await page.focus(selector);
  await page.$eval(selector, (input) => input.select());
  await page.keyboard.type(text);
  await page.$eval(selector, (input) => input.blur());
}

/** Reads the table of a figure: step -> column -> number. */
export async function readTable(page, id) {
  await page.$eval(`#${id}`, (details) => (details.open = true));
  await page.waitForSelector(`#${id} tbody tr`);
  const rows = await page.$$eval(`#${id} tbody tr`, (lines) =>
    lines.map((line) => [
      Number(line.dataset.step),
      Object.fromEntries(
        [...line.querySelectorAll('data')].map((cell) => [cell.dataset.column, cell.value]),
      ),
    ]),
  );
  return new Map(
    rows.map(([step, cells]) => [
      step,
      Object.fromEntries(Object.entries(cells).map(([name, text]) => [name, Number(text)])),
    ]),
  );
}

/** Reads the key of a figure: name of the line -> value. */
export async function readKey(page, selector) {
  const items = await page.$$eval(`${selector} .key li`, (entries) =>
    entries.map((entry) => {
      const value = entry.querySelector('data');
      const name = entry.textContent.slice(0, entry.textContent.length - value.textContent.length);
      return [name, value.value];
    }),
  );
  return Object.fromEntries(items.map(([name, text]) => [name, Number(text)]));
}

/** Scrolls to a part of the page that is computed when visible, and waits for it. */
export async function reveal(page, id, content) {
  await page.$eval(`#${id}`, (one) => one.scrollIntoView());
  await page.waitForSelector(`#${id} ${content}`);
  await page.waitForFunction(
    (name) => !document.getElementById(name).hasAttribute('aria-busy'),
    {},
    id,
  );
}

/** Reveals every part of the page that is computed only when visible. */
export async function revealAll(page) {
  await reveal(page, 'factorization', '.map');
  await reveal(page, 'errors', '.key');
  await reveal(page, 'deltas', '.key');
  await reveal(page, 'ranking', 'tbody tr');
  await reveal(page, 'statistics', '.key');
}

/** Presses a button that saves a file, and stores the file in `window.saved`. */
export async function savesOf(page, selector) {
  await page.evaluate(() => {
    window.saved = null;
    URL.createObjectURL = (blob) => {
      window.saved = blob;
      return 'data:text/plain,';
    };
  });
  await page.$eval(selector, (button) => button.click());
  await page.waitForFunction(() => window.saved !== null);
}

/**
 * Reads the saved picture panel by panel: its texts, its values on a linear vertical axis, and its
 * maps.
 */
export async function savedPanels(page) {
  const found = await page.evaluate(async () => {
    const text = await window.saved.text();
    const { documentElement: svg } = new DOMParser().parseFromString(text, 'image/svg+xml');
    const panels = [...svg.querySelectorAll(':scope > g')].map((panel) => {
      const all = (selector) => [...panel.querySelectorAll(selector)];
      const points = (one) =>
        one
          .getAttribute('points')
          .split(' ')
          .map((point) => point.split(',').map(Number));
      const ticks = all('text[text-anchor=end]').map((one) => [
        Number(one.textContent),
        Number(one.getAttribute('y')) - 4,
      ]);
      return {
        texts: all('text').map((one) => one.textContent),
        ticks,
        lines: all('polyline').map(points),
        areas: all('polygon').map(points),
        strokes: all('path[stroke]').map((one) => one.getAttribute('d')),
        cells: all('g path').flatMap((one) => one.getAttribute('d').match(/M/g)).length,
        legend: Object.fromEntries(
          all('line[stroke-width]').map((one) => [
            one.nextElementSibling.textContent,
            one.getAttribute('stroke'),
          ]),
        ),
        painted: all('polyline, polygon, path[stroke]:not([stroke="#333"])').map((one) =>
          one.getAttribute(one.localName === 'polygon' ? 'fill' : 'stroke'),
        ),
      };
    });
    return {
      type: window.saved.type,
      name: svg.localName,
      broken: /NaN|undefined|Infinity/.exec(text),
      panels,
    };
  });
  const { broken, name, panels, type } = found;
  if (name !== 'svg' || type !== 'image/svg+xml' || broken !== null) {
    throw new Error(`not a picture: ${name}, ${type}, ${broken}`);
  }
  return panels.map((panel) => {
    const [[low, from], [high, to]] = [panel.ticks[0] ?? [0, 0], panel.ticks.at(-1) ?? [1, 1]];
    const valueAt = (y) => low + ((y - from) / (to - from)) * (high - low);
    return { ...panel, valueAt, all: panel.texts.join('\n') };
  });
}

/** Drops a table on the page, and waits for the question about it. */
export async function drop(page, name, text) {
  await page.evaluate(
    (title, content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], title, { type: 'text/csv' }));
      document.body.dispatchEvent(
        new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }),
      );
    },
    name,
    text,
  );
  await page.waitForFunction(
    (title) => document.getElementById('question-title').textContent === title,
    {},
    name,
  );
}

/** Presses a button of the question, by the beginning of its text. */
export const answer = (page, text) =>
  page.$$eval(
    '#question button',
    (all, wanted) => all.find((one) => one.textContent.startsWith(wanted)).click(),
    text,
  );

/** Rows of a table without quotes, each with the day of its first cell, counted from 1970. */
export function rowsByDay(text) {
  const rows = text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));
  return rows.map((cells) => ({ day: Math.floor(Date.parse(cells[0]) / 86_400_000), cells }));
}
