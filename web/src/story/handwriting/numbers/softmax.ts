// SPDX-License-Identifier: Apache-2.0

// A linear model for ten classes, with one row of weights per digit.

import type { Examples } from './digits.ts';
import { NUM_PIXELS } from './image.ts';

export const NUM_CLASSES = 10;
export const NUM_WEIGHTS = NUM_CLASSES * NUM_PIXELS;

function scoresAt(weights: Float64Array, features: Float64Array, at: number): Float64Array {
  const scores = new Float64Array(NUM_CLASSES);
  for (let digit = 0; digit < NUM_CLASSES; ++digit) {
    let score = 0;
    for (let j = 0; j < NUM_PIXELS; ++j) {
      score += weights[digit * NUM_PIXELS + j]! * features[at + j]!;
    }
    scores[digit] = score;
  }
  return scores;
}

function sharesOf(scores: Float64Array): Float64Array {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/** Confidence of the model in each digit; the shares add up to 1. */
export function answer(weights: Float64Array, features: Float64Array): Float64Array {
  return sharesOf(scoresAt(weights, features, 0));
}

export function largestOf(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; ++i) if (values[i]! > values[best]!) best = i;
  return best;
}

/** Share of examples whose digit has the largest score. */
export function accuracy(weights: Float64Array, { labels, features }: Examples): number {
  let numRight = 0;
  labels.forEach((label, i) => {
    if (largestOf(scoresAt(weights, features, i * NUM_PIXELS)) === label) ++numRight;
  });
  return numRight / labels.length;
}

/** Sum of the gradients of the loss over some examples. */
export function gradientSum(
  weights: Float64Array,
  { labels, features }: Examples,
  indices: readonly number[],
): Float64Array {
  const sum = new Float64Array(NUM_WEIGHTS);
  for (const i of indices) {
    const slopes = sharesOf(scoresAt(weights, features, i * NUM_PIXELS));
    slopes[labels[i]!]! -= 1;
    slopes.forEach((slope, digit) => {
      for (let j = 0; j < NUM_PIXELS; ++j) {
        sum[digit * NUM_PIXELS + j]! += slope * features[i * NUM_PIXELS + j]!;
      }
    });
  }
  return sum;
}

/**
 * One entry of the sum of the gradients of some examples, each clipped to a norm. Features have
 * norm 1, so the norm of a gradient is that of its slopes.
 */
export function clippedSumAt(
  weight: number,
  weights: Float64Array,
  { labels, features }: Pick<Examples, 'labels' | 'features'>,
  clip: number,
): number {
  const [digit, pixel] = [Math.floor(weight / NUM_PIXELS), weight % NUM_PIXELS];
  let sum = 0;
  labels.forEach((label, i) => {
    const slopes = sharesOf(scoresAt(weights, features, i * NUM_PIXELS));
    slopes[label]! -= 1;
    const shrink = Math.min(1, clip / Math.hypot(...slopes));
    sum += shrink * slopes[digit]! * features[i * NUM_PIXELS + pixel]!;
  });
  return sum;
}

/**
 * Mean of the second half of some models. The mean is post-processing, so it is as private as the
 * models are.
 */
export function lateMean(models: readonly Float64Array[]): Float64Array {
  const late = models.slice(Math.floor(models.length / 2));
  const mean = new Float64Array(NUM_WEIGHTS);
  for (const weights of late) weights.forEach((weight, i) => (mean[i]! += weight / late.length));
  return mean;
}
