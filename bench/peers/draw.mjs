// SPDX-License-Identifier: Apache-2.0

// Draws docs/images/peers.svg from the tables of bench/PEERS.md: how many times as much noise, time
// and room others take as this library, on a logarithmic axis.
//
//     node bench/peers/draw.mjs [--check]
//
// With --check it writes nothing, and fails unless the picture is what it would draw.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { escape, picture } from '../../scripts/picture.mjs';
import { page, tablesOf } from './page.mjs';

const file = fileURLToPath(new URL('../../docs/images/peers.svg', import.meta.url));

/** Ratios closer to 1 count as equal. */
const EQUAL = 1e-3;

const [width, margin, left, right] = [720, 16, 284, 614];
const [firstRow, rowHeight, groupHeight] = [88, 20, 30];
/** Powers of ten at the ends of the axis. */
const [low, high] = [-1, 4];

const style = `
svg { font-size: 12px; }
.note, .tick { fill: #59636e; }
.group { font-weight: 600; }
.one { stroke: #59636e; fill: none; }
.bar { fill: none; stroke-width: 9; stroke-opacity: 0.4; }
.bar.ours { stroke: #0969da; }
.bar.theirs { stroke: #bc4c00; }
circle.ours, text.ours { fill: #0969da; }
circle.theirs, text.theirs { fill: #bc4c00; }
circle.equal, text.equal { fill: #59636e; }
text.theirs { font-weight: 600; }
`;
const dark = `
.note, .tick { fill: #9198a1; }
.one { stroke: #9198a1; }
.bar.ours { stroke: #58a6ff; }
.bar.theirs { stroke: #f0883e; }
circle.ours, text.ours { fill: #58a6ff; }
circle.theirs, text.theirs { fill: #f0883e; }
circle.equal, text.equal { fill: #9198a1; }
`;

/** Returns the number at the beginning of a cell, or after the word "ratio". */
function numberOf(cell) {
  const [text] = /[-+]?\d[\d.]*(?:e[-+]?\d+)?/.exec(cell?.replace(/.*\bratio /, '') ?? '') ?? [];
  if (text === undefined) throw new Error(`bench/PEERS.md: there is no number in '${cell}'`);
  return Number(text);
}

/**
 * Returns what is compared, in groups: a name, and one or two ratios of theirs to ours. Above 1
 * ours is better, below 1 theirs is.
 */
export function comparisonsOf(text) {
  const tables = tablesOf(text);
  const rows = (title) => {
    if (!tables.has(title)) throw new Error(`bench/PEERS.md has no table under '${title}'`);
    return tables.get(title);
  };
  const solved = ['Optimal factorization', 'Fixed epochs', 'Bands and buffers'].flatMap(rows);
  const nameOf = (problem) => `jax_privacy, ${problem.replace(/^n = /, 'optimal, n = ')}`;
  const calibrated = rows('Calibration').map(([, , ours, theirs]) => [ours, theirs]);
  const excesses = calibrated.slice(0, -1).map((pair) => pair.map(numberOf));
  const multipliers = excesses.map(([ours, theirs]) => (1 + theirs) / (1 + ours));
  const size = (value) => Math.abs(Math.log(value));
  const [farthest] = multipliers.sort((a, b) => size(b) - size(a));
  const totals = rows('Totals of 1024 steps').filter(([name]) => name.startsWith('OpenDP'));
  const modules = rows('WebAssembly');
  const [ours, counter, tensors] = modules.map(([, , gzip, compiled]) => ({
    gzip: numberOf(gzip),
    compiled: numberOf(compiled),
  }));
  const againstTensors = (part) => [
    { name: 'TensorFlow.js, all of ours', ratios: [tensors[part] / ours[part]] },
    { name: 'TensorFlow.js, our counters', ratios: [tensors[part] / counter[part]] },
  ];
  return [
    {
      title: 'Error or noise',
      rows: [
        ...solved.map(([problem, , , ratio]) => ({
          name: nameOf(problem),
          ratios: [numberOf(ratio)],
        })),
        { name: 'dp-accounting, noise multiplier', ratios: [farthest] },
        ...totals.map(([name, , ratio]) => ({
          name: name.replace(/, pure, at the end/, ', totals'),
          ratios: [numberOf(ratio)],
        })),
      ],
    },
    {
      title: 'Processor time',
      rows: [
        ...solved.map(([problem, , , , , , first, later]) => ({
          name: nameOf(problem),
          ratios: [first, later].filter((cell) => cell !== '').map(numberOf),
        })),
        { name: 'dp-accounting, five multipliers', ratios: [numberOf(calibrated.at(-1)[1])] },
        ...rows('Rows of noise').map(([name, , , ratio]) => ({
          name: `${name.split(/[ ,]/)[0]}, a row of noise`,
          ratios: [numberOf(ratio)],
        })),
        ...againstTensors('compiled').map((row) => ({ ...row, name: `${row.name}, to compile` })),
      ],
    },
    { title: 'WebAssembly, gzip', rows: againstTensors('gzip') },
  ];
}

