// SPDX-License-Identifier: Apache-2.0

// Generates the module `virtual:digits` during the build: handwritten digits small enough to send.
// See docs/handwriting.md.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { deflateRawSync } from 'node:zlib';
import type { Plugin } from 'vite';
import { FULL_SIDE, reduce } from './src/story/handwriting/numbers/image.ts';
import { pack } from './src/story/handwriting/numbers/packing.ts';
import { generator, shuffle } from './src/data/random.ts';

/** Numbers of training and held-out images of each digit. */
export const NUM_TRAINING = 700;
export const NUM_HELD_OUT = 150;
const SEED = 18;

export interface Digit {
  image: Uint8Array;
  label: number;
}

/** Returns the same number of images of each digit, in a random order that is always the same. */
export function split(byDigit: readonly (readonly Uint8Array[])[]): {
  training: Digit[];
  heldOut: Digit[];
} {
  const random = generator(SEED);
  const training: Digit[] = [];
  const heldOut: Digit[] = [];
  byDigit.forEach((images, label) => {
    if (images.length < NUM_TRAINING + NUM_HELD_OUT) {
      throw new RangeError(`digits: too few images of ${label}, got ${images.length}`);
    }
    const digits = shuffle([...images], random).map((image) => ({ image, label }));
    training.push(...digits.slice(0, NUM_TRAINING));
    heldOut.push(...digits.slice(NUM_TRAINING, NUM_TRAINING + NUM_HELD_OUT));
  });
  return { training: shuffle(training, random), heldOut: shuffle(heldOut, random) };
}

/** Returns the images of one digit in the package `mnist`, reduced. */
function imagesOf(digit: number): Uint8Array[] {
  const file = createRequire(import.meta.url).resolve(`mnist/src/digits/${digit}.json`);
  const { data } = JSON.parse(readFileSync(file, 'utf8')) as { data: number[] };
  const size = FULL_SIDE * FULL_SIDE;
  if (data.length % size !== 0) throw new RangeError(`digits: ${file} has half an image`);
  return Array.from({ length: data.length / size }, (_, i) =>
    reduce(data.slice(i * size, (i + 1) * size)),
  );
}

/** Returns the source of the module: labels as digits, images deflated and in base64. */
function moduleSource(): string {
  const { training, heldOut } = split(Array.from({ length: 10 }, (_, digit) => imagesOf(digit)));
  const all = [...training, ...heldOut];
  const packed = deflateRawSync(pack(all.map(({ image }) => image)), { level: 9 });
  return [
    `export const numTraining = ${training.length};`,
    `export const labels = '${all.map(({ label }) => label).join('')}';`,
    `export const images = '${packed.toString('base64')}';`,
  ].join('\n');
}

export function digits(): Plugin {
  const name = 'virtual:digits';
  return {
    name: 'digits',
    resolveId: (source) => (source === name ? `\0${name}` : undefined),
    load: (id) => (id === `\0${name}` ? moduleSource() : undefined),
  };
}
