// SPDX-License-Identifier: Apache-2.0

// The normal distribution, for pictures and percentages.

export function density(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}

/** Normal distribution function: 1/2 plus the density times a power series. */
function probability(x: number): number {
  if (x < -8) return 0;
  if (x > 8) return 1;
  let sum = x;
  let term = x;
  for (let odd = 3; sum + term !== sum; odd += 2) {
    term *= (x * x) / odd;
    sum += term;
  }
  return 0.5 + sum * density(x);
}

/**
 * Probability that the best guess between two normal distributions, `mu` standard deviations apart,
 * is right.
 */
export function bestGuess(mu: number): number {
  return rightAt(mu / 2, mu);
}

/**
 * Probability that a guess by a threshold is right: values above the threshold are taken to come
 * from the distribution at `mu`, other values from that at 0.
 */
export function rightAt(threshold: number, mu: number): number {
  return (probability(threshold) + probability(mu - threshold)) / 2;
}
