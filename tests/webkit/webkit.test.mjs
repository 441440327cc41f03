// SPDX-License-Identifier: Apache-2.0

// The built page and the package in Debian's WebKit: `scripts/test webkit`. They are served under
// the policy of the page, and nothing may be logged.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load } from '../../dist/index.js';
import { root, serveSite, site } from '../browser/support.mjs';
import { until } from '../consumers/until.mjs';
import { launchWebKit, missing } from './driver.mjs';

assert.ok(!missing, `there is no ${missing}; run as root: apt-get install webkit2gtk-driver xvfb`);

/** Longest time in ms that a page may take to reach a state, even on a busy machine. */
const patience = 300_000;

/**
 * Runs in a page before its own scripts: `said` collects what it logs, throws, and is forbidden.
 */
const RECORDER = `globalThis.said = [];
  const note = (kind, text) => said.push(kind + ': ' + text);
  addEventListener('error', ({ message, target }) => note('error', message ?? target.outerHTML), true);
  addEventListener('unhandledrejection', ({ reason }) => note('rejection', reason));
  document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    note('policy', violatedDirective + ' ' + blockedURI));
  for (const name of ['debug', 'error', 'info', 'log', 'warn']) {
    console[name] = (...parts) => note(name, parts.join(' '));
  }
  const Native = Worker;
  globalThis.Worker = class extends Native {
    constructor(...given) {
      super(...given);
      this.addEventListener('error', ({ message }) => note('worker', message));
    }
  };`;
const recorder = '<script src="./recorder.js"></script>';

const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-webkit-'));
after(() => rmSync(scratch, { recursive: true }));

/** Serves a copy of a folder whose page begins with the recorder; returns its address. */
async function serveRecorded(name, source, html) {
  const folder = join(scratch, name);
  cpSync(source, folder, { recursive: true });
  writeFileSync(join(folder, 'recorder.js'), RECORDER);
  assert.match(html, /<head>/);
  writeFileSync(join(folder, 'index.html'), html.replace('<head>', `<head>${recorder}`));
  const { url, close } = await serveSite({ folder });
  after(close);
  return { url, folder };
}

const built = await serveRecorded('page', site, readFileSync(join(site, 'index.html'), 'utf8'));
const plain = await serveRecorded(
  'plain',
  join(root, 'dist'),
  '<!doctype html><html><head><meta charset="utf-8"><title>x</title></head></html>',
);

const browser = await launchWebKit();
after(() => browser.close());
console.log(`browser: ${browser.version}`);

const dp = await load();
const problem = { steps: 32, epsilon: 1, delta: 1e-6, insecureSeed: 7 };
const records = [1, 0, 1, 1];
const counter = dp.counter(problem);
const totals = records.map((record) => counter.release(record).value);
counter.dispose();

const said = () => browser.evaluate(() => globalThis.said);
/** Waits until a function in the page is true; the error shows what the page said. */
async function becomes(ask, ...args) {
  const holds = () => browser.evaluate(ask, ...args);
  await until(holds, `${ask}`, patience).catch(async ({ message }) => {
    const text = await browser.evaluate(() => document.body.innerText.slice(0, 2000));
    assert.fail(`${message}; the page said ${JSON.stringify(await said())} and shows\n${text}`);
  });
}

test('the recorder notes logs, errors, rejections and what the policy forbids', async () => {
  await browser.goto(plain.url);
  assert.deepEqual(await said(), []);
  await browser.evaluate(() => {
    console.warn('a', 1);
    Promise.reject(new Error('b'));
    setTimeout(() => {
      throw new Error('c');
    });
    document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/d.png' }));
  });
  await becomes(() => globalThis.said.length >= 4);
  const all = (await said()).join('\n');
  for (const part of ['warn: a 1', 'rejection: Error: b', 'error: Error: c', 'policy: img-src']) {
    assert.ok(all.includes(part), `${part} in ${all}`);
  }
});

test('the page opens with its first picture', async () => {
  await browser.goto(built.url);
  await becomes(() => document.querySelector('#scene-hero')?.dataset.state === 'ready');
  const curves = await browser.evaluate(() =>
    ['truth', 'best', 'worst'].map(
      (kind) => document.querySelector(`#scene-hero path.line.${kind}`).getAttribute('d').length,
    ),
  );
  assert.ok(
    curves.every((length) => length > 1000),
    `${curves}`,
  );
  assert.deepEqual(await said(), []);
});

