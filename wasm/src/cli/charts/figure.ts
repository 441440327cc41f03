// SPDX-License-Identifier: Apache-2.0

// Figures of releases: curves with bands, and the same numbers as tables. The figures depend only
// on released numbers and standard deviations.

import type { Panel, Picture, Series } from '../../plot/picture.js';
import { COLOURS, finite } from '../../plot/plot.js';
import { shortName } from '../base/short-name.js';

/** Numbers of a figure, as a table. */
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

/** Half width of a band, in standard deviations. */
export const BAND = 2;
export const BAND_TEXT = 'two standard deviations of the noise';

/** Maximum number of points per curve. */
const MOST_POINTS = 1000;

/** Note below a picture in which only every n-th point is drawn. */
export function drawnOf(every: number, units: string): string[] {
  return every === 1 ? [] : [`Drawn are one of ${every} ${units}, and the last.`];
}

/**
 * Thins the points to be drawn: keeps all of them, or every second, fourth, ..., and always the
 * latest.
 */
export class Thinning<Point> {
  private every = 1;
  private numSeen = 0;
  private kept: Point[] = [];
  private latest: Point | undefined;

  take(point: Point): void {
    this.numSeen += 1;
    this.latest = this.numSeen % this.every === 0 ? undefined : point;
    if (this.latest !== undefined) return;
    this.kept.push(point);
    if (this.kept.length <= MOST_POINTS) return;
    this.every *= 2;
    this.latest = this.kept.at(-1);
    this.kept = this.kept.filter((_, i) => i % 2 === 1);
  }

  get points(): readonly Point[] {
    return this.latest === undefined ? this.kept : [...this.kept, this.latest];
  }

  /** Clause for a caption that says which fraction of the points is shown. */
  get text(): string {
    return this.every === 1 ? '' : `; one of ${this.every} is shown`;
  }

  /** Notes below a picture; `units` is the plural noun for its points. */
  notes(units: string): string[] {
    return drawnOf(this.every, units);
  }
}

/** A curve with the band of its noise. */
export function banded(name: string, x: number[], y: number[], stds: readonly number[]): Series[] {
  const edge = (sign: number) => y.map((value, i) => finite(value + sign * BAND * stds[i]!));
  return [
    { name: '', of: name, x, y: edge(-1), to: edge(1) },
    { name, x, y },
  ];
}

/** Largest number of panels per row. */
export const PER_ROW = 2;

/** Largest number of curves that get one panel each; with more, the panels would be too small. */
const MOST_APART = 12;

/**
 * Splits a panel into one per curve if there are few, because bands of several curves hide each
 * other.
 *
 * @param sharesScale  whether all panels have the same scale, for curves of one kind.
 */
export function apart(panel: Panel, { sharesScale }: { sharesScale: boolean }): Panel[] {
  const names = panel.series.map(({ name }) => name).filter((name) => name !== '');
  if (names.length < 2 || names.length > MOST_APART) return [panel];
  const all = panel.series.flatMap(({ y, to = [] }) => [...y, ...to]);
  const ends = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  return names.map((name, i) => ({
    ...panel,
    title: `${shortName(name)}: ${panel.title}`,
    ...(sharesScale && { y: { ...panel.y, shows: ends } }),
    series: panel.series
      .filter((each) => each.name === name || each.of === name)
      .map((each) => ({ ...each, colour: COLOURS[i % COLOURS.length]! })),
  }));
}
