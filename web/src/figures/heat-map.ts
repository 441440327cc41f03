// SPDX-License-Identifier: Apache-2.0

// A matrix as a heat map with its scale below it. Entries are read with the pointer, or with the
// keyboard through a slider over the picture that holds the cursor.

import { describeMatrix, shadeOf, type Extent, type Matrix } from '../data/matrix.ts';
import { h, setText } from '../base/dom.ts';
import { quantity } from '../base/format.ts';
import type { MapPanel } from './picture.ts';

type Rgb = readonly [number, number, number];

/** Colours from weak to strong; blue and yellow are distinct for colour-blind users, too. */
interface Palette {
  zero: Rgb;
  positive: readonly [Rgb, Rgb, Rgb];
  negative: readonly [Rgb, Rgb, Rgb];
}

function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): Rgb => {
    const text = style.getPropertyValue(`--map-${name}`).trim();
    const channel = (at: number): number => parseInt(text.slice(at, at + 2), 16);
    return [channel(1), channel(3), channel(5)];
  };
  const ramp = (sign: string): readonly [Rgb, Rgb, Rgb] => [
    read(`${sign}-weak`),
    read(sign),
    read(`${sign}-strong`),
  ];
  return { zero: read('zero'), positive: ramp('positive'), negative: ramp('negative') };
}

function paint(palette: Palette, shade: number, pixels: Uint8ClampedArray, at: number): void {
  const ramp = shade < 0 ? palette.negative : palette.positive;
  const place = 2 * Math.min(1, Math.abs(shade));
  const low = ramp[place < 1 ? 0 : 1];
  const high = ramp[place < 1 ? 1 : 2];
  const share = place < 1 ? place : place - 1;
  for (let k = 0; k < 3; ++k) {
    const value = shade === 0 ? palette.zero[k]! : low[k]! + share * (high[k]! - low[k]!);
    pixels[at + k] = Math.round(value);
  }
  pixels[at + 3] = 255;
}

/** Fills a canvas with one pixel per shade. */
function fill(canvas: HTMLCanvasElement, palette: Palette, shade: (at: number) => number): void {
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(canvas.width, canvas.height);
  for (let at = 0; at < canvas.width * canvas.height; ++at) {
    paint(palette, shade(at), image.data, 4 * at);
  }
  context.putImageData(image, 0, 0);
}

const scaleWidth = 201;
let lastId = 0;

/** Placeholder with the size of a heat map. */
export function blankMap(): HTMLElement {
  return h(
    'div',
    { 'aria-hidden': 'true' },
    h('p', { class: 'map-title' }, '\u00a0'),
    h('div', { class: 'map-plot' }),
    h('div', { class: 'map-scale' }, h('canvas', { width: 1, height: 1 }), h('div', {}, '\u00a0')),
    h('p', { class: 'map-at' }),
  );
}

export class HeatMap {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly scale = h('canvas', { width: scaleWidth, height: 1, 'aria-hidden': 'true' });
  private readonly plot: HTMLElement;
  private readonly mark = h('span', { class: 'map-mark', hidden: true });
  private readonly lit = h('span', { class: 'map-lit', hidden: true });
  private readonly at = h('p', { class: 'map-at' });
  private readonly summary: string;
  private cursor: [row: number, column: number] | null = null;

  /** `extent` covers all matrices that share the scale. */
  constructor(
    private readonly matrix: Matrix,
    private readonly extent: Extent,
    of: string,
  ) {
    const { symbol, name, numRows, numColumns } = matrix;
    const id = `map-${++lastId}`;
    this.summary = describeMatrix(matrix);
    this.canvas = h('canvas', { width: numColumns, height: numRows, 'aria-hidden': 'true' });
    this.plot = h(
      'div',
      {
        class: 'map-plot',
        tabindex: 0,
        role: 'slider',
        'aria-label': `${name}, ${of}: cursor over the entries`,
        'aria-roledescription': 'matrix cursor',
        'aria-describedby': id,
        'aria-valuemin': 1,
        'aria-valuemax': numRows * numColumns,
        onkeydown: (event: Event) => this.key(event as KeyboardEvent),
        onpointermove: (event: Event) => this.point(event as PointerEvent),
        onpointerdown: (event: Event) => this.point(event as PointerEvent),
        onpointerleave: () => this.move(null),
        onblur: () => this.move(null),
      },
      this.canvas,
      this.lit,
      this.mark,
    );
    this.at.id = id;
    this.element = h(
      'div',
      { class: 'map' },
      h('p', { class: 'map-title' }, h('b', {}, symbol), ` ${name}`),
      this.plot,
      h('div', { class: 'map-scale' }, this.scale, this.ticks()),
      this.at,
    );
    this.restyle();
    this.move(null);
  }

