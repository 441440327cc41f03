// SPDX-License-Identifier: Apache-2.0

// A small plane with two axes, on which a scene draws elements that are styled by class. A scene
// creates its elements once and sets their geometry in `draw`, so that a handle keeps its focus.
// Style sheets size the plane, so that its space is reserved before it exists.

import { setText, svg } from '../base/dom.ts';

export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly logarithmic?: boolean;
  readonly ticks: readonly number[];
  text(value: number): string;
}

export interface PlaneOptions {
  /** Accessible name of the picture. */
  readonly label: string;
  /** Name of the horizontal axis. */
  readonly xName: string;
  /** Name of the vertical axis, shown above it. */
  readonly yName: string;
  readonly x: Scale;
  readonly y: Scale;
  /** Leaves space for a handle on the horizontal axis, which moves the texts of the axis down. */
  readonly gripped?: boolean;
  /** Sets the geometry of the scene's elements. */
  draw(plane: Plane): void;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Margins for the texts of the axes, in pixels. */
const margin = { left: 48, right: 14, top: 26, bottom: 40 };
/** Height of a handle on the horizontal axis, above the tick texts. */
const gripRoom = 8;
/** Left margin if the vertical axis has no ticks. */
const bare = 14;
/** Distance between lines of text. */
const lineHeight = 16;
/**
 * Minimum distance between two ticks of the vertical axis; a tick closer to an earlier one is left
 * out.
 */
const leastBetween = 12;

function fraction(scale: Scale, value: number): number {
  const { from, to, logarithmic } = scale;
  if (logarithmic) return Math.log(value / from) / Math.log(to / from);
  return (value - from) / (to - from);
}

function valueOf(scale: Scale, part: number): number {
  const { from, to, logarithmic } = scale;
  return logarithmic ? from * (to / from) ** part : from + part * (to - from);
}

/** A plane calls `draw` once it is in the document, and when its size changes. */
export class Plane {
  readonly element = svg('svg', { class: 'plane', role: 'group' });
  width = 640;
  height = 320;
  private readonly axes = svg('g', { class: 'axes', 'aria-hidden': 'true' });
  private readonly yName = svg('text', { x: 0, y: 12 });
  private numNameLines = 1;
  private scales: { x: Scale; y: Scale };
  private readonly watch: ResizeObserver;

  constructor(private readonly options: PlaneOptions) {
    this.scales = { x: options.x, y: options.y };
    this.element.setAttribute('aria-label', options.label);
    this.axes.append(this.yName);
    this.element.append(this.axes);
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(this.element);
  }

  /** Adds an element in front of the existing ones. */
  add<K extends keyof SVGElementTagNameMap>(
    tag: K,
    attributes: Record<string, string | number> = {},
  ): SVGElementTagNameMap[K] {
    const element = svg(tag, attributes);
    this.element.append(element);
    return element;
  }

  get left(): number {
    return this.scales.y.ticks.length > 0 ? margin.left : bare;
  }
  get right(): number {
    return this.width - margin.right;
  }
  get top(): number {
    return margin.top + (this.numNameLines - 1) * lineHeight;
  }
  get bottom(): number {
    return this.height - margin.bottom - this.below;
  }

  private get below(): number {
    return this.options.gripped ? gripRoom : 0;
  }

  x(value: number): number {
    return this.left + fraction(this.scales.x, value) * (this.right - this.left);
  }

  y(value: number): number {
    return this.bottom - fraction(this.scales.y, value) * (this.bottom - this.top);
  }

  /** The values of both axes under a point of the window. */
  at({ clientX, clientY }: { clientX: number; clientY: number }): Point {
    const box = this.element.getBoundingClientRect();
    const px = ((clientX - box.left) / box.width) * this.width;
    const py = ((clientY - box.top) / box.height) * this.height;
    return {
      x: valueOf(this.scales.x, (px - this.left) / (this.right - this.left)),
      y: valueOf(this.scales.y, (this.bottom - py) / (this.bottom - this.top)),
    };
  }

