// SPDX-License-Identifier: Apache-2.0

// Figures of what was released: curves with bands, and the same numbers as tables. They are made of
// releases and of standard deviations alone.

import type { Picture, Series } from '../../plot/picture.js';

/** Numbers of a figure, for those who read them. */
export interface Numbers {
  caption: string;
  header: readonly string[];
  rows: readonly (readonly (string | number)[])[];
}

export interface Figure {
  title: string;
  picture: Omit<Picture, 'title'>;
  numbers: Numbers;
}

/** Standard deviations up and down. */
export const BAND = 2;
export const BAND_TEXT = 'two standard deviations of the noise';

/** Most points of a curve. */
const MOST_POINTS = 1000;

/** Picks the points that are drawn of many: every so many-th, the last one included. */
export class Thinning {
  private readonly every: number;

  constructor(private readonly numPoints: number) {
    this.every = Math.ceil(numPoints / MOST_POINTS);
  }

  /** @param point  0-based. */
  shows(point: number): boolean {
    return (point + 1) % this.every === 0 || point === this.numPoints - 1;
  }

  /** A clause on what is left out, for a caption. */
  get text(): string {
    return this.every === 1 ? '' : `; one of ${this.every} is shown`;
  }
}

/** A curve on the area that its noise fills. */
export function banded(name: string, x: number[], y: number[], stds: readonly number[]): Series[] {
  const edge = (sign: number) => y.map((value, i) => value + sign * BAND * stds[i]!);
  return [
    { name: '', of: name, x, y: edge(-1), to: edge(1) },
    { name, x, y },
  ];
}
