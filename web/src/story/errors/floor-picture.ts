// SPDX-License-Identifier: Apache-2.0

// The error at every step for the user's bars, the square root and an optimum, in per cent above the
// floor. The axis is logarithmic in the distance from a little below the floor, so that the last per
// cents have room and fresh noise is still in the picture.

import { count, fixed, roundPercent } from '../../base/format.ts';
import { lineThrough, Plane, place, setFitting } from '../plane.ts';

/** Shares of the floor at which the picture ends; what lies beyond is drawn at its edge. */
const range = { from: -0.025, to: 12 } as const;
/** Distance of the floor from the zero of the logarithmic axis, as a share of the floor. */
const lift = 0.04;
const marks = [0, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5] as const;
const lineNames = ['square-root', 'optimal', 'own'] as const;
type LineName = (typeof lineNames)[number];
export type FloorCurves = Readonly<Record<LineName, Float64Array | null>>;

/** An error to beat. */
export interface Checkpoint {
  readonly kind: string;
  readonly name: string;
  /** Further words, after the name where there is room. */
  readonly why: string;
  error: number;
}

export class FloorPicture {
  readonly plane: Plane;
  private floor = 1;
  private curves: FloorCurves = { 'square-root': null, optimal: null, own: null };
  private readonly area: SVGRectElement;
  private readonly edge: SVGLineElement;
  private readonly label: SVGTextElement;
  private readonly checkpoints: { line: SVGLineElement; word: SVGTextElement }[];
  private readonly lines: Readonly<Record<LineName, SVGPathElement>>;

  constructor(
    numSteps: number,
    private readonly toBeat: readonly Checkpoint[],
  ) {
    const quarters = [1, 2, 3, 4].map((part) => (part * numSteps) / 4);
    this.plane = new Plane({
      label: 'Noise on the total after each step, and the floor',
      xName: 'step',
      yName: 'noise above the floor',
      x: { from: 1, to: numSteps, ticks: quarters, text: count },
      y: {
        from: range.from + lift,
        to: range.to + lift,
        logarithmic: true,
        ticks: marks.map((share) => share + lift),
        text: (value) => roundPercent(value - lift),
      },
      draw: () => this.draw(),
    });
    const { plane } = this;
    this.area = plane.add('rect', { class: 'area of-floor' });
    this.edge = plane.add('line', { class: 'edge of-floor' });
    this.label = plane.add('text', { class: 'floor-label', 'text-anchor': 'end' });
    this.checkpoints = toBeat.map(({ kind }) => ({
      line: plane.add('line', { class: `checkpoint of-${kind}` }),
      word: plane.add('text', { class: `checkpoint-word of-${kind}` }),
    }));
    const line = (name: LineName): SVGPathElement =>
      plane.add('path', { class: `line of-${name}` });
    this.lines = {
      'square-root': line('square-root'),
      optimal: line('optimal'),
      own: line('own'),
    };
  }

  show(curves: FloorCurves, floor: number): void {
    this.curves = curves;
    this.floor = floor;
    this.draw();
  }

  /** Height of an error in the picture. */
  private y(error: number): number {
    const share = Math.min(range.to, Math.max(range.from, error / this.floor - 1));
    return this.plane.y(share + lift);
  }

  private draw(): void {
    const { plane, floor } = this;
    const y = this.y(floor);
    const { left: x1, right: x2 } = plane;
    place(this.area, { x: x1, y, width: x2 - x1, height: plane.bottom - y });
    place(this.edge, { x1, x2, y1: y, y2: y });
    place(this.label, { x: x2 - 6, y: y + 16 });
    const name = `the floor, ${fixed(floor, 4)}`;
    setFitting(this.label, x2 - x1 - 12, `${name}: the noisiest count cannot be below`, name);
    for (const [i, { line, word }] of this.checkpoints.entries()) {
      const { error, name, why } = this.toBeat[i]!;
      const at = this.y(error);
      place(line, { x1, x2, y1: at, y2: at });
      place(word, { x: x1 + 6, y: at - 5 });
      setFitting(word, x2 - x1 - 12, `${name}${why}`, name);
    }
    for (const name of lineNames) {
      const points = Array.from(this.curves[name] ?? [], (error, i) => ({
        x: plane.x(i + 1),
        y: this.y(error),
      }));
      this.lines[name].setAttribute('d', lineThrough(points));
    }
  }
}