  /** Changes the scales and redraws. */
  rescale(scales: { x?: Scale; y?: Scale }): void {
    this.scales = { ...this.scales, ...scales };
    this.redraw();
  }

  redraw(): void {
    this.drawAxes();
    this.options.draw(this);
  }

  dispose(): void {
    this.watch.disconnect();
  }

  private fit(): void {
    const { clientWidth, clientHeight } = this.element;
    // A picture without room for its margins keeps its width.
    if (clientWidth > margin.left + margin.right) this.width = clientWidth;
    if (clientHeight > 0) this.height = clientHeight;
    // A view box makes the picture fit printed paper, too.
    this.element.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
    this.numNameLines = setLines(this.yName, this.options.yName, this.width);
    this.redraw();
  }

  private drawAxes(): void {
    const { x, y } = this.scales;
    const text = (at: Point, content: string, anchor: string): SVGTextElement => {
      const element = svg('text', { x: at.x, y: at.y, 'text-anchor': anchor });
      element.textContent = content;
      return element;
    };
    const parts: SVGElement[] = [];
    const drawn: number[] = [];
    for (const tick of y.ticks) {
      const at = Math.round(this.y(tick)) + 0.5;
      if (drawn.some((other) => Math.abs(at - other) < leastBetween)) continue;
      drawn.push(at);
      parts.push(
        svg('line', { class: 'grid', x1: this.left, x2: this.right, y1: at, y2: at }),
        text({ x: this.left - 8, y: at + 4 }, y.text(tick), 'end'),
      );
    }
    const base = Math.round(this.bottom) + 0.5;
    parts.push(svg('line', { class: 'base', x1: this.left, x2: this.right, y1: base, y2: base }));
    for (const tick of x.ticks) {
      const at = this.x(tick);
      const anchor = at > this.right - 20 ? 'end' : at < this.left + 12 ? 'start' : 'middle';
      parts.push(text({ x: at, y: base + 16 + this.below }, x.text(tick), anchor));
    }
    parts.push(text({ x: this.right, y: base + 34 + this.below }, this.options.xName, 'end'));
    this.axes.replaceChildren(...parts, this.yName);
  }
}

/**
 * Breaks the text of an element in the document into lines of at most `room` pixels; returns their
 * number.
 */
export function setLines(element: SVGTextElement, content: string, room: number): number {
  const asked = `${room} ${content}`;
  if (element.dataset['asked'] === asked) return element.childElementCount; // Measuring is slow.
  if (element.isConnected) element.dataset['asked'] = asked;
  const lines: string[] = [];
  let line = '';
  for (const word of content.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    element.textContent = longer;
    if (line !== '' && element.getComputedTextLength() > room) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  const x = element.getAttribute('x')!;
  const spans = [...lines, line].map((text, i) => {
    const span = svg('tspan', { x, dy: i === 0 ? 0 : lineHeight });
    span.textContent = text;
    return span;
  });
  element.replaceChildren(...spans);
  return spans.length;
}

/**
 * Sets the first of the texts that fits into `room` pixels or, if none fits, the last and shortest.
 */
export function setFitting(element: SVGTextElement, room: number, ...texts: string[]): void {
  for (const text of texts) {
    setText(element, text);
    if (element.getComputedTextLength() <= room) return;
  }
}

export function lineThrough(points: readonly Point[]): string {
  return points
    .map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`)
    .join('');
}

export function areaBetween(upper: readonly Point[], lower: readonly Point[]): string {
  if (upper.length === 0) return '';
  return `${lineThrough([...upper, ...[...lower].reverse()])}Z`;
}

/** About `count` round numbers from 0 to at most `to`. */
export function evenTicks(to: number, count = 5): number[] {
  const rough = to / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(to / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** Creates a knob with a margin for touch; `transform` moves its centre. */
export function makeGrip(plane: Plane): SVGGElement {
  const grip = plane.add('g', { class: 'grip' });
  grip.append(svg('circle', { class: 'reach', r: 14 }), svg('circle', { class: 'knob', r: 6 }));
  return grip;
}

export function place(element: SVGElement, geometry: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(geometry)) element.setAttribute(name, String(value));
}
