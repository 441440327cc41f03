// SPDX-License-Identifier: Apache-2.0

// The error at every step for the user's bars, the square root and an optimum, above the floor.

import { count, fixed } from '../../base/format.ts';
import { lineThrough, Plane, setLines, place } from '../plane.ts';

/** Top of the picture; larger errors are drawn at its edge. */
const topError = 40;
const lineNames = ['square-root', 'optimal', 'own'] as const;
type LineName = (typeof lineNames)[number];
export type FloorCurves = Readonly<Record<LineName, Float64Array | null>>;

export class FloorPicture {
  readonly plane: Plane;
  private floor = 1;
  private curves: FloorCurves = { 'square-root': null, optimal: null, own: null };
  private readonly area: SVGRectElement;
  private readonly edge: SVGLineElement;
  private readonly label: SVGTextElement;
  private readonly lines: Readonly<Record<LineName, SVGPathElement>>;

  constructor(numSteps: number) {
    const quarters = [1, 2, 3, 4].map((part) => (part * numSteps) / 4);
    this.plane = new Plane({
      label: 'Noise on the total after each step, and the floor',
      xName: 'step',
      yName: 'noise (1 = on a single published count)',
      x: { from: 1, to: numSteps, ticks: quarters, text: count },
      y: { from: 1, to: topError, logarithmic: true, ticks: [1, 2, 4, 8, 16, 32], text: String },
      draw: () => this.draw(),
    });
    const { plane } = this;
    this.area = plane.add('rect', { class: 'area of-floor' });
    this.edge = plane.add('line', { class: 'edge of-floor' });
    this.label = plane.add('text', { class: 'floor-label', 'text-anchor': 'end' });
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

  private draw(): void {
    const { plane, floor } = this;
    const y = plane.y(floor);
    const { left: x1, right: x2 } = plane;
    place(this.area, { x: x1, y, width: x2 - x1, height: plane.bottom - y });
    place(this.edge, { x1, x2, y1: y, y2: y });
    place(this.label, { x: x2 - 6, y: y + 16 });
    const words = floor > 1 ? `the floor, ${fixed(floor, 4)}: the worst step cannot be lower` : '';
    setLines(this.label, words, x2 - x1 - 12);
    for (const name of lineNames) {
      const points = Array.from(this.curves[name] ?? [], (error, i) => ({
        x: plane.x(i + 1),
        y: plane.y(Math.min(error, topError)),
      }));
      this.lines[name].setAttribute('d', lineThrough(points));
    }
  }
}
