// SPDX-License-Identifier: Apache-2.0

// Synthetic visitors for the statistics: how long each visitor stays, and what they drink.

import type { StreamName } from 'dp-ftrl';
import { generator } from './random.ts';
import type { Cell, Csv } from './csv.ts';

/** Number of uniform numbers discarded at first, because similar seeds begin alike. */
const warmUp = 16;
/** Number of segments of a switching stream. */
const numSwitches = 8;

/** How far the visitors at a step deviate from the usual, from -1 to 1. */
function shiftOf(stream: StreamName, share: number): number {
  if (stream === 'drifting') return Math.sin(2 * Math.PI * share);
  if (stream === 'switching') return Math.floor(numSwitches * share) % 2 === 0 ? 1 : -1;
  return 0;
}

/** One visitor per step. */
export function visitors(numSteps: number, seed: number, stream: StreamName): Csv {
  const random = generator(seed + 1);
  for (let i = 0; i < warmUp; ++i) random();
  const minutes = new Float64Array(numSteps);
  const drinks: Cell[] = [];
  for (let row = 0; row < numSteps; ++row) {
    const shift = shiftOf(stream, row / numSteps);
    minutes[row] = Math.round(45 + 15 * shift + 20 * (random() + random() + random() - 1.5));
    const drawn = random();
    const tea = 0.4 - 0.2 * shift;
    const text = drawn < tea ? 'tea' : drawn < 0.7 ? 'coffee' : drawn < 0.9 ? 'water' : 'juice';
    drinks.push({ row, text });
  }
  const texts = new Float64Array(numSteps).fill(NaN);
  return {
    unnamed: null,
    skipped: new Set(),
    numRows: numSteps,
    lines: Int32Array.from({ length: numSteps }, (_, row) => row + 2),
    columns: [
      { name: 'minutes', values: minutes, faults: [], written: [] },
      { name: 'drink', values: texts, faults: drinks, written: [] },
    ],
  };
}
