// SPDX-License-Identifier: Apache-2.0

// Nothing is drawn outside its canvas or picture, and the labels of an axis read as its values:
// over totals from 1e-12 to 1e18, epsilon from 1e-4 to 10, every chart of the laboratory, the scenes
// of the story, and the pictures of the command.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { some } from '../js/support/extent.mjs';
import { importSource } from '../js/support/sources.mjs';
import {
  enter,
  openPage,
  readKey,
  reveal,
  revealAll,
  settled,
  shopDay,
  startSite,
} from './support.mjs';

const { plot } = await importSource('plot/plot.ts');
const { site, browser, open } = await startSite();

/** Runs in the page before its own programs: measures every text that a canvas draws. */
function watchTexts() {
  window.outside = [];
  window.drawn = new Map();
  const { fillText, strokeText, clearRect } = CanvasRenderingContext2D.prototype;
  const measured = (native) =>
    function (text, x, y, ...rest) {
      const box = this.measureText(text);
      const { a, b, c, d, e, f } = this.getTransform();
      const squeeze = Math.min(1, (rest[0] ?? Infinity) / box.width);
      const left = -box.actualBoundingBoxLeft * squeeze;
      const right = box.actualBoundingBoxRight * squeeze;
      for (const dx of [left, right])
        for (const dy of [-box.actualBoundingBoxAscent, box.actualBoundingBoxDescent]) {
          const [px, py] = [a * (x + dx) + c * (y + dy) + e, b * (x + dx) + d * (y + dy) + f];
          const { width, height } = this.canvas;
          const isIn = px >= -1 && py >= -1 && px <= width + 1 && py <= height + 1;
          if (!isIn) window.outside.push(`${text} at ${px}, ${py} of ${width} x ${height}`);
        }
      window.drawn.get(this.canvas)?.push({ text, y, align: this.textAlign });
      return native.call(this, text, x, y, ...rest);
    };
  CanvasRenderingContext2D.prototype.fillText = measured(fillText);
  CanvasRenderingContext2D.prototype.strokeText = measured(strokeText);
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    window.drawn.set(this.canvas, []);
    return clearRect.apply(this, box);
  };
}

/** Checks all texts that were drawn, and reads those of vertical axes; returns the largest value. */
async function check(page, what) {
  const { outside, charts } = await page.evaluate(() => ({
    outside: window.outside.splice(0),
    charts: [...window.drawn].filter(([canvas]) => canvas.isConnected).map(([, texts]) => texts),
  }));
  assert.deepEqual(outside, [], what);
  let largest = 0;
  for (const texts of charts) {
    // The labels of uPlot's vertical axis are aligned to the right, and so are those of levels.
    const isTick = /^−?[\d,.]+( × )?(10[⁻⁰-⁹¹²³]+)?$/u;
    const ticks = texts.filter(({ text, align }) => align === 'right' && isTick.test(text));
    const values = ticks.map(({ text }) => valueOf(text));
    assert.ok(values.every(Number.isFinite), `${what}: ${ticks.map(({ text }) => text)}`);
    assert.equal(new Set(values).size, values.length, `${what}: ${ticks.map(({ text }) => text)}`);
    if (values.length < 2) continue;
    const scale = (ticks.at(-1).y - ticks[0].y) / (values.at(-1) - values[0]);
    const step = Math.abs(values[1] - values[0]);
    ticks.forEach(({ y }, i) => {
      const value = values[0] + (y - ticks[0].y) / scale;
      assert.ok(
        Math.abs(value - values[i]) < 0.05 * step,
        `${what}: ${ticks.map(({ text }) => text)}`,
      );
    });
    largest = Math.max(largest, ...values.map(Math.abs));
  }
  return largest;
}

const RAISED = '⁰¹²³⁴⁵⁶⁷⁸⁹';
function valueOf(text) {
  const plain = text.replace('−', '-').replaceAll(',', '');
  const parts = plain.match(/^(-?[\d.]+(?= × )|)( × )?10([⁻⁰-⁹¹²³]+)$/u);
  const [, mantissa = '', , power] = parts ?? [];
  if (power === undefined) return Number(plain);
  const exponent = [...power].map((c) => (c === '⁻' ? '-' : RAISED.indexOf(c))).join('');
  return Number(mantissa || 1) * 10 ** Number(exponent);
}

async function paste(page, text) {
  await page.$eval(
    '#csv-text',
    (area, value) => {
      area.focus();
      area.select();
      document.execCommand('insertText', false, value);
      area.dispatchEvent(new ClipboardEvent('paste', { bubbles: true }));
    },
    text,
  );
}

test('charts: totals from 1e-12 to 1e18 have whole labels inside the canvas', async () => {
  const { page } = await open('', { before: watchTexts });
  await page.select('#set-source', 'own');
  const powers = Array.from({ length: 31 }, (_, i) => i - 12);
  for (const power of some(powers, 11)) {
    const scale = 10 ** power;
    await paste(page, `v\n${3 * scale}\n${5 * scale}\n${4 * scale}\n`);
    await page.waitForSelector('#clip-guide li:nth-child(1) button', { visible: true });
    await page.$eval('#clip-guide li:nth-child(1) button', (one) => one.click());
    await settled(page);
    await page.evaluate(() => document.getElementById('sums').scrollIntoView());
    const largest = await check(page, `totals of 1e${power}`);
    assert.ok(
      largest > 5 * scale && largest < 1e4 * scale,
      `labels up to ${largest} for 1e${power}`,
    );
  }
  await page.close();
});

