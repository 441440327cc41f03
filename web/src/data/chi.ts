// SPDX-License-Identifier: Apache-2.0

// Radius that a standard Gaussian vector stays within as often as a single Gaussian stays within
// two standard deviations.

/** P(|N(0, 1)| <= 2). */
export const twoSigmaCoverage = 0.9544997361036416;

/** Regularised lower incomplete gamma function P(a, x) by its power series. */
function gammaP(a: number, x: number): number {
  if (x <= 0) return 0;
  let term = 1 / a;
  let sum = term;
  for (let k = 1; k < 10_000 && term > sum * 1e-17; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return Math.exp(a * Math.log(x) - x - logGamma(a)) * sum;
}

/** ln Gamma(d / 2) for d = 1, 2, 3, …: exact recurrence from Gamma(1/2) and Gamma(1). */
function logGamma(half: number): number {
  let value = half % 1 === 0 ? 0 : 0.5 * Math.log(Math.PI);
  for (let k = half % 1 === 0 ? 1 : 0.5; k < half; ++k) value += Math.log(k);
  return value;
}

/**
 * Radius r with P(||z|| <= r) = P(|N(0, 1)| <= 2) for z standard normal in `dimension` entries;
 * 2 in dimension 1. By the triangle inequality | ||x + sz|| - ||x|| | <= s ||z||, so a band of
 * +- s r around the norm of a release contains the norm of the true sum at least as often.
 */
export function twoSigmaRadius(dimension: number): number {
  let low = 0;
  let high = Math.sqrt(dimension) + 10;
  for (let i = 0; i < 60; ++i) {
    const middle = (low + high) / 2;
    if (gammaP(dimension / 2, (middle * middle) / 2) < twoSigmaCoverage) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
