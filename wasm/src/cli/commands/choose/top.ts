// SPDX-License-Identifier: Apache-2.0

// The most frequent values with their counts, read off one noisy histogram. Choosing them one after
// the other, each with a part of epsilon, would be noisier.

import type { DpFtrl, Neighbours } from '../../../types/all.js';

export interface TopOptions {
  histogram: Float64Array;
  /** How many values to find. */
  most: number;
  epsilon: number;
  neighbours: Neighbours;
  maxContributions?: number;
  insecureSeed?: bigint;
}

/** Values by their index in the histogram, most frequent first. */
export interface Top {
  places: number[];
  /** The counts of these values, with noise. */
  counts: number[];
  /** Standard deviation of the noise of each count. */
  std: number;
}

/** Sizes of three attributes with at least this many combinations. */
function sidesOf(size: number): number[] {
  const side = Math.ceil(Math.cbrt(size));
  return [side, side, Math.ceil(size / side ** 2)];
}

/** Most frequent values of a histogram with Laplace noise. */
export function topOf(
  dp: DpFtrl,
  { histogram, most, epsilon, neighbours, maxContributions, insecureSeed }: TopOptions,
): Top {
  // The core measures thousands of values only as a product of attributes; the padding cells stay
  // empty.
  const sides = sidesOf(histogram.length);
  const padded = new Float64Array(sides.reduce((product, side) => product * side, 1));
  padded.set(histogram);
  const queries = dp.queries
    .linear({
      workload: { product: sides.map((identity) => ({ identity })) },
      measurements: 'identity',
      ...{ epsilon, delta: 0, neighbours },
      ...(maxContributions !== undefined && { maxContributions }),
    })
    .result();
  try {
    const how = insecureSeed === undefined ? {} : { insecureSeed };
    const noisy = queries.release(padded, how).answers.subarray(0, histogram.length);
    const places = Array.from(noisy.keys())
      .sort((i, j) => noisy[j]! - noisy[i]!)
      .slice(0, most);
    return {
      places,
      counts: places.map((place) => noisy[place]!),
      std: queries.standardErrors[0]!,
    };
  } finally {
    queries.dispose();
  }
}
