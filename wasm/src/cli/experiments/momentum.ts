// SPDX-License-Identifier: Apache-2.0

// Momentum through post-processing, or through the workload: the encoder is made for it.

import type { DpFtrl, SimulationOptions, Workload } from '../../types.js';
import { meanOf, regretOf, repeated, result } from './experiment.js';
import type { Experiment, Size } from './experiment.js';
import { standardError, type Panel, type Result } from './result.js';

const TARGET = { epsilon: 2, delta: 1e-6, dimension: 10, stream: 'stationary' } as const;
const MECHANISM = 'square-root';
const MOMENTA = [0, 0.5, 0.8, 0.9, 0.95];
/** Of the theorem's lambda over 1 - momentum, with which steps are as long as without. */
const FACTORS = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4];
const WAYS = ['post-processing', 'workload'] as const;
/** What `matrices` gives. */
const MAX_MATRIX_STEPS = 512;

/** Root mean square error of what descent adds up, at unit noise multiplier. */
function errorOf(
  dp: DpFtrl,
  { numSteps, momentum, way }: { numSteps: number; momentum: number; way: (typeof WAYS)[number] },
): number {
  const workload: Workload = way === 'workload' && momentum > 0 ? { momentum } : 'prefix';
  const how = { mechanism: MECHANISM, numSteps, workload } as const;
  const { sensitivity } = dp.error(how);
  const { decoder } = dp.matrices(how);
  if (workload !== 'prefix') return sensitivity * rootMeanSquare(decoder, numSteps);
  // Rows of the decoder are those of prefix sums: their differences with momentum, added up.
  const velocity = new Float64Array(numSteps);
  const sums = new Float64Array(numSteps * numSteps);
  for (let t = 0; t < numSteps; ++t) {
    for (let j = 0; j < numSteps; ++j) {
      const at = t * numSteps + j;
      const before = t === 0 ? 0 : decoder[at - numSteps]!;
      velocity[j] = momentum * velocity[j]! + decoder[at]! - before;
      sums[at] = (t === 0 ? 0 : sums[at - numSteps]!) + velocity[j]!;
    }
  }
  return sensitivity * rootMeanSquare(sums, numSteps);
}

function rootMeanSquare(rows: Float64Array, numRows: number): number {
  return Math.sqrt(rows.reduce((sum, value) => sum + value * value, 0) / numRows);
}

/** The regret of the best lambda in hindsight, which is NOT private. */
function bestOf(
  dp: DpFtrl,
  { steps, repeats }: Size,
  descent: NonNullable<SimulationOptions['descent']>,
) {
  const options = { ...TARGET, mechanism: MECHANISM, numSteps: steps } as const;
  const { lambda } = regretOf(dp, { ...options, descent, streamSeed: 1, noiseSeed: 1 });
  const scale = lambda.private / (1 - (descent.momentum ?? 0));
  const tries = FACTORS.map((factor) => {
    const runs = repeated(repeats, (seed) => {
      const seeds = { streamSeed: seed, noiseSeed: seed };
      return regretOf(dp, { ...options, descent, ...seeds, lambda: factor * scale });
    });
    return {
      regret: meanOf(runs, (it) => it.private),
      spread: standardError(runs.map((it) => it.private)),
    };
  });
  return tries.reduce((a, b) => (b.regret < a.regret ? b : a));
}

function* run(dp: DpFtrl, size: Size): Generator<number, Result> {
  const horizon = Math.min(size.steps, MAX_MATRIX_STEPS);
  const errors = WAYS.map((way) =>
    MOMENTA.map((momentum) => errorOf(dp, { numSteps: horizon, momentum, way })),
  );
  const best = WAYS.map(() => [] as ReturnType<typeof bestOf>[]);
  for (const [i, momentum] of MOMENTA.entries()) {
    for (const [k, through] of WAYS.entries()) {
      best[k]!.push(bestOf(dp, size, { momentum, through }));
      yield (i + (k + 1) / WAYS.length) / MOMENTA.length;
    }
  }
  const panel = (title: string, y: string, series: Panel['series']): Panel => {
    return { title, x: { label: 'momentum', log: false }, y: { label: y, log: true }, series };
  };
  const names = WAYS.map((way) => `through ${way}`);
  return result('momentum', 'Momentum through the workload, or afterwards', {
    settings: { ...size, ...TARGET, learner: 'descent, logistic loss, unit ball, square root' },
    panels: [
      panel(
        `noise in the weights, ${horizon} steps`,
        'root mean square error, unit noise',
        names.map((name, k) => ({ name, x: MOMENTA, y: errors[k]! })),
      ),
      panel(
        'the best lambda in hindsight (NOT private)',
        'average regret',
        names.map((name, k) => ({
          name,
          x: MOMENTA,
          y: best[k]!.map((it) => it.regret),
          spread: best[k]!.map((it) => it.spread),
        })),
      ),
    ],
    findings: MOMENTA.flatMap((momentum, i) => [
      {
        what: `momentum ${momentum}: error through the workload over that through post-processing`,
        value: errors[1]![i]! / errors[0]![i]!,
        ...(momentum === 0 && { expected: 1 }),
      },
      {
        what: `momentum ${momentum}: the same for regret`,
        value: best[1]![i]!.regret / best[0]![i]!.regret,
        ...(momentum === 0 && { expected: 1 }),
      },
    ]),
  });
}

export const momentum: Experiment = {
  summary: 'momentum through the workload, or through post-processing',
  size: { steps: 512, repeats: 10 },
  run,
};
