// SPDX-License-Identifier: Apache-2.0

// A public stand-in for handwriting: digits drawn by a seeded program instead of by people, used to
// choose clip and rate of the page's learners. docs/handwriting.md

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Shapes of each digit, given by points of strokes in a square of side 100, y downwards. A
 * semicolon lifts the pen.
 */
const SHAPES = [
  ['50,0 20,10 5,50 20,90 50,100 80,90 95,50 80,10 50,0'],
  ['50,0 50,50 50,100', '30,25 55,0 55,50 55,100'],
  [
    '10,25 30,2 65,2 85,25 70,50 35,75 5,98 50,97 95,95',
    '10,25 35,0 75,10 75,40 45,75 10,95 10,75 40,80 70,97 100,90',
  ],
  [
    '10,12 45,0 80,15 75,40 40,47 75,52 90,75 60,98 10,90',
    '15,3 50,2 85,3 60,25 40,42 80,50 90,78 55,100 10,88',
  ],
  [
    '25,0 15,30 10,55 50,57 95,55; 75,0 72,50 70,100',
    '65,0 35,35 5,65 50,66 100,65; 65,0 66,50 66,100',
  ],
  [
    '85,2 50,2 20,4 17,25 15,45 50,40 85,60 75,90 40,100 10,88',
    '20,2 19,25 18,42 55,40 85,65 65,95 10,95; 20,2 50,2 90,0',
  ],
  [
    '70,0 35,25 12,60 25,95 65,97 85,75 60,55 20,70',
    '45,0 20,35 15,75 45,100 80,85 70,60 35,62 18,80',
  ],
  ['5,5 50,4 90,5 65,45 50,75 42,100', '5,5 50,4 90,5 65,45 45,100; 30,52 50,51 85,50'],
  [
    '75,12 45,0 20,18 45,43 75,65 75,90 45,100 20,85 30,62 60,42 80,20 72,8',
    '50,0 25,12 30,38 50,46 72,35 75,12 50,0; 50,46 20,65 25,92 50,100 78,90 80,65 50,46',
  ],
  [
    '80,20 50,0 20,15 20,40 50,50 80,30 82,20 80,50 70,100',
    '78,12 40,2 15,25 35,50 72,35 80,10 78,50 60,85 25,100',
  ],
].map((shapes) => shapes.map(readShape));

function readShape(text) {
  return text
    .split('; ')
    .map((stroke) =>
      stroke.split(' ').map((point) => point.split(',').map((c) => Number(c) / 100)),
    );
}

/**
 * Standard deviation of a point from its place in the shape. With it, a linear model misreads about
 * one image in ten, as linear models are known to do on MNIST.
 */
const WOBBLE = 0.09;

/** Bundles and imports the page's modules for images and learners. */
export async function pageParts() {
  const names = ['digits', 'image', 'learners', 'strokes'];
  const contents = [
    ...names.map((name) => `export * from './${name}.ts';`),
    "export { generator } from '../../../data/random.ts';",
    // Named, because its DELTA would clash with that of the learners.
    "export { runCrowd } from './crowd-rounds.ts';",
  ];
  const { outputFiles } = await build({
    stdin: {
      contents: contents.join('\n'),
      resolveDir: path.join(root, 'web/src/story/handwriting/numbers'),
    },
    bundle: true,
    format: 'esm',
    external: ['virtual:digits'],
    write: false,
    logLevel: 'error',
  });
  const text = Buffer.from(outputFiles[0].contents).toString('base64');
  return import(`data:text/javascript;base64,${text}`);
}

/** Points of a smooth curve through the given ones, a Catmull-Rom spline. */
function smooth(points, pieces = 4) {
  const at = (i) => points[Math.max(0, Math.min(points.length - 1, i))];
  const curve = [points[0]];
  for (let i = 0; i + 1 < points.length; ++i) {
    const [a, b, c, d] = [at(i - 1), at(i), at(i + 1), at(i + 2)];
    for (let k = 1; k <= pieces; ++k) {
      const t = k / pieces;
      curve.push(
        [0, 1].map(
          (j) =>
            b[j] +
            (t / 2) *
              (c[j] -
                a[j] +
                t *
                  (2 * a[j] - 5 * b[j] + 4 * c[j] - d[j] + t * (3 * (b[j] - c[j]) + d[j] - a[j]))),
        ),
      );
    }
  }
  return curve;
}

/** Draws a digit in a random hand; returns its strokes and the width of the pen. */
export function drawDigit(digit, random) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const shapes = SHAPES[digit];
  const shape = shapes[Math.floor(random() * shapes.length)];
  const [slant, turn, width] = [0.25 * normal(), 0.12 * normal(), 0.75 * Math.exp(0.2 * normal())];
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  const strokes = shape.map((stroke) =>
    smooth(stroke.map(([x, y]) => [x + WOBBLE * normal(), y + WOBBLE * normal()])).map(([x, y]) => {
      const [u, v] = [width * (x - 0.5) - slant * (y - 0.5), y - 0.5];
      return [cos * u - sin * v, sin * u + cos * v];
    }),
  );
  return { strokes, pen: 1.6 + 2 * random() };
}
