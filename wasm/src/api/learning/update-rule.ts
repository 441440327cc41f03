// SPDX-License-Identifier: Apache-2.0

// Computes the next weights from private sums of gradients. Any rule is post-processing.

/**
 * The private gradient of one step, and the sum of all gradients up to it, both divided by the
 * batch size.
 */
export interface GradientSums {
  increment: Float64Array;
  total: Float64Array;
}

/** Overwrites the weights with the next ones. */
export type UpdateRule = (weights: Float64Array, released: GradientSums) => void;

interface Ball {
  start: Float64Array;
  radius: number | undefined;
}

function project(weights: Float64Array, { start, radius }: Ball): void {
  if (radius === undefined) return;
  const distance = Math.hypot(...chunks(weights, start));
  if (!(distance > radius)) return;
  const factor = radius / distance;
  weights.forEach((w, i) => (weights[i] = start[i]! + factor * (w - start[i]!)));
}

/** Norms of chunks of a - b: the number of arguments of a call is limited. */
function chunks(a: Float64Array, b: Float64Array): number[] {
  const norms: number[] = [];
  for (let first = 0; first < a.length; first += 1024) {
    const part = Array.from(a.subarray(first, first + 1024), (x, i) => x - b[first + i]!);
    norms.push(Math.hypot(...part));
  }
  return norms;
}

/** Follow-the-regularised-leader: the weights are a function of the latest sum. */
export function ftrl(rate: number, ball: Ball): UpdateRule {
  return (weights, { total }) => {
    total.forEach((sum, i) => (weights[i] = ball.start[i]! - rate * sum));
    project(weights, ball);
  };
}

export function descent(rate: number, momentum: number, ball: Ball): UpdateRule {
  const velocity = new Float64Array(ball.start.length);
  return (weights, { increment }) => {
    increment.forEach((gradient, i) => {
      velocity[i] = momentum * velocity[i]! + gradient;
      weights[i]! -= rate * velocity[i]!;
    });
    project(weights, ball);
  };
}

export interface AdamOptions {
  rate: number;
  beta1: number;
  beta2: number;
  floor: number | undefined;
  /** Variance of the noise of a coordinate of each step's gradient. */
  variances: Float64Array;
}

/**
 * Adam, with the known variance of the noise subtracted from the second moment. The variance is
 * averaged over the steps like the squares themselves: docs/math/learning.md, section 9.
 */
export function adam(
  { rate, beta1, beta2, floor, variances }: AdamOptions,
  size: number,
): UpdateRule {
  const first = new Float64Array(size);
  const second = new Float64Array(size);
  // Standard deviation of the averaged squares of the noise, in units of their mean.
  const spread = Math.sqrt((2 * (1 - beta2)) / (1 + beta2));
  let noise = 0;
  let step = 0;
  return (weights, { increment }) => {
    noise = beta2 * noise + (1 - beta2) * variances[step++]!;
    const firstBias = 1 - beta1 ** step;
    const secondBias = 1 - beta2 ** step;
    const variance = noise / secondBias;
    const least = floor ?? spread * variance;
    increment.forEach((gradient, i) => {
      first[i] = beta1 * first[i]! + (1 - beta1) * gradient;
      second[i] = beta2 * second[i]! + (1 - beta2) * gradient * gradient;
      const scale = Math.max(second[i]! / secondBias - variance, least);
      weights[i]! -= (rate * (first[i]! / firstBias)) / Math.sqrt(scale);
    });
  };
}
