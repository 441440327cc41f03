// SPDX-License-Identifier: Apache-2.0

// The error at every step for the user's bars, the square root and an optimum, in per cent above
// the floor. The axis is logarithmic in the distance from a point slightly below the floor, so that
// the last few per cent have room and fresh noise is still in the picture.

import { count, fixed, roundPercent } from '../../base/format.ts';
import { setText } from '../../base/dom.ts';
import { lineThrough, Plane, place, setFitting, type Point } from '../plane.ts';

/**
 * Range of the errors, as excess over the floor relative to the floor; errors outside the range are
 * drawn at its edges.
 */
const range = { from: -0.025, to: 12 } as const;
/** Distance of the floor from the zero of the logarithmic axis, relative to the floor. */
const lift = 0.04;
/**
 * An optimum whose largest error is below this multiple of the floor is labelled as reaching it.
 */
const touching = 1.001;
/** Ticks, relative to the floor; the first ones are kept where there is no room for all. */
const marks = [0, 0.1, 0.5, 2, 5, 0.25, 1, 0.05, 0.02] as const;
const lineNames = ['square-root', 'optimal', 'own'] as const;
type LineName = (typeof lineNames)[number];
export type FloorCurves = Readonly<Record<LineName, Float64Array | null>>;

/** An error for comparison. */
export interface Checkpoint {
  readonly kind: string;
  readonly name: string;
  /** Further words, shown after the name if there is room. */
  readonly why: string;
  error: number;
}

export class FloorPicture {
  readonly plane: Plane;
  /** The lower bound; null until it is computed, and nothing is drawn until then. */
  private floor: number | null = null;
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
    const dotted = toBeat.map(({ kind }) => plane.add('line', { class: `checkpoint of-${kind}` }));
    const line = (name: LineName): SVGPathElement =>
      plane.add('path', { class: `line of-${name}` });
    this.lines = {
      'square-root': line('square-root'),
      optimal: line('optimal'),
      own: line('own'),
    };
    this.checkpoints = toBeat.map(({ kind }, i) => ({
      line: dotted[i]!,
      word: plane.add('text', { class: `checkpoint-word of-${kind}` }),
    }));
  }

  show(curves: FloorCurves, floor: number): void {
    this.curves = curves;
    this.floor = floor;
    this.draw();
  }

  private draw(): void {
    const { plane, floor } = this;
    if (floor === null) return;
    const heightOf = (error: number): number => {
      const share = Math.min(range.to, Math.max(range.from, error / floor - 1));
      return plane.y(share + lift);
    };
    const y = heightOf(floor);
    const { left: x1, right: x2 } = plane;
    place(this.area, { x: x1, y, width: x2 - x1, height: plane.bottom - y });
    place(this.edge, { x1, x2, y1: y, y2: y });
    place(this.label, { x: x2 - 6, y: y + 16 });
    const name = `the floor, ${fixed(floor, 4)}`;
    const reached = Math.max(...(this.curves.optimal ?? [Infinity])) < touching * floor;
    const why = reached
      ? 'the blue line lies on it'
      : 'the noisiest count cannot be less noisy than this';
    setFitting(this.label, x2 - x1 - 12, `${name}: ${why}`, reached ? `${name}: reached` : name);
    const curves = lineNames.map((name) =>
      Array.from(this.curves[name] ?? [], (error, i) => ({
        x: plane.x(i + 1),
        y: heightOf(error),
      })),
    );
    for (const [i, name] of lineNames.entries())
      this.lines[name].setAttribute('d', lineThrough(curves[i]!));
    for (const [i, { line, word }] of this.checkpoints.entries()) {
      const { error, name, why } = this.toBeat[i]!;
      const at = heightOf(error);
      place(line, { x1, x2, y1: at, y2: at });
      const room = { from: x1 + 6, to: x2 - 6 };
      for (const text of [`${name}${why}`, name]) {
        setText(word, text);
        const width = word.getComputedTextLength();
        const free = freePlace(at, width, room, curves);
        place(word, { ...(free ?? { x: room.from, y: at - 5 }) });
        if (free !== undefined) break;
      }
    }
  }
}

/** Space that a text with its halo takes above its baseline, below it and beside it. */
const ascent = 14;
const descent = 6;
const beside = 4;

/**
 * A place beside the level `y` for a text of the given width that no curve crosses; undefined if
 * there is none.
 */
function freePlace(
  y: number,
  width: number,
  { from, to }: { from: number; to: number },
  curves: readonly (readonly Point[])[],
): Point | undefined {
  if (width > to - from) return undefined;
  const isFree = ({ x, y: base }: Point): boolean =>
    curves.every((points) =>
      points.every(
        (point) =>
          point.x < x - beside ||
          point.x > x + width + beside ||
          point.y < base - ascent ||
          point.y > base + descent,
      ),
    );
  const places = [y - 5, y + 14].flatMap((base) =>
    [0, 0.25, 0.5, 0.75, 1].map((share) => ({ x: from + share * (to - from - width), y: base })),
  );
  return places.find(isFree);
}
