// SPDX-License-Identifier: Apache-2.0

// Draws docs/images/shop_day.svg, the picture of the README: the true and the private number of
// customers of examples/shop_day.csv, computed by the built package.
//
//     node scripts/draw-readme.mjs
//
// The seed is fixed, so that the same package draws the same picture. tests/js/readme.test.mjs
// compares the file with what `draw` returns.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { picture as framed } from './picture.mjs';

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
export const picture = path('docs/images/shop_day.svg');

const target = { epsilon: 1, delta: 1e-6, insecureSeed: 7 };
const firstMinute = 420; // 7:00
const everyMinutes = 4;
const [width, height] = [860, 400];
const [left, right, top, bottom] = [56, 704, 64, 352];
const [low, high] = [-60, 420];

const style = `
.band { fill: #0969da; fill-opacity: 0.18; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.true { stroke: #1f2328; }
.private { stroke: #0969da; }
.fresh { stroke: #bc4c00; stroke-width: 1.2; }
.label { stroke: none; }
.label.private { fill: #0969da; }
.label.fresh { fill: #bc4c00; }
`;
const dark = `
.band { fill: #58a6ff; fill-opacity: 0.25; }
.true { stroke: #e6edf3; }
.private { stroke: #58a6ff; }
.fresh { stroke: #f0883e; }
.label { stroke: none; }
.label.private { fill: #58a6ff; }
.label.fresh { fill: #f0883e; }
`;

/** Private totals of all records and the standard deviation of their noise. */
function release(dp, records, strategy) {
  const counter = dp.counter({ ...target, steps: records.length, strategy });
  const readings = counter.releaseMany(records);
  counter.dispose();
  return {
    totals: readings.map(({ value }) => value),
    stddevs: readings.map(({ stddev }) => stddev),
  };
}

/** Returns the picture as SVG text. */
export function draw(dp) {
  const rows = readFileSync(path('examples/shop_day.csv'), 'utf8').trim().split('\n').slice(1);
  const records = rows.map((row) => Number(row.split(',')[1]));
  let sum = 0;
  const truth = records.map((record) => (sum += record));
  const shown = records.map((_, step) => step).filter((step) => (step + 1) % everyMinutes === 0);

  const x = (step) => left + ((right - left) * (step + 1)) / records.length;
  const y = (value) => bottom - ((bottom - top) * (value - low)) / (high - low);
  const at = (step, value) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`;
  const line = (values) => shown.map((step) => at(step, values[step])).join(' ');

  const optimal = release(dp, records, 'optimal');
  const fresh = release(dp, records, 'independent');
  const edge = (sign) => (step) =>
    at(step, optimal.totals[step] + sign * 2 * optimal.stddevs[step]);
  const band = [...shown.map(edge(1)), ...shown.map(edge(-1)).reverse()].join(' ');

  const last = records.length - 1;
  const label = (kind, value, ...lines) =>
    lines
      .map((text, i) => {
        const down = (y(value) + 4 + 16 * i).toFixed(1);
        return `<text class="label ${kind}" x="${right + 8}" y="${down}">${text}</text>`;
      })
      .join('\n');
  const hours = [8, 10, 12, 14, 16, 18, 20].map((hour) => {
    const place = x(hour * 60 - firstMinute - 1).toFixed(1);
    return `<text x="${place}" y="${bottom + 20}" text-anchor="middle">${hour}:00</text>`;
  });
  const values = [0, 100, 200, 300, 400].map((value) => {
    const place = y(value).toFixed(1);
    return `<path class="grid" d="M${left},${place}H${right}"/>
<text x="${left - 8}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${value}</text>`;
  });
  const ended = optimal.totals[last].toFixed(0);
  const std = optimal.stddevs[last].toFixed(1);
  const freshStd = fresh.stddevs[last].toFixed(1);
  return framed({
    width,
    height,
    title: 'Customers of a shop so far: the true and the private running total',
    description: `Over a day of ${records.length} minutes the true total rises to ${truth[last]}. \
The private total follows it with a standard deviation of ${std}; with independent noise on every \
record the standard deviation is ${freshStd} at the end.`,
    style,
    dark,
    parts: [
      `<text class="heading" x="${left}" y="28">Customers so far, minute by minute: \
(1, 10⁻⁶)-differentially private</text>`,
      `<text x="${left}" y="48">examples/shop_day.csv; band: private total ± 2 standard \
deviations</text>`,
      ...values,
      ...hours,
      `<polygon class="band" points="${band}"/>`,
      `<polyline class="line fresh" points="${line(fresh.totals)}"/>`,
      `<polyline class="line private" points="${line(optimal.totals)}"/>`,
      `<polyline class="line true" points="${line(truth)}"/>`,
      label('true', truth[last] + 12, `true: ${truth[last]}`),
      label('private', optimal.totals[last] - 12, `private: ${ended} ± ${std}`),
      label('fresh', fresh.totals[last] - 8, 'independent noise on', `each record: ± ${freshStd}`),
    ],
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { load } = await import(pathToFileURL(path('dist/index.js')));
  writeFileSync(picture, draw(await load()));
}
