// SPDX-License-Identifier: Apache-2.0

// Small pictures of 14 x 14 pixels, in the colours of the style sheet.

import './picture.css';
import type { MapPanel } from '../../figures/picture.ts';
import { svg } from '../../base/dom.ts';
import { quantity } from '../../base/format.ts';
import { NUM_PIXELS, SIDE } from './numbers/image.ts';
import { NUM_CLASSES } from './numbers/softmax.ts';

/** Number of shades of each sign. */
const NUM_SHADES = 15;

function squares(places: readonly number[]): string {
  return places.map((at) => `M${at % SIDE} ${Math.floor(at / SIDE)}h1v1h-1z`).join('');
}

/** Largest absolute value. */
export function largestIn(values: Float64Array): number {
  return values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
}

/**
 * Picture of the ten digits in two rows, on a common scale, by default that of their largest value.
 */
export function digitsPanel(
  title: string,
  values: Float64Array,
  full = largestIn(values) || 1,
): MapPanel {
  const perRow = NUM_CLASSES / 2;
  const shades = Array.from({ length: NUM_CLASSES * NUM_PIXELS }, (_, at) => {
    const [row, column] = [Math.floor(at / (perRow * SIDE)), at % (perRow * SIDE)];
    const digit = perRow * Math.floor(row / SIDE) + Math.floor(column / SIDE);
    return values[digit * NUM_PIXELS + (row % SIDE) * SIDE + (column % SIDE)]! / full;
  });
  const note = `0 to 9; the strongest shade is ± ${quantity(full)}`;
  return { title, note, numColumns: perRow * SIDE, shades };
}

export class DigitPicture {
  readonly element: SVGSVGElement;
  private marks: SVGElement[] = [];

  constructor(label: string | null) {
    const role = label === null ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': label };
    this.element = svg('svg', {
      class: 'pixels',
      viewBox: `0 0 ${SIDE} ${SIDE}`,
      'shape-rendering': 'crispEdges',
      ...role,
    });
  }

  /** Marks a pixel, beginning with the next drawing. */
  mark(at: number): void {
    const [x, y] = [at % SIDE, Math.floor(at / SIDE)];
    this.marks = [svg('rect', { class: 'mark', x, y, width: 1, height: 1 })];
  }

  /**
   * Shows values between -`full` and `full`; zero is the colour of paper, `full` the strongest
   * shade.
   */
  show(values: ArrayLike<number>, full: number): void {
    const shades = new Map<number, number[]>();
    for (let at = 0; at < SIDE * SIDE; ++at) {
      const shade = Math.round(Math.max(-1, Math.min(1, values[at]! / full)) * NUM_SHADES);
      if (shade === 0) continue;
      const places = shades.get(shade) ?? [];
      places.push(at);
      shades.set(shade, places);
    }
    const paths = [...shades].map(([shade, places]) =>
      svg('path', {
        class: shade > 0 ? 'plus' : 'minus',
        'fill-opacity': (Math.abs(shade) / NUM_SHADES).toFixed(3),
        d: squares(places),
      }),
    );
    this.element.replaceChildren(...paths, ...this.marks);
  }
}
