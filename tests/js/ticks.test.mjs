// SPDX-License-Identifier: Apache-2.0

// Texts of the ticks of every figure: each reads back as its tick, and no two are equal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importSource } from './support/sources.mjs';

const { apart, banded } = await importSource('cli/charts/figure.ts');
const { STEP_AXIS } = await importSource('plot/picture.ts');
const { plot } = await importSource('plot/plot.ts');
const { tickTexts } = await importSource('plot/ticks.ts');

/** Texts of the ticks of a drawn axis, with the places of their lines in pixels. */
function ticksOf(svg, axis) {
  const line = '<line x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)"[^>]*stroke="#ddd"/>';
  const pattern = new RegExp(`${line}\\n<text [^>]*>([^<]*)<`, 'g');
  return [...svg.matchAll(pattern)]
    .filter(([, x1, , x2]) => (x1 === x2) === (axis === 'x'))
    .map(([, x1, y1, , text]) => ({ place: Number(axis === 'x' ? x1 : y1), text }));
}

function draw(x, y, log) {
  const axis = { label: '', log };
  const panel = { title: '', x: axis, y: axis, series: [{ name: '', x, y }] };
  return plot({ title: '', panels: [panel] });
}

/** Checks that no two texts are equal, and that each is where its value is. */
function check(ticks, isLog, what) {
  const texts = ticks.map(({ text }) => text);
  const values = texts.map(Number);
  assert.ok(values.length >= 2, `${what}: ${ticks.length} ticks`);
  assert.equal(new Set(texts).size, ticks.length, `${what}: ${texts}`);
  assert.ok(values.every(Number.isFinite), what);
  const place = isLog ? Math.log : (value) => value;
  const scale = (ticks.at(-1).place - ticks[0].place) / (place(values.at(-1)) - place(values[0]));
  ticks.forEach((tick, i) => {
    const expected = ticks[0].place + scale * (place(values[i]) - place(values[0]));
    // The picture rounds places to 0.01 pixels.
    assert.ok(Math.abs(expected - tick.place) < 0.5, `${what}: ${texts}`);
  });
}

const RANGES = [
  [0, 1],
  [0, 2.6],
  [-1, 1],
  [-5, 0.3],
  [0.2, 0.9],
  [1, 1.001],
  [-3, -2.999],
  [7, 7],
  [0, 0],
];

test('ticks: texts are where their values are, from 1e-300 to 1e307, on both axes', () => {
  const powers = [-300, -291, -290, -289, -100, 100, 299, 300, 301, 307];
  for (let power = -12; power <= 18; ++power) powers.push(power);
  for (const power of powers)
    for (const [low, high] of RANGES) {
      const values = [low, (low + high) / 2, high].map((value) => value * 10 ** power);
      const svg = draw(values, values, false);
      for (const axis of ['x', 'y'])
        check(ticksOf(svg, axis), false, `${axis} ${low}..${high} e${power}`);
    }
});

test('ticks: the same on logarithmic axes', () => {
  for (let power = -12; power <= 18; ++power)
    for (const span of [1, 1.01, 1.5, 4, 30, 1e3, 1e9, 1e20]) {
      const values = [10 ** power, span * 10 ** power];
      const svg = draw(values, values, true);
      for (const axis of ['x', 'y'])
        check(ticksOf(svg, axis), true, `${axis} log e${power} by ${span}`);
    }
});

test('ticks: a picture of numbers has numbers only, up to the largest ones', () => {
  const sizes = [5e-324, 1e-310, 1e-300, 1e-290, 1, 1e290, 1e300, 1e308, Number.MAX_VALUE];
  const shapes = [
    [-1, 1],
    [0, 1],
    [1, 1],
    [0.5, 1],
    [-1, 0],
    [-1, -1],
  ];
  for (const size of sizes)
    for (const [low, high] of shapes)
      for (const log of [false, true]) {
        const [x, y] = [
          [1, 2],
          [low * size, high * size],
        ];
        const spread = [size, size];
        const [band, line] = banded('a', x, y, spread);
        const series = [band, line, { ...line, spread }, { ...line, look: log ? 'marks' : 'bars' }];
        const axes = { x: { label: '', log: false }, y: { label: '', log } };
        const [panel] = apart({ title: '', ...axes, series }, { sharesScale: true });
        const svg = plot({ title: '', panels: [panel] });
        const what = `${size} ${low} ${high} ${log}`;
        assert.doesNotMatch(svg, /NaN|Infinity|undefined/, what);
        if (log && high <= 0) continue;
        const texts = ticksOf(svg, 'y').map(({ text }) => text);
        assert.ok(texts.length >= 2 || size < 1e-300, `${what}: ${texts}`);
        assert.equal(new Set(texts).size, texts.length, `${what}: ${texts}`);
      }
});

test('ticks: an axis of steps has whole steps only, however few there are', () => {
  const axis = { label: '', log: false };
  for (let numSteps = 1; numSteps <= 2 ** 20; numSteps = Math.ceil(numSteps * 1.4))
    for (const first of [1, 2, 37, 1_000_001])
      for (const log of [false, true]) {
        const x = numSteps === 1 ? [first] : [first, first + numSteps - 1];
        const panel = { x: { ...STEP_AXIS, log }, y: axis, series: [{ name: '', x, y: x }] };
        const svg = plot({ title: '', panels: [{ title: '', ...panel }] });
        const texts = ticksOf(svg, 'x').map(({ text }) => Number(text));
        const what = `${log} ${numSteps} from ${first}: ${texts}`;
        assert.ok(texts.length >= 1 && texts.every(Number.isInteger), what);
        assert.equal(new Set(texts).size, texts.length, what);
        // All of a few steps have a tick.
        if (numSteps <= 4 && !log)
          assert.deepEqual(
            texts,
            Array.from({ length: numSteps }, (_, i) => first + i),
            what,
          );
      }
});

test('ticks: every text reads back within 1 % of the distance to the next', () => {
  for (let power = -12; power <= 18; ++power)
    for (const step of [1, 2, 2.5, 5])
      for (const first of [-1234567, -12, -3, 0, 1, 99, 1e6]) {
        const ticks = Array.from({ length: 6 }, (_, i) => (first + i) * step * 10 ** power);
        const texts = tickTexts(ticks);
        assert.equal(new Set(texts).size, 6, String(texts));
        ticks.forEach((tick, i) => {
          const error = Math.abs(Number(texts[i]) - tick);
          assert.ok(error <= 0.01 * step * 10 ** power, `${tick} as ${texts[i]}`);
        });
      }
});

test('ticks: numbers are plain from 1e-4 to 1e7, and have a power of ten beyond', () => {
  const round = [0, 50000, 100000, 150000, 200000, 250000];
  assert.deepEqual(tickTexts(round), round.map(String));
  assert.deepEqual(tickTexts([0, 5e6, 1e7, 1.5e7]), ['0', '5e6', '1e7', '1.5e7']);
  assert.deepEqual(tickTexts([0.1, 0.2, 3 * 0.1]), ['0.1', '0.2', '0.3']);
  assert.deepEqual(tickTexts([1e-6, 1, 1e8], { log: true }), ['1e-6', '1', '1e8']);
});