test('the laboratory plays a learner, and ends with the numbers of Node', async () => {
  const options = { steps: 400, dimension: 2, epsilon: 1, delta: 1e-6 };
  const simulation = dp.study.simulation({ ...options, noiseSeed: 1, streamSeed: 12 });
  const { regretBound } = simulation;
  const { noisySums, trueSums, regret } = simulation.advance(options.steps);
  simulation.dispose();

  // Another query than before, because another fragment alone loads no page.
  await browser.goto(`${built.url}?lab#steps=400&dimension=2&speed=120&learning=regret`);
  await browser.evaluate(() => {
    const text = document.getElementById('progress-text');
    globalThis.seen = [];
    const note = () => globalThis.seen.push(Number.parseInt(text.textContent, 10));
    new MutationObserver(note).observe(text, { childList: true, subtree: true });
  });
  await becomes(() => document.getElementById('player').dataset.state === 'finished');
  const seen = await browser.evaluate(() => globalThis.seen);
  assert.equal(seen.at(-1), options.steps);
  assert.ok(new Set(seen).size > 3, `it played the steps ${seen}`);

  const shown = await browser.evaluate(() =>
    ['sums', 'learning'].map((id) =>
      Object.fromEntries(
        [...document.querySelectorAll(`#${id} .key li`)].map((entry) => {
          const { textContent, value } = entry.querySelector('data');
          return [entry.textContent.slice(0, -textContent.length).trim(), Number(value)];
        }),
      ),
    ),
  );
  const last = (options.steps - 1) * options.dimension;
  assert.equal(shown[0].release, noisySums[last]);
  assert.equal(shown[0]['true total'], trueSums[last]);
  assert.equal(shown[1].bound, regretBound.private);
  assert.equal(shown[1]['private learner'], regret.private.at(-1));
  const isDrawn = await browser.evaluate(() =>
    ['sums', 'learning'].map((id) => {
      const { width, height } = document.querySelector(`#${id} canvas`);
      const context = document.querySelector(`#${id} canvas`).getContext('2d');
      const { data } = context.getImageData(0, 0, width, height);
      return new Set(new Uint32Array(data.buffer)).size > 10;
    }),
  );
  assert.deepEqual(isDrawn, [true, true]);
  assert.deepEqual(await said(), []);
});

test('a plain folder and one module script release the numbers of Node', async () => {
  const script = `import { load } from './index.js';
    const dp = await load();
    const visits = dp.counter(${JSON.stringify(problem)});
    globalThis.outcome = ${JSON.stringify(records)}.map((record) => visits.release(record).value);
    visits.dispose();`;
  writeFileSync(join(plain.folder, 'use.js'), script);
  const html = `<!doctype html>${recorder}<script type="module" src="./use.js"></script>`;
  writeFileSync(join(plain.folder, 'use.html'), html);
  await browser.goto(`${plain.url}use.html`);
  await becomes(() => 'outcome' in globalThis);
  assert.deepEqual(await browser.evaluate(() => globalThis.outcome), totals);
  assert.deepEqual(await said(), []);
});

/** Releases records of a stream in IndexedDB, with the package at an address. */
async function releaseStored(address, options, next) {
  const { load } = await import(`${address}index.js`);
  const { IndexedDbStore } = await import(`${address}indexed-db.js`);
  const store = await IndexedDbStore.open('visits');
  const visits = await (await load()).counter({ ...options, store });
  const { step } = visits;
  const released = [];
  for (const record of next) released.push((await visits.release(record)).value);
  await visits.dispose();
  await store.close();
  return { step, released };
}

test('a stream in IndexedDB goes on after a reload', async () => {
  await browser.goto(plain.url);
  const before = await browser.evaluate(releaseStored, plain.url, problem, records.slice(0, 2));
  assert.deepEqual(before, { step: 0, released: totals.slice(0, 2) });
  await browser.evaluate(() => {
    globalThis.isOld = true;
  });
  await browser.reload();
  assert.equal(await browser.evaluate(() => 'isOld' in globalThis), false);
  const options = { ...problem, mustExist: true };
  const later = await browser.evaluate(releaseStored, plain.url, options, records.slice(2));
  assert.deepEqual(later, { step: 2, released: totals.slice(2) });
  assert.deepEqual(await said(), []);
});

test('a stream in a worker releases the same numbers', async () => {
  await browser.goto(plain.url);
  const released = await browser.evaluate(
    async (address, options, all) => {
      const { connect } = await import(`${address}worker-client.js`);
      const client = connect();
      const visits = await client.counter(options);
      const readings = await visits.releaseMany(all);
      await visits.dispose();
      client.terminate();
      return readings.map(({ value }) => value);
    },
    plain.url,
    problem,
    records,
  );
  assert.deepEqual(released, totals);
  assert.deepEqual(await said(), []);
});