/** Which side is better by a ratio. */
function sideOf(ratio) {
  if (Math.abs(ratio - 1) < EQUAL) return 'equal';
  return ratio > 1 ? 'ours' : 'theirs';
}

/** Writes a ratio with three digits, or its distance from 1. */
function textOf(ratio) {
  const away = ratio - 1;
  if (away !== 0 && Math.abs(away) < 5e-7) {
    return `1 ${away < 0 ? '−' : '+'} ${Math.abs(away).toExponential(0)}`;
  }
  if (sideOf(ratio) === 'equal') return ratio.toFixed(6);
  return Number(ratio.toPrecision(3)).toLocaleString('en-US');
}

const shown = (value) => String(Number(value.toFixed(1)));
const x = (ratio) => left + ((right - left) * (Math.log10(ratio) - low)) / (high - low);

function text(place, y, words, more) {
  return `<text x="${shown(place)}" y="${shown(y)}"${more ? ` ${more}` : ''}>${escape(words)}</text>`;
}

/** Draws a row around the height y: a bar from 1 to the ratio, a dot at its end, and its text. */
function drawRow({ name, ratios }, y) {
  const sorted = [...ratios].sort((a, b) => a - b);
  const [least, most] = [sorted[0], sorted.at(-1)];
  const dots = sorted.map(
    (ratio) => `<circle class="${sideOf(ratio)}" cx="${shown(x(ratio))}" cy="${y}" r="4"/>`,
  );
  const bar = (side, from, to) =>
    `<path class="bar ${side}" d="M${shown(x(from))},${y}H${shown(x(to))}"/>`;
  const bars = [least < 1 && bar('theirs', least, 1), most > 1 && bar('ours', 1, most)];
  const words = sorted.map(textOf).join(' and ');
  const beside =
    most < 1 - EQUAL
      ? text(x(least) - 9, y + 4, words, `class="${sideOf(least)}" text-anchor="end"`)
      : text(x(most) + 9, y + 4, words, `class="${sideOf(least)}"`);
  return [text(margin, y + 4, name), ...bars.filter(Boolean), ...dots, beside].join('\n');
}

/** Returns the picture as SVG text. */
export function draw(markdown) {
  const groups = comparisonsOf(markdown);
  const [date] = /^\d{4}-\d\d-\d\d(?=, )/m.exec(markdown);
  const all = groups.flatMap(({ rows }) => rows.flatMap(({ ratios }) => ratios));
  const count = (side) => all.filter((ratio) => sideOf(ratio) === side).length;
  const parts = [];
  let y = firstRow;
  for (const { title, rows } of groups) {
    parts.push(text(margin, y + 4, title, 'class="group"'));
    y += rowHeight;
    for (const row of rows) {
      parts.push(drawRow(row, y));
      y += rowHeight;
    }
    y += groupHeight - rowHeight;
  }
  const bottom = y - groupHeight / 2;
  const axis = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i)).map((tick) => {
    const place = shown(x(tick));
    const label = text(
      x(tick),
      bottom + 16,
      tick.toLocaleString('en-US'),
      'class="tick" \
text-anchor="middle"',
    );
    const kind = tick === 1 ? 'one' : 'grid';
    return `<path class="${kind}" d="M${place},${firstRow - 10}V${shown(bottom)}"/>\n${label}`;
  });
  return picture({
    width,
    height: bottom + 66,
    title: 'What other libraries take, divided by what this library takes',
    description: `Of ${all.length} ratios of error, noise, processor time and size, theirs divided \
by ours, ${count('ours')} are above 1, where ours is better, ${count('theirs')} are below 1, where \
theirs is better, and ${count('equal')} are equal to 0.1 %. The tables of bench/PEERS.md list them.`,
    style,
    dark,
    parts: [
      `<text class="heading" x="${margin}" y="28">What others take, divided by what dp-ftrl takes</text>`,
      text(x(1) - 10, firstRow - 24, '◂ theirs is better', 'class="theirs" text-anchor="end"'),
      text(x(1) + 10, firstRow - 24, 'ours is better ▸', 'class="ours"'),
      ...axis,
      ...parts,
      text(
        margin,
        bottom + 36,
        'Two dots: first and later calls. Grey: equal to 0.1 %. Totals have pure epsilon 1; those \
of OpenDP come at the end,',
        'class="note"',
      ),
      text(
        margin,
        bottom + 52,
        `ours at each step. Drawn from bench/PEERS.md of ${date}, which has the numbers and the \
machine.`,
        'class="note"',
      ),
    ],
  });
}

/** Draws the picture of the page into its file. */
export function redraw() {
  writeFileSync(file, draw(readFileSync(page, 'utf8')));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (!process.argv.includes('--check')) redraw();
  else if (readFileSync(file, 'utf8') !== draw(readFileSync(page, 'utf8'))) {
    console.error('docs/images/peers.svg is not of bench/PEERS.md: node bench/peers/draw.mjs');
    process.exitCode = 1;
  }
}
