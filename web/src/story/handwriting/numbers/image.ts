// SPDX-License-Identifier: Apache-2.0

// Images of digits: as prepared by MNIST, as reduced for this page, and as features for a learner.

/** Side of an MNIST image in pixels. */
export const FULL_SIDE = 28;
/** Side of a reduced image in pixels. */
export const SIDE = 14;
export const NUM_PIXELS = SIDE * SIDE;
/** Shades of a reduced image, from 0 for paper to 15 for ink. */
export const NUM_SHADES = 16;

/** Reduces an image of 28 x 28 values in [0, 1] to means of 2 x 2 pixels, in 16 shades. */
export function reduce(full: ArrayLike<number>): Uint8Array {
  const reduced = new Uint8Array(NUM_PIXELS);
  for (let y = 0; y < SIDE; ++y) {
    for (let x = 0; x < SIDE; ++x) {
      const at = 2 * y * FULL_SIDE + 2 * x;
      const below = at + FULL_SIDE;
      const mean = (full[at]! + full[at + 1]! + full[below]! + full[below + 1]!) / 4;
      reduced[y * SIDE + x] = Math.round(mean * (NUM_SHADES - 1));
    }
  }
  return reduced;
}

/**
 * Pixels of a reduced image minus their mean, scaled to norm 1. The features depend on no other
 * image, so they cost no privacy. A blank image has features 0.
 */
export function featuresOf(image: ArrayLike<number>): Float64Array {
  const features = Float64Array.from({ length: NUM_PIXELS }, (_, i) => image[i]!);
  const mean = features.reduce((sum, shade) => sum + shade, 0) / NUM_PIXELS;
  let squares = 0;
  for (let i = 0; i < NUM_PIXELS; ++i) {
    features[i]! -= mean;
    squares += features[i]! ** 2;
  }
  if (squares === 0) return features;
  const scale = 1 / Math.sqrt(squares);
  return features.map((value) => value * scale);
}
