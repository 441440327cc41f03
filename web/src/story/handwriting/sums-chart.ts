// SPDX-License-Identifier: Apache-2.0

// The training as a running total: the sum of the gradients with respect to one weight after each
// step, as published and without noise.

import { count, quantity } from '../../base/format.ts';
import { colourOf } from '../../figures/lane-colours.ts';
import type { PicturePanel } from '../../figures/picture.ts';
import { areaBetween, evenTicks, lineThrough, Plane, type Point, type Scale } from '../plane.ts';
import { NAMES } from './models.ts';
import type { PrivateNoise, WeightSums } from './numbers/learners.ts';

/** Half width of the band, in standard deviations. */
const deviations = 2;

export class SumsChart {
  readonly plane: Plane;
  private readonly band: SVGPathElement;
  private readonly truth: SVGPathElement;
  private readonly published: SVGPathElement;
  private sums: ReadonlyMap<PrivateNoise, WeightSums> = new Map();
  private noise: PrivateNoise = 'optimal';

  constructor(private readonly numImages: number) {
    this.plane = new Plane({
      label: 'Sum of the gradients of one weight, published and true',
      xName: 'images learned from',
      yName: 'sum of the gradients of one weight',
      x: { from: 0, to: numImages, ticks: [0, 2000, 4000, 6000], text: count },
      y: this.scale(),
      draw: () => this.draw(),
    });
    this.band = this.plane.add('path', { class: 'band' });
    this.truth = this.plane.add('path', { class: 'line truth' });
    this.published = this.plane.add('path', { class: 'line published' });
  }

  /** Shows the sums with one kind of noise, on a scale that fits all kinds. */
  show(sums: ReadonlyMap<PrivateNoise, WeightSums>, noise = this.noise): void {
    this.sums = sums;
    this.noise = noise;
    this.plane.element.dataset['noise'] = noise;
    this.plane.rescale({ y: this.scale() });
  }

  panel(): PicturePanel {
    const { published, truth, stddev } = this.shown;
    const x = published.map((_, i) => this.numReadAt(i));
    const name = `published, with ${NAMES[this.noise]}`;
    const edge = (sign: number): number[] =>
      truth.map((value, i) => value + sign * deviations * stddev[i]!);
    return {
      title: 'The same training as a running total: the gradients of one weight',
      x: { label: 'images learned from', log: false },
      y: { label: 'sum of gradients', log: false },
      series: [
        { name, x, y: published, colour: colourOf(this.noise) },
        { name: 'true', x, y: truth, colour: 'secret' },
        { name: 'band', of: name, x, y: edge(1), to: edge(-1) },
      ],
    };
  }

  private get shown(): WeightSums {
    return this.sums.get(this.noise) ?? { published: [], truth: [], stddev: new Float64Array() };
  }

  private numReadAt(step: number): number {
    return ((step + 1) * this.numImages) / this.shown.stddev.length;
  }

  /** Scale of the axis, which fits the sums with all kinds of noise and their bands. */
  private scale(): Scale {
    const reached = [...this.sums.values()].flatMap(({ published, truth, stddev }) => [
      ...published,
      ...truth.flatMap((value, i) => [-1, 1].map((sign) => value + sign * deviations * stddev[i]!)),
    ]);
    const [low, high] = [Math.min(-1, ...reached), Math.max(1, ...reached)];
    // Space below the name of the axis.
    const [from, to] = [low, high + 0.06 * (high - low)];
    const up = evenTicks(Math.max(-from, to), 4);
    const ticks = [...up.slice(1).map((value) => -value), ...up];
    return { from, to, ticks: ticks.filter((tick) => tick >= from && tick <= to), text: quantity };
  }

  private draw(): void {
    const { plane } = this;
    const { published, truth, stddev } = this.shown;
    const points = (values: readonly number[]): Point[] =>
      values.map((value, i) => ({ x: plane.x(this.numReadAt(i)), y: plane.y(value) }));
    const edge = (sign: number): Point[] =>
      points(truth.map((value, i) => value + sign * deviations * stddev[i]!));
    this.band.setAttribute('d', areaBetween(edge(1), edge(-1)));
    this.truth.setAttribute('d', lineThrough(points(truth)));
    this.published.setAttribute('d', lineThrough(points(published)));
  }
}
