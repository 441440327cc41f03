// SPDX-License-Identifier: Apache-2.0

// Draws a matrix as a square of colours, blue for values above zero and yellow for values below.

import type { MapPanel } from './picture.js';
import { PANEL, round, text } from './svg.js';

type Rgb = readonly [number, number, number];
const ZERO = '#f3f1ea';
/** Colours from weak to strong; the two ramps differ for colour-blind readers as well. */
const POSITIVE: readonly Rgb[] = [
  [207, 224, 238],
  [75, 147, 201],
  [6, 41, 74],
];
const NEGATIVE: readonly Rgb[] = [
  [239, 220, 174],
  [189, 138, 44],
  [85, 51, 0],
];
/** Shades on either side of zero. */
const LEVELS = 32;

function colourOf(level: number): string {
  if (level === 0) return ZERO;
  const ramp = level < 0 ? NEGATIVE : POSITIVE;
  const place = (2 * Math.abs(level)) / LEVELS;
  const at = Math.min(1, Math.floor(place));
  const [low, high] = [ramp[at]!, ramp[at + 1]!];
  const channels = low.map((value, k) => Math.round(value + (place - at) * (high[k]! - value)));
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** Draws the entries of each colour as one path; zeros show the background. */
export function mapText({ title, note, numColumns, shades }: MapPanel): string[] {
  const { width, height, top, bottom } = PANEL;
  const size = height - top - bottom;
  const numRows = shades.length / numColumns;
  const cell = size / Math.max(numRows, numColumns);
  const left = (width - cell * numColumns) / 2;
  const paths = new Map<number, string>();
  for (const [i, shade] of shades.entries()) {
    const level = Math.sign(shade) * Math.ceil(LEVELS * Math.min(1, Math.abs(shade)));
    if (level === 0) continue;
    const [row, column] = [Math.floor(i / numColumns), i % numColumns];
    paths.set(level, `${paths.get(level) ?? ''}M${column} ${row}h1v1h-1z`);
  }
  const levels = [...paths.keys()].sort((a, b) => a - b);
  const middle = ' text-anchor="middle"';
  return [
    text(width / 2, top - 12, title, `${middle} font-weight="bold"`),
    `<g transform="translate(${round(left)} ${top}) scale(${cell})">`,
    `<rect width="${numColumns}" height="${numRows}" fill="${ZERO}"/>`,
    ...levels.map((level) => `<path d="${paths.get(level)}" fill="${colourOf(level)}"/>`),
    '</g>',
    text(width / 2, top + cell * numRows + 16, note, middle),
  ];
}
