// SPDX-License-Identifier: Apache-2.0

// Converts digits drawn by hand, given as strokes, to images in the same way in which MNIST was
// made.

import { FULL_SIDE } from './image.ts';

export type StrokePoint = readonly [x: number, y: number];
/** Positions of a pen from where it was put down to where it was lifted; y grows downwards. */
export type Stroke = readonly StrokePoint[];

/** MNIST scales each digit to fit a square of this side. */
const BOX = 20;
/** Width of the pen in pixels of the full image. */
export const PEN = 2.6;

interface Placement {
  scale: number;
  dx: number;
  dy: number;
}

function place(strokes: readonly Stroke[], { scale, dx, dy }: Placement): Stroke[] {
  return strokes.map((stroke) =>
    stroke.map(([x, y]): StrokePoint => [x * scale + dx, y * scale + dy]),
  );
}

/** Distance of a point from the segment between two others. */
function distance([x, y]: StrokePoint, [ax, ay]: StrokePoint, [bx, by]: StrokePoint): number {
  const [vx, vy] = [bx - ax, by - ay];
  const length = vx * vx + vy * vy;
  const along =
    length === 0 ? 0 : Math.max(0, Math.min(1, ((x - ax) * vx + (y - ay) * vy) / length));
  return Math.hypot(x - ax - along * vx, y - ay - along * vy);
}

/** Ink of each pixel, 0 to 1, for placed strokes; an edge is one pixel wide. */
function ink(strokes: readonly Stroke[], pen: number): Float64Array {
  const image = new Float64Array(FULL_SIDE * FULL_SIDE);
  const reach = pen / 2 + 0.5;
  for (const stroke of strokes) {
    stroke.forEach((end, i) => {
      const start = stroke[Math.max(0, i - 1)]!;
      const from = (a: number, b: number): number =>
        Math.max(0, Math.floor(Math.min(a, b) - reach));
      const to = (a: number, b: number): number =>
        Math.min(FULL_SIDE - 1, Math.ceil(Math.max(a, b) + reach));
      for (let y = from(start[1], end[1]); y <= to(start[1], end[1]); ++y) {
        for (let x = from(start[0], end[0]); x <= to(start[0], end[0]); ++x) {
          const cover = reach - distance([x + 0.5, y + 0.5], start, end);
          const at = y * FULL_SIDE + x;
          image[at] = Math.max(image[at]!, Math.min(1, cover));
        }
      }
    });
  }
  return image;
}

export function centreOfMass(image: ArrayLike<number>): StrokePoint {
  let [sum, sumX, sumY] = [0, 0, 0];
  for (let at = 0; at < image.length; ++at) {
    sum += image[at]!;
    sumX += image[at]! * ((at % FULL_SIDE) + 0.5);
    sumY += image[at]! * (Math.floor(at / FULL_SIDE) + 0.5);
  }
  return [sumX / sum, sumY / sum];
}

/**
 * Converts strokes to an image of 28 x 28 as MNIST prepares them: scaled to fit 20 x 20, with their
 * centre of mass in the middle. The pen has the same width in every image, regardless of the size
 * of the strokes. Returns undefined if nothing was drawn.
 */
export function imageOf(strokes: readonly Stroke[], pen = PEN): Float64Array | undefined {
  const points = strokes.flat();
  if (points.length === 0) return undefined;
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const size = Math.max(Math.max(...xs) - left, Math.max(...ys) - top);
  // A single dot is not scaled.
  const scale = size === 0 ? 1 : (BOX - pen) / size;
  const corner = (FULL_SIDE - size * scale) / 2;
  const first = { scale, dx: corner - left * scale, dy: corner - top * scale };
  const [x, y] = centreOfMass(ink(place(strokes, first), pen));
  const middle = FULL_SIDE / 2;
  return ink(place(strokes, { scale, dx: first.dx + middle - x, dy: first.dy + middle - y }), pen);
}
