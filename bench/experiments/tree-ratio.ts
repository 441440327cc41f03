// SPDX-License-Identifier: Apache-2.0

// Ratio of the mean squared errors of `tree` and `square-root`, measured on releases.

import type { DpFtrl } from '../../wasm/src/types/all.ts';
import type { Series } from '../../wasm/src/plot/picture.ts';
import { result, type Experiment, type Size } from './experiment.ts';
import { mean, standardError, type Result } from './result.ts';

const MECHANISMS = ['tree', 'square-root'] as const;
const TARGET = { epsilon: 1, delta: 1e-6 };
/**
 * Coarse enough for the noise (standard deviation at least 7) that double precision decides almost
 * every rounding, and fine enough: rounding adds 1/770 to a variance of at least 50.
 */
const GRID = 2 ** -3;
/**
 * Coordinates per stream, and approximate number of noise values at each horizon for 64 repeats.
 */
const DIMENSION = 8;
const NUM_VALUES = 2 ** 26;
const CHUNK = 4096;
const HORIZONS = [2 ** 10, 2 ** 13, 2 ** 16, 2 ** 20];
/** The tree's (k + 1) (k / 2 + 1 / n) over that of the square root, at 2^10, 2^16 and 2^20. */
const EXPECTED = new Map([
  [2 ** 10, 5.69],
  [2 ** 16, 6.92],
  [2 ** 20, 7.43],
]);

/** Mean square of each coordinate over the steps, for releases without contributions. */
function meanSquares(dp: DpFtrl, mechanism: string, numSteps: number, seed: number): number[] {
  const sums = dp.totals({
    strategy: mechanism as (typeof MECHANISMS)[number],
    steps: numSteps,
    dimension: DIMENSION,
    insecureSeed: seed,
    grid: GRID,
    ...TARGET,
  });
  try {
    const totals = new Array<number>(DIMENSION).fill(0);
    for (let left = numSteps; left > 0; left -= CHUNK) {
      for (const { values } of sums.endMany(Math.min(CHUNK, left))) {
        values.forEach((noise, i) => (totals[i]! += noise ** 2));
      }
    }
    return totals.map((total) => total / numSteps);
  } finally {
    sums.dispose();
  }
}

/** The ratio with its standard error, by the delta method. */
function ratioOf(numerators: readonly number[], denominators: readonly number[]) {
  const relative = (values: readonly number[]) => standardError(values) / mean(values);
  const value = mean(numerators) / mean(denominators);
  return { value, spread: value * Math.hypot(relative(numerators), relative(denominators)) };
}

function* run(dp: DpFtrl, { steps, repeats }: Size): Generator<number, Result> {
  const horizons = HORIZONS.filter((n) => n < steps).concat(steps);
  const spreads: number[] = [];
  const measured: Series = { name: 'measured', x: horizons, y: [], spread: spreads };
  const predicted: Series = { name: 'theory', x: horizons, y: [] };
  const findings: Result['findings'] = [];
  for (const [i, numSteps] of horizons.entries()) {
    const rounds = Math.max(1, Math.round((repeats * NUM_VALUES) / numSteps / DIMENSION / 64));
    const squares: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; ++round) {
      MECHANISMS.forEach((mechanism, k) => {
        // Distinct seeds, so that mechanisms, rounds and horizons are independent.
        const seed = (2 * round + k) * (HORIZONS.length + 1) + i + 1;
        squares[k]!.push(...meanSquares(dp, mechanism, numSteps, seed));
      });
      yield (i + (round + 1) / rounds) / horizons.length;
    }
    const { value, spread } = ratioOf(...squares);
    measured.y.push(value);
    spreads.push(spread);
    const [tree, root] = MECHANISMS.map(
      (mechanism) => dp.error({ strategy: mechanism, steps: numSteps }).meanError,
    );
    predicted.y.push((tree! / root!) ** 2);
    const expected = EXPECTED.get(numSteps) ?? predicted.y.at(-1)!;
    findings.push({ what: `measured ratio at ${numSteps} steps`, value, expected });
    findings.push({ what: `its standard error`, value: spread });
  }
  return result('tree-ratio', 'Mean squared error: binary tree over square root', {
    settings: { steps, repeats, ...TARGET, noise: 'fixed seeds' },
    panels: [
      {
        title: 'releases of empty streams',
        x: { label: 'steps', log: true },
        y: { label: 'ratio of mean squared errors', log: false },
        series: [measured, predicted],
      },
    ],
    findings,
  });
}

export const treeRatio: Experiment = {
  summary: 'mean squared error of the binary tree over that of the square root, measured',
  size: { steps: 2 ** 20, repeats: 64 },
  run,
};
