// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';

/** Names of all mechanisms. */
export function namesOf(dp) {
  const names = dp.strategies.map((entry) => entry.name);
  assert.ok(names.length > 0);
  return names;
}

function sum(last, term) {
  let total = 0;
  for (let i = 0; i <= last; ++i) total += term(i);
  return total;
}

/** Builds a lower-triangular matrix, row-major. */
export function lowerTriangular(numSteps, entry) {
  return Float64Array.from({ length: numSteps * numSteps }, (_, k) => {
    const [t, s] = [Math.floor(k / numSteps), k % numSteps];
    return s > t ? 0 : entry(t, s);
  });
}

const RATES = [1, 0.5, -2, 1, 1, 4, 0.25, 1];
const smooth = (t, s) => 1 / (1 + t - s);

/**
 * Every kind of workload over 8 steps: option, name, and entry (t, s) of its matrix by definition.
 */
export const WORKLOADS = [
  ['prefix', 'prefix', () => 1],
  [{ momentum: 0.5 }, 'momentum=0.5,decay=1', (t, s) => sum(t - s, (i) => 0.5 ** i)],
  [
    { momentum: 0.5, decay: 0.75 },
    'momentum=0.5,decay=0.75',
    (t, s) => sum(t - s, (i) => 0.5 ** i * 0.75 ** (t - s - i)),
  ],
  [{ window: 3 }, 'window=3', (t, s) => Number(t - s < 3)],
  [{ rates: RATES }, 'rates', (_t, s) => RATES[s]],
  [
    { rates: RATES, momentum: 0.5 },
    'rates,momentum=0.5',
    (t, s) => sum(t - s, (i) => RATES[s + i] * 0.5 ** i),
  ],
  [{ matrix: lowerTriangular(8, smooth) }, 'matrix', smooth],
];
