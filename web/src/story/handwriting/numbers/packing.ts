// SPDX-License-Identifier: Apache-2.0

// Packs sets of reduced images into bytes, two pixels per byte.

import { NUM_PIXELS } from './image.ts';

const BYTES = NUM_PIXELS / 2;

/** Packs images of 16 shades, one after the other, two pixels per byte. */
export function pack(images: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(images.length * BYTES);
  images.forEach((image, i) => {
    for (let k = 0; k < BYTES; ++k) {
      bytes[i * BYTES + k] = (image[2 * k]! << 4) | image[2 * k + 1]!;
    }
  });
  return bytes;
}

/** Unpacks all images, one after the other. */
export function unpack(bytes: Uint8Array): Uint8Array[] {
  if (bytes.length % BYTES !== 0)
    throw new RangeError(`${bytes.length} bytes are not a whole number of images`);
  return Array.from({ length: bytes.length / BYTES }, (_, i) => {
    const image = new Uint8Array(NUM_PIXELS);
    for (let k = 0; k < BYTES; ++k) {
      const byte = bytes[i * BYTES + k]!;
      image[2 * k] = byte >>> 4;
      image[2 * k + 1] = byte & 15;
    }
    return image;
  });
}
