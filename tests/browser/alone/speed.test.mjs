// SPDX-License-Identifier: Apache-2.0

// A slow tab: the page requests work by time, not by number of steps, and so keeps pace with the
// library.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage, settled, startSite } from '../support.mjs';

const { site, browser } = await startSite();

const options = {
  strategy: 'square-root',
  steps: 20_000,
  epsilon: 1,
  delta: 1e-6,
  dimension: 4,
  streamSeed: 12,
};

/**
 * Steps per second of the library alone, in a worker of this tab, with all steps in one request.
 */
const libraryAlone = (page, script) =>
  page.evaluate(
    async (url, given) => {
      const worker = new Worker(url, { type: 'module' });
      let last = 0;
      const call = (method, argument) =>
        new Promise((resolve, reject) => {
          const id = ++last;
          worker.addEventListener('message', function hear({ data }) {
            if (data.id !== id || data.dpFtrl === 'progress') return;
            worker.removeEventListener('message', hear);
            if (data.dpFtrl === 'result') resolve(data.value);
            else reject(new Error(data.failure.message));
          });
          worker.postMessage({ dpFtrl: 'call', id, epoch: 0, method, argument });
        });
      await call('load', {});
      const { id } = await call('open', { kind: 'study.simulation', options: given });
      const start = performance.now();
      const maxSteps = given.steps;
      const asked = { id, method: 'advance', args: [maxSteps] };
      const { value: chunk } = await call('turn', asked);
      const seconds = (performance.now() - start) / 1000;
      worker.terminate();
      return chunk.steps / seconds;
    },
    script,
    options,
  );

test('on a tab slowed down four times, full speed is at least a quarter of that of the library alone', async () => {
  const hash = 'mechanism=square-root&steps=20000&speed=max&learning=loss';
  const { page, said, asked } = await openPage(browser, `${site.url}#steps=20`, { calm: true });
  await settled(page);
  const script = asked.find((url) => /worker[^/]*\.js$/.test(url));
  await page.emulateCPUThrottling(4);
  const alone = await libraryAlone(page, script);
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'no-preference' }]);
  await page.evaluate((text) => (location.hash = text), hash);
  await settled(page, 'playing');
  const [from, start] = await page.evaluate(() => [
    document.getElementById('progress').value,
    performance.now(),
  ]);
  await settled(page, 'finished', 120_000);
  const seconds = (await page.evaluate((then) => performance.now() - then, start)) / 1000;
  const shown = (options.steps - from) / seconds;
  assert.ok(from < options.steps / 2, `${from} steps were there at the first look`);
  assert.ok(shown > alone / 4, `${Math.round(shown)} steps/s, alone ${Math.round(alone)}`);
  assert.deepEqual(said, []);
  await page.close();
});
