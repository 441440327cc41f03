// SPDX-License-Identifier: Apache-2.0

// Limits on the processor time of the page's main thread. bench/page.mjs measures this and more in
// wall-clock time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyInAll } from '../../js/support/extent.mjs';
import { openPage, settled, startSite } from '../support.mjs';
import { longestTasks, threadTime } from '../trace.mjs';

const { site, browser } = await startSite();

const blank = async () => (await openPage(browser, 'about:blank', { story: true })).page;
const ready = (page, id) =>
  page.waitForSelector(`#scene-${id}[data-state=ready]`, { timeout: 60_000 });

test('the first scene is ready after at most 400 ms of work on the main thread', async () => {
  const page = await blank();
  const time = await threadTime(page, async () => {
    await page.goto(site.url);
    await ready(page, 'hero');
  });
  console.log(`thread: ${time.toFixed()} ms`);
  assert.ok(time > 5 && time < 400, `${time} ms`);
  await page.close();
});

test(
  'no task blocks the main thread for more than 200 ms: the whole story',
  onlyInAll,
  async () => {
    const page = await blank();
    const [longest] = await longestTasks(page, async () => {
      await page.goto(site.url);
      await ready(page, 'hero');
      for (const id of await page.$$eval('.scene', (all) => all.map((one) => one.id.slice(6)))) {
        await page.$eval(`#scene-${id}`, (one) => one.scrollIntoView());
        await ready(page, id);
      }
      await page.waitForFunction(
        () =>
          [...document.querySelectorAll('[data-learning]')].every(
            (one) => one.dataset.learning === 'done',
          ),
        { timeout: 300_000 },
      );
    });
    console.log(`longest task: ${longest.toFixed()} ms`);
    assert.ok(longest > 1 && longest < 200, `${longest} ms`);
    await page.close();
  },
);

test('no task blocks the main thread for more than 200 ms: the laboratory while it starts and plays', async () => {
  const page = await blank();
  const [longest] = await longestTasks(page, async () => {
    await page.goto(`${site.url}#lab`);
    await settled(page, 'playing');
    await settled(page, 'finished');
  });
  console.log(`longest task: ${longest.toFixed()} ms`);
  assert.ok(longest > 1 && longest < 200, `${longest} ms`);
  await page.close();
});

test('a task that blocks the main thread is detected', async () => {
  const page = await blank();
  // A fixed amount of work, not of time, since other programs may use the processor meanwhile.
  const spin = () => {
    let sum = 0;
    for (let i = 0; i < 1e8; i += 1) sum += Math.sqrt(sum + 1);
    return sum;
  };
  const [longest] = await longestTasks(page, async () => {
    await page.goto(site.url);
    await page.evaluate(spin);
  });
  assert.ok(longest > 100, `${longest} ms`);
  await page.close();
});
