// SPDX-License-Identifier: Apache-2.0

// The bell, for pictures and percentages.

/** Density of the standard normal law. */
export function density(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}

/** Probability that a standard normal number is at most `x`: its Taylor series over the density. */
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

/** How often the best guess between two normal laws is right, `mu` standard deviations apart. */
export function bestGuess(mu: number): number {
  return probability(mu / 2);
}