const HASHES = [
  '',
  shopDay,
  'data=shop_day&label=-&column=count&statistic=sums&window=5',
  'mechanism=square-root&steps=30&statistic=histogram',
  'steps=40&compare=tree&learner=both&learning=regret',
];

test('charts: epsilon from 1e-4 to 10, in every figure of the laboratory', async () => {
  for (const hash of some(HASHES, 3)) {
    const { page } = await open(hash, { before: watchTexts });
    await revealAll(page);
    for (const epsilon of some([1e-4, 1e-3, 0.01, 0.1, 1, 10], 4)) {
      await enter(page, '#set-epsilon', String(epsilon));
      await settled(page);
      assert.ok((await check(page, `#${hash} at epsilon ${epsilon}`)) > 0);
    }
    await page.close();
  }
});

test('charts: the same in a narrow window', async () => {
  for (const hash of ['epsilon=0.0001', `${shopDay}&epsilon=0.0001`]) {
    const { page } = await open(hash, { before: watchTexts, width: 320 });
    await revealAll(page);
    assert.ok((await check(page, hash)) > 0);
    await page.close();
  }
});

test('charts: the same for queries', async () => {
  const histograms = ['500000000,0,40,7&queries=ranges', '3,1,4,1&queries=identity'];
  const hashes = ['queries', ...histograms.map((histogram) => `histogram=${histogram}`)];
  for (const hash of hashes)
    for (const epsilon of some([1e-4, 1e-3, 1, 10], 2)) {
      const address = `${site.url}#${hash}&epsilon=${epsilon}`;
      const { page } = await openPage(browser, address, { before: watchTexts, calm: true });
      await reveal(page, 'queries', '.map');
      await page.waitForFunction(() =>
        [...window.drawn.values()].some((texts) => texts.length > 0),
      );
      assert.ok((await check(page, `${hash} at epsilon ${epsilon}`)) > 0);
      await page.close();
    }
});

test('story: its scenes draw inside their canvases', async () => {
  const { page } = await openPage(browser, site.url, {
    before: watchTexts,
    story: true,
    calm: true,
  });
  const scenes = await page.$$eval('[id^=scene-]', (all) => all.map(({ id }) => id));
  assert.ok(scenes.length > 3);
  for (const id of scenes) {
    await page.$eval(`#${id}`, (one) => one.scrollIntoView());
    for (let frame = 0; frame < 2; ++frame) {
      await page.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
    }
  }
  await check(page, 'story');
  await page.close();
});

const LONG =
  'a column whose name is longer than anybody would ever think of giving to one, let alone to draw';

/** Runs in the page: finds texts outside their picture, and pairs of texts that overlap. */
function misplaced(svg) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return { text: one.textContent, left, right, top, bottom };
  });
  const isOutside = ({ left, right, top, bottom }) =>
    Math.min(left - frame.left, frame.right - right, top - frame.top, frame.bottom - bottom) < -1;
  const overlap = (a, b) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  const pairs = texts.flatMap((one, i) => texts.slice(i + 1).map((other) => [one, other]));
  return {
    outside: texts.filter(isOutside).map(({ text }) => text),
    over: pairs.filter((pair) => overlap(...pair)).map((pair) => pair.map(({ text }) => text)),
  };
}

test('pictures: every text of an SVG is inside it, and no two overlap', async () => {
  const page = await browser.newPage();
  const powers = Array.from({ length: 31 }, (_, i) => i - 12);
  for (const power of some(powers, 11))
    for (const log of [false, true])
      for (const label of ['v', LONG]) {
        const x = [1, 2, 3].map((value) => value * 10 ** power);
        const y = log ? x : [-5, 2, 7.5].map((value) => value * 10 ** power);
        const series = [label, 'noise'].map((name) => ({ name, x, y }));
        const panel = { title: label, x: { label, log }, y: { label, log }, series };
        for (const panels of [[panel], [panel, panel]]) {
          await page.setContent(plot({ title: label, notes: [label], panels }));
          const found = await page.$eval('svg', misplaced);
          assert.deepEqual(
            found,
            { outside: [], over: [] },
            `1e${power} ${log ? 'log' : 'linear'}`,
          );
        }
      }
  await page.close();
});

/** Names that are wide, have no spaces, are written from right to left, or are not valid XML. */
const NAMES = [
  'W'.repeat(90),
  '%@'.repeat(40),
  '\u58f2\u4e0a\u9ad8\u306e\u5408\u8a08\u91d1\u984d'.repeat(12),
  '\u05e1\u05db\u05d5\u05dd \u05d9\u05d5\u05de\u05d9 '.repeat(9).trim(),
  '\u0627\u0644\u0645\u062c\u0645\u0648\u0639 '.repeat(12).trim(),
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}\u{1f4c8}'.repeat(25),
  '\u0416\u0449\u042e '.repeat(25).trim(),
  '<b>&amp;"\'</b>'.repeat(9),
  'a\u0001b\u0000c\ufffe\ud83d',
];

