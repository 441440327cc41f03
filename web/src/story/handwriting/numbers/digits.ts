// SPDX-License-Identifier: Apache-2.0

// The handwritten digits of the page, loaded when first needed.

import { featuresOf, NUM_PIXELS } from './image.ts';
import { unpack } from './packing.ts';

/** Images with their labels, and the features that a learner reads, image by image. */
export interface Examples {
  images: Uint8Array[];
  labels: Float64Array;
  features: Float64Array;
}

export interface DigitSet {
  training: Examples;
  heldOut: Examples;
}

async function inflate(base64: string): Promise<Uint8Array> {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(inflated).arrayBuffer());
}

export function examplesOf(images: Uint8Array[], labels: ArrayLike<number>): Examples {
  const features = new Float64Array(images.length * NUM_PIXELS);
  images.forEach((image, i) => features.set(featuresOf(image), i * NUM_PIXELS));
  return { images, labels: Float64Array.from(labels), features };
}

let loading: Promise<DigitSet> | undefined;

async function load(): Promise<DigitSet> {
  const { images, labels, numTraining } = await import('virtual:digits');
  const all = unpack(await inflate(images));
  const known = Array.from(labels, Number);
  return {
    training: examplesOf(all.slice(0, numTraining), known.slice(0, numTraining)),
    heldOut: examplesOf(all.slice(numTraining), known.slice(numTraining)),
  };
}

/** All scenes share the digits. */
export function loadDigits(): Promise<DigitSet> {
  loading ??= load();
  return loading;
}
