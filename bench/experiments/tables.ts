// SPDX-License-Identifier: Apache-2.0

// Synthetic classification tables, generated from a seed.

import type { DpFtrl } from '../../wasm/src/types/all.ts';

export interface Examples {
  /** Features row after row, each in [-1, 1]. */
  features: Float64Array;
  labels: Float64Array;
}

export interface Kind {
  name: string;
  numFeatures: number;
  numClasses: number;
  /** Computes the features of a row from as many standard normals. */
  features(normals: readonly number[]): number[];
  /** Standard deviation of the noise in a score. */
  blur: number;
  /** Subtracted from the first score. */
  bias?: number;
}

const clamped = (value: number) => Math.max(-1, Math.min(1, value));

export const KINDS: readonly Kind[] = [
  {
    name: 'two classes',
    numFeatures: 8,
    numClasses: 2,
    features: (normals) => normals.map((z) => clamped(z / 2)),
    blur: 0.5,
  },
  {
    name: 'two classes, features alike',
    numFeatures: 16,
    numClasses: 2,
    features: ([first, ...rest]) => [first!, ...rest].map((z) => clamped((z + 2 * first!) / 5)),
    blur: 0.1,
  },
  {
    name: 'six classes',
    numFeatures: 20,
    numClasses: 6,
    features: (normals) => normals.map((z) => clamped(z / 2)),
    blur: 0.5,
  },
  {
    name: 'sparse, one class in four',
    numFeatures: 24,
    numClasses: 2,
    features: (normals) => normals.map((z) => (z > 1 ? clamped(z / 3) : 0)),
    blur: 0.2,
    bias: 0.5,
  },
];

/** Returns rows of standard normals. */
function normalRows(
  dp: DpFtrl,
  { numRows, width, seed }: { numRows: number; width: number; seed: number },
): number[][] {
  const scale = 2 ** 20;
  const options = { strategy: 'independent', increments: true } as const;
  const noise = dp.noise({ ...options, steps: numRows, dimension: width, insecureSeed: seed });
  try {
    const all = noise.rounded({ numRows, scale });
    return Array.from({ length: numRows }, (_, i) =>
      Array.from(all.subarray(i * width, (i + 1) * width), (entry) => entry / scale),
    );
  } finally {
    noise.dispose();
  }
}

/** Returns the class with the largest score; a single score decides between 0 and 1 by its sign. */
export function classOf(scores: ArrayLike<number>): number {
  if (scores.length === 1) return Number(scores[0]! >= 0);
  return Array.from(scores).reduce((best, score, i) => (score > scores[best]! ? i : best), 0);
}

/** Returns training rows, and as many held-out rows with the same distribution. */
export function makeTable(
  dp: DpFtrl,
  kind: Kind,
  { numRows, seed }: { numRows: number; seed: number },
): { training: Examples; heldOut: Examples } {
  const { numFeatures, numClasses, blur, bias = 0 } = kind;
  const numScores = numClasses === 2 ? 1 : numClasses;
  const sizes = { numRows: 2 * numRows + numScores, width: numFeatures + numScores, seed };
  const rows = normalRows(dp, sizes);
  const directions = rows.splice(2 * numRows);
  const features = rows.map((row) => kind.features(row.slice(0, numFeatures)));
  const labels = rows.map((row, i) => {
    const scores = directions.map((direction, k) => {
      const score = features[i]!.reduce((sum, value, j) => sum + value * direction[j]!, 0);
      return score + blur * row[numFeatures + k]! - (k === 0 ? bias : 0);
    });
    return classOf(scores);
  });
  const part = (begin: number, end: number): Examples => ({
    features: Float64Array.from(features.slice(begin, end).flat()),
    labels: Float64Array.from(labels.slice(begin, end)),
  });
  return { training: part(0, numRows), heldOut: part(numRows, 2 * numRows) };
}
