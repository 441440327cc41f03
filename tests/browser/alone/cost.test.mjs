// SPDX-License-Identifier: Apache-2.0

// Limits on the processor time of the page's main thread, longer on a machine that is slower than
// the one they were set on. bench/page.mjs measures this and more in wall-clock time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyInAll } from '../../js/support/extent.mjs';
import { openPage, settled, startSite } from '../support.mjs';
import { longestTasks, threadTime } from '../trace.mjs';

const { site, browser } = await startSite();

const blank = async () => (await openPage(browser, 'about:blank', { story: true })).page;
/** A fixed amount of work, not of time, since other programs may use the processor meanwhile. */
const spin = () => {
  let sum = 0;
  for (let i = 0; i < 1e8; i += 1) sum += Math.sqrt(sum + 1);
  return sum;
};

/** Processor time of `spin` where the limits were set, in milliseconds. */
const spinTime = 840;

async function slowness() {
  const page = await blank();
  const time = await threadTime(page, () => page.evaluate(spin));
  await page.close();
  return Math.max(1, time / spinTime);
}
const slow = await slowness();

const ready = (page, id) =>
  page.waitForSelector(`#scene-${id}[data-state=ready]`, { timeout: 60_000 });

test('the first scene is ready after at most 400 ms of work on the main thread', async () => {
  const page = await blank();
  const time = await threadTime(page, async () => {
    await page.goto(site.url);
    await ready(page, 'hero');
  });
  console.log(`thread: ${time.toFixed()} ms`);
  assert.ok(time > 5 && time < 400 * slow, `${time} ms, ${slow} times as slow`);
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
          [...document.querySelectorAll('[data-work]')].every((one) => one.dataset.work === 'done'),
        { timeout: 300_000 },
      );
    });
    console.log(`longest task: ${longest.toFixed()} ms`);
    assert.ok(longest > 1 && longest < 200 * slow, `${longest} ms, ${slow} times as slow`);
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
  assert.ok(longest > 1 && longest < 200 * slow, `${longest} ms, ${slow} times as slow`);
  await page.close();
});

test('while the day and the learner play, 95 of 100 frames take at most 25 ms', async () => {
  const isOver = (wanted) =>
    document.querySelector('#scene-hero .now')?.classList.contains('hidden') === wanted;
  for (const [hash, play] of [
    [
      '',
      async (page) => {
        for (const is of [false, true]) await page.waitForFunction(isOver, { polling: 100 }, is);
      },
    ],
    ['#lab', (page) => settled(page, 'finished')],
  ]) {
    const page = await blank();
    const tasks = await longestTasks(page, async () => {
      await page.goto(site.url + hash);
      await play(page);
    });
    const numFrames = await page.evaluate(() => window.frameTimes.length);
    const numLong = tasks.filter((time) => time > 25 * slow).length;
    console.log(`${hash || 'story'}: ${numLong} long tasks, ${numFrames} frames`);
    assert.ok(numFrames > 20 && numLong <= 0.05 * numFrames, `${numLong} of ${numFrames}`);
    await page.close();
  }
});

test('a task that blocks the main thread is detected', async () => {
  const page = await blank();
  const [longest] = await longestTasks(page, async () => {
    await page.goto(site.url);
    await page.evaluate(spin);
  });
  assert.ok(longest > 100, `${longest} ms`);
  await page.close();
});