test('pictures: names of every script are inside, and the text is XML', async () => {
  const page = await browser.newPage();
  for (const name of NAMES) {
    const x = [0, 1, 2];
    const series = [name, 'noise'].map((each) => ({ name: each, x, y: [-5, 2, 7.5] }));
    const axis = { label: name, log: false };
    const names = x.map((i) => `${name.slice(0, 2)}${i} ${name}`);
    const panels = [axis, { ...axis, names }].map((each) => {
      return { title: name, x: each, y: axis, series };
    });
    const notes = [`one person (column ${JSON.stringify(name)}) is protected`];
    const picture = plot({ title: name, notes, panels });
    await page.setContent(picture);
    assert.deepEqual((await page.$eval('svg', misplaced)).outside, [], name);
    const fault = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
      return parsed.querySelector('parsererror')?.textContent ?? '';
    }, picture);
    assert.equal(fault, '', name);
  }
  await page.close();
});

/** Runs in the page before its own programs: keeps every frame of texts of the first figure. */
function watchEnds() {
  window.ends = [];
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  const frames = new Map();
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    frames.get(this.canvas)?.push({ text, y });
    return fillText.call(this, text, x, y, ...rest);
  };
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    if (this.canvas.closest('#sums') !== null) {
      const texts = [];
      frames.set(this.canvas, texts);
      window.ends.push(texts);
    }
    return clearRect.apply(this, box);
  };
}

/** Which of the two texts at the ends of the lines is higher, frame by frame. */
const endOrders = (page) =>
  page.evaluate(() =>
    window.ends
      .map((texts) => texts.filter(({ text }) => ['release', 'truth'].includes(text)))
      .filter((texts) => texts.length === 2)
      .map(([one, other]) => (one.y < other.y ? one.text : other.text)),
  );

test('the texts at the ends of lines are in the order of the values, and swap once a second', async () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const hash = `steps=4000&sums=1&noise-seed=${seed}`;
    const { page } = await open(hash, { width: 1280, height: 720, before: watchEnds });
    const values = await readKey(page, '#sums');
    const higher = values.release > values['true total'] ? 'release' : 'truth';
    await page.waitForFunction(() => window.ends.length > 0);
    assert.equal((await endOrders(page)).at(-1), higher, `seed ${seed}`);
    await page.close();
  }
  const { page } = await open('lab', {
    ...{ state: 'playing', width: 1280, height: 720, before: watchEnds },
  });
  const start = Date.now();
  await page.waitForFunction(() => document.getElementById('progress').value > 2000);
  const orders = await endOrders(page);
  const seconds = (Date.now() - start) / 1000;
  const swaps = orders.filter((top, i) => i > 0 && top !== orders[i - 1]).length;
  assert.ok(orders.length > 20 && swaps <= seconds + 2, `${swaps} in ${seconds} s`);
  await page.close();
});

test('the last step is on the axis, and a bound that holds there is marked there only', async () => {
  const { page } = await open('lab', { width: 1280, height: 720, before: watchTexts });
  const texts = await page.evaluate(() =>
    [...window.drawn]
      .filter(([canvas]) => canvas.isConnected && canvas.closest('#sums, #sum-errors, #learning'))
      .map(([, drawn]) => drawn.map(({ text }) => text)),
  );
  assert.equal(texts.length, 3);
  for (const drawn of texts) assert.ok(drawn.includes('12,000'), `${drawn}`);
  const { 'final bound': bound, ...values } = await readKey(page, '#learning');
  assert.ok(values['private learner'] < bound);
  // Dark pixels of the bound's colour in the middle of the chart, where a line would be.
  const inks = await page.$eval('#learning canvas', (canvas) => {
    const { width, height } = canvas;
    const { data } = canvas
      .getContext('2d')
      .getImageData(Math.round(0.25 * width), 0, Math.round(0.3 * width), Math.round(0.9 * height));
    let dark = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) < 60) ++dark;
    return dark;
  });
  assert.equal(inks, 0);
  await page.close();
});

test('the axis of accuracy is in per cent', async () => {
  const { page } = await open('steps=200&learning=accuracy', { before: watchTexts });
  const drawn = await page.evaluate(() => {
    const [[, texts]] = [...window.drawn].filter(
      ([canvas]) => canvas.isConnected && canvas.closest('#learning'),
    );
    return texts.filter(({ align }) => align === 'right').map(({ text }) => text);
  });
  const ticks = drawn.filter((text) => text.endsWith('%'));
  assert.deepEqual(ticks, ['25\u00a0%', '50\u00a0%', '75\u00a0%', '100\u00a0%']);
  assert.ok(!drawn.some((text) => /^0?\.\d/.test(text)), `${drawn}`);
  await page.close();
});
