#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the page for a reader: bytes, first paint, time until the first scene can be
// used, layout shift, long tasks, frames.
//
//   usage: node bench/page.mjs [RUNS]     (5 by default; scripts/build page first)
//
// Reports elapsed time, and CPU time of the page's main thread, which other load on a shared
// machine affects less. Figures are medians with minimum and maximum. If a figure has a bar, prints
// whether the median passes. Never fails because of a figure.

import { loadavg } from 'node:os';
import { launch, openPage, serveSite, settled, transferred } from '../tests/browser/support.mjs';
import { longestTasks, threadTime } from '../tests/browser/trace.mjs';

const numRuns = Number(process.argv[2] ?? 5);

/** Largest acceptable values, by the factor that slows down the tab. */
const bars = {
  1: {
    'story: transferred, bytes': 130 * 1024,
    'story: longest task, ms of processor': 200,
    'story: frames while the day plays, p95, ms': 25,
    'story: layout shift': 0.02,
    'laboratory: transferred, bytes': 130 * 1024,
    'laboratory: longest task, ms of processor': 200,
    'laboratory: frames while it plays, p95, ms': 25,
    'laboratory: layout shift': 0.02,
  },
  4: {
    'story: first paint, ms': 1000,
    'story: first scene ready, ms': 2000,
    'story: layout shift': 0.02,
    'laboratory: layout shift': 0.02,
  },
};

/** Records layout shifts and the time when the first scene is ready; runs in the page. */
function observe() {
  window.noted = { shift: 0, ready: NaN };
  const { noted } = window;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) noted.shift += value;
  }).observe({ type: 'layout-shift', buffered: true });
  const isReady = () => {
    if (!Number.isNaN(noted.ready)) return;
    if (document.querySelector('#scene-hero[data-state=ready]')) noted.ready = performance.now();
  };
  document.addEventListener('DOMContentLoaded', () => {
    const watch = { subtree: true, attributeFilter: ['data-state'] };
    new MutationObserver(isReady).observe(document.documentElement, watch);
    isReady();
  });
}

/** Measures the times between animation frames for some milliseconds. */
const framesFor = (page, milliseconds) =>
  page.evaluate(
    (time) =>
      new Promise((resolve) => {
        const lengths = [];
        const start = performance.now();
        let last = start;
        const next = (now) => {
          lengths.push(now - last);
          last = now;
          if (now - start < time) requestAnimationFrame(next);
          else resolve(lengths.slice(1));
        };
        requestAnimationFrame(next);
      }),
    milliseconds,
  );

const share = (values, part) =>
  values.length === 0
    ? 0
    : values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))];

/** Opens an address in a slowed-down tab, and measures until `until` resolves. */
async function load(browser, site, { slower, address, until }) {
  const blank = { story: true, before: observe };
  const { page, asked } = await openPage(browser, 'about:blank', blank);
  const session = await page.createCDPSession();
  await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
  const thread = await threadTime(page, async () => {
    await page.goto(site.url + address);
    await until(page);
  });
  const noted = await page.evaluate(() => window.noted);
  const paint = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
  );
  const bytes = await transferred(asked, site);
  return { page, noted, paint, bytes, thread };
}

/** CPU milliseconds of the longest task while the page starts and plays. */
async function longest(browser, site, { slower, address, until }) {
  const { page } = await openPage(browser, 'about:blank', { story: true });
  const session = await page.createCDPSession();
  await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
  const [task] = await longestTasks(page, async () => {
    await page.goto(site.url + address);
    await until(page);
    await framesFor(page, 2000);
  });
  await page.close();
  return task;
}

const heroReady = (page) =>
  page.waitForSelector('#scene-hero[data-state=ready]', { timeout: 120_000 });

async function measure(browser, site, slower) {
  const figures = {};
  const opened = { slower, address: '', until: heroReady };
  const story = await load(browser, site, opened);
  figures['story: first paint, ms'] = story.paint;
  figures['story: first scene ready, ms'] = story.noted.ready;
  figures['story: its thread until then, ms of processor'] = story.thread;
  figures['story: transferred, bytes'] = story.bytes;
  // The day plays automatically for 4.5 seconds.
  const replay = await framesFor(story.page, 4000);
  const { shift } = await story.page.evaluate(() => window.noted);
  const work = await story.page.evaluate(() => window.frameTimes);
  figures['story: frames while the day plays, p95, ms'] = share(replay, 0.95);
  figures['story: work of a frame, p95, ms'] = share(work, 0.95);
  figures['story: longest task, ms of processor'] = await longest(browser, site, opened);
  figures['story: layout shift'] = shift;
  await story.page.close();
  const until = (page) => settled(page, 'playing', 120_000);
  const lab = await load(browser, site, { slower, address: '#lab', until });
  figures['laboratory: its thread until it plays, ms of processor'] = lab.thread;
  figures['laboratory: transferred, bytes'] = lab.bytes;
  const frames = await framesFor(lab.page, 3000);
  const noted = await lab.page.evaluate(() => window.noted);
  const labWork = await lab.page.evaluate(() => window.frameTimes);
  figures['laboratory: frames while it plays, p95, ms'] = share(frames, 0.95);
  figures['laboratory: work of a frame, p95, ms'] = share(labWork, 0.95);
  const laboratory = { slower, address: '#lab', until };
  figures['laboratory: longest task, ms of processor'] = await longest(browser, site, laboratory);
  figures['laboratory: layout shift'] = noted.shift;
  await lab.page.close();
  return figures;
}

const site = await serveSite();
const browser = await launch();
try {
  for (const slower of [1, 4]) {
    const runs = [];
    for (let run = 0; run < numRuns; ++run) runs.push(await measure(browser, site, slower));
    console.log(`\n${slower} times slower; ${numRuns} runs; load ${loadavg()[0].toFixed(1)}`);
    for (const name of Object.keys(runs[0])) {
      const values = runs.map((figures) => figures[name]);
      const text = (value) => Number(value.toPrecision(4)).toLocaleString('en');
      const [median, least, most] = [0.5, 0, 1].map((part) => share(values, part));
      const range = `(${text(least)} to ${text(most)})`;
      const bar = bars[slower][name];
      const judged =
        bar === undefined ? '' : `at most ${text(bar)}: ${median <= bar ? 'pass' : 'FAIL'}`;
      console.log(
        `${name.padEnd(60)} ${text(median).padStart(9)}  ${range.padEnd(24)} ${judged}`.trimEnd(),
      );
    }
    const missing = Object.keys(bars[slower]).filter((name) => !(name in runs[0]));
    if (missing.length > 0) throw new Error(`bars of what is not measured: ${missing}`);
  }
} finally {
  await browser.close();
  site.close();
}
