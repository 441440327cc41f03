// SPDX-License-Identifier: Apache-2.0

// The error of every prefix sum, for several mechanisms.

import type { DpFtrl } from '../../wasm/src/types/all.ts';
import { STEP_AXIS, type Series } from '../../wasm/src/plot/picture.ts';
import { ready, result, type Experiment, type Size } from './experiment.ts';
import { mean, type Result } from './result.ts';

const MECHANISMS = ['tree', 'honaker', 'square-root', 'blt-normalized', 'optimal'] as const;
const MAX_POINTS = 512;

interface Errors {
  mean: number;
  largest: number;
}

/**
 * Errors of the tree: sum t adds up as many nodes as t has ones in binary; sensitivity is
 * sqrt(levels).
 */
function treeErrors(numSteps: number): Errors {
  const levels = Math.floor(Math.log2(numSteps)) + 1;
  const ones = Array.from(
    { length: numSteps },
    (_, t) => (t + 1).toString(2).replaceAll('0', '').length,
  );
  return { mean: Math.sqrt(levels * mean(ones)), largest: Math.sqrt(levels * Math.max(...ones)) };
}

/**
 * Errors of `square-root`. With S_t the sum of the first t squared coefficients, row t has the
 * squared norm S_t, and the first column S_n.
 */
function squareRootErrors(numSteps: number): Errors {
  const squares: number[] = [];
  let [coefficient, sum] = [1, 0];
  for (let t = 1; t <= numSteps; ++t) {
    sum += coefficient ** 2;
    squares.push(sum);
    coefficient *= (2 * t - 1) / (2 * t);
  }
  return { mean: Math.sqrt(sum * mean(squares)), largest: sum };
}

const EXPECTED: Partial<Record<(typeof MECHANISMS)[number], (numSteps: number) => Errors>> = {
  tree: treeErrors,
  'square-root': squareRootErrors,
};

function* run(dp: DpFtrl, { steps }: Size): Generator<number, Result> {
  const stride = Math.ceil(steps / MAX_POINTS);
  const series: Series[] = [];
  const findings: Result['findings'] = [];
  for (const [i, mechanism] of MECHANISMS.entries()) {
    const it = ready(dp, { name: mechanism }, { steps });
    const options = { strategy: it.strategy, steps };
    const errors = [...dp.error({ ...options, perStep: true }).perStep!];
    const places = errors.map((_, t) => t).filter((t) => t % stride === 0 || t === steps - 1);
    series.push({
      name: mechanism,
      x: places.map((t) => t + 1),
      y: places.map((t) => errors[t]!),
    });
    const expected = EXPECTED[mechanism]?.(steps);
    findings.push({
      what: `${mechanism}: root mean square error`,
      value: it.meanError,
      ...(expected && { expected: expected.mean }),
    });
    findings.push({
      what: `${mechanism}: largest error`,
      value: Math.max(...errors),
      ...(expected && { expected: expected.largest }),
    });
    yield (i + 1) / MECHANISMS.length;
  }
  return result('error-per-step', 'Error of each prefix sum', {
    settings: { steps, noise: 'unit noise multiplier, one participation', objective: 'mean' },
    panels: [
      {
        title: `${steps} steps, searched for the least mean square`,
        x: STEP_AXIS,
        y: { label: 'standard deviation', log: false },
        series,
      },
    ],
    findings,
  });
}

export const errorPerStep: Experiment = {
  summary: 'error of each prefix sum: trees, square root, few buffers, optimum',
  size: { steps: 1024, repeats: 1 },
  run,
};