  get numRows(): number {
    return this.matrix.numRows;
  }

  /** Highlights a row (from 1), or none. */
  light(row: number | null): void {
    const { numRows } = this;
    this.lit.hidden = row === null || row > numRows;
    this.lit.style.top = `${(100 * ((row ?? 1) - 1)) / numRows}%`;
    this.lit.style.height = `${100 / numRows}%`;
  }

  /** Draws the map; called again when the theme changes. */
  restyle(): void {
    const palette = readPalette();
    const { values } = this.matrix;
    const { size, least } = this.extent;
    fill(this.canvas, palette, (at) => shadeOf(values[at]!, size));
    const signed = least < 0;
    fill(this.scale, palette, (at) => {
      const place = at / (scaleWidth - 1);
      return signed ? 2 * place - 1 : place;
    });
  }

  /**
   * Ticks of the scale; a quarter of the maximum is halfway between 0 and the maximum, because the
   * scale shows square roots.
   */
  private ticks(): HTMLElement {
    const { size, least } = this.extent;
    const shares = least < 0 ? [-1, -0.25, 0, 0.25, 1] : [0, 0.25, 1];
    return h('div', {}, ...shares.map((share) => h('span', {}, quantity(share * size, 3))));
  }

  private move(cursor: [row: number, column: number] | null): void {
    this.cursor = cursor;
    const { numRows, numColumns, values } = this.matrix;
    const [row, column] = cursor ?? [0, 0];
    const value = values[row * numColumns + column] ?? NaN;
    const text = `row ${row + 1}, column ${column + 1}: `;
    this.plot.setAttribute('aria-valuenow', String(row * numColumns + column + 1));
    this.plot.setAttribute('aria-valuetext', text + quantity(value, 6));
    this.mark.hidden = cursor === null;
    if (cursor === null) {
      const said = this.matrix.caption?.(this.matrix);
      if (said === undefined) setText(this.at, this.summary);
      else {
        const more = h('span', { class: 'visually-hidden' }, ` ${this.summary}`);
        this.at.replaceChildren(said, more);
      }
      return;
    }
    this.at.replaceChildren(text, h('data', { value }, quantity(value, 6)));
    this.mark.style.left = `${(100 * column) / numColumns}%`;
    this.mark.style.top = `${(100 * row) / numRows}%`;
    this.mark.style.width = `${100 / numColumns}%`;
    this.mark.style.height = `${100 / numRows}%`;
  }

  private point(event: PointerEvent): void {
    const { numRows, numColumns } = this.matrix;
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const place = (share: number, size: number): number =>
      Math.max(0, Math.min(size - 1, Math.floor(share * size)));
    this.move([
      place((event.clientY - top) / height, numRows),
      place((event.clientX - left) / width, numColumns),
    ]);
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { numRows, numColumns } = this.matrix;
    const [row, column] = this.cursor ?? [0, 0];
    const leap = event.shiftKey ? 8 : 1;
    const targets: Record<string, [number, number] | null> = {
      ArrowLeft: [row, column - leap],
      ArrowRight: [row, column + leap],
      ArrowUp: [row - leap, column],
      ArrowDown: [row + leap, column],
      PageUp: [row - 8, column],
      PageDown: [row + 8, column],
      Home: [row, 0],
      End: [row, numColumns - 1],
      Escape: null,
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    const target = targets[event.key] ?? null;
    const within = (at: number, size: number): number => Math.max(0, Math.min(size - 1, at));
    this.move(target && [within(target[0], numRows), within(target[1], numColumns)]);
  }
}

/** Matrix as a picture for download. */
export function matrixPanel(
  { symbol, name, numColumns, values }: Matrix,
  { size, least }: Extent,
  of: string,
): MapPanel {
  return {
    title: `${symbol} of ${of}, the ${name}`,
    note: `${quantity(least < 0 ? -size : 0)} to ${quantity(size)}, shades of square roots`,
    numColumns,
    shades: Array.from(values, (value) => shadeOf(value, size)),
  };
}
