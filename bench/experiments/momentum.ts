// SPDX-License-Identifier: Apache-2.0

// Compares momentum and rates by post-processing with a workload whose encoder is made for them.

import type { DpFtrl, SimulationOptions, Workload } from '../../wasm/src/types/all.ts';
import type { Panel } from '../../wasm/src/plot/picture.ts';
import { meanOf, ready, regretOf, repeated, result } from './experiment.ts';
import type { Experiment, Ready, Size } from './experiment.ts';
import { mean, standardError, type Finding, type Result } from './result.ts';

const TARGET = { epsilon: 2, delta: 1e-6, dimension: 10, stream: 'stationary' } as const;
const MECHANISM = 'square-root';
const MOMENTA = [0, 0.5, 0.8, 0.9, 0.95];
/** Rates are t^(-power). */
const POWERS = [0, 0.25, 0.5, 1];
/**
 * Factors on the theorem's lambda, which is first scaled so that all steps together are as long as
 * without momentum and rates.
 */
const FACTORS = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4];
const WAYS = ['post-processing', 'workload'] as const;
/** Longest horizon of `matrices`. */
const MAX_MATRIX_STEPS = 512;

interface Steps {
  momentum: number;
  /** Rate of every step, in units of 1 / lambda. */
  rates: number[];
}

/** RMS error of the sums of descent by post-processing, at unit noise. */
function errorAfterwards(dp: DpFtrl, { strategy }: Ready, { momentum, rates }: Steps): number {
  const numSteps = rates.length;
  const { sensitivity } = dp.error({ strategy, steps: numSteps });
  const { decoder } = dp.error({ strategy, steps: numSteps, matrices: true }).matrices!;
  // Rows of the decoder yield prefix sums: applies momentum to their differences, and adds up the
  // results, times the rates.
  const velocity = new Float64Array(numSteps);
  const sums = new Float64Array(numSteps * numSteps);
  for (let t = 0; t < numSteps; ++t) {
    for (let j = 0; j < numSteps; ++j) {
      const at = t * numSteps + j;
      const before = t === 0 ? 0 : decoder[at - numSteps]!;
      velocity[j] = momentum * velocity[j]! + decoder[at]! - before;
      sums[at] = (t === 0 ? 0 : sums[at - numSteps]!) + rates[t]! * velocity[j]!;
    }
  }
  return sensitivity * rootMeanSquare(sums, numSteps);
}

/** The same error with the encoder made for the momentum. */
function errorThrough(dp: DpFtrl, { momentum, rates: { length: numSteps } }: Steps): number {
  const workload: Workload = momentum > 0 ? { momentum } : 'prefix';
  const how = { strategy: MECHANISM, steps: numSteps, workload } as const;
  const { sensitivity } = dp.error(how);
  return (
    sensitivity * rootMeanSquare(dp.error({ ...how, matrices: true }).matrices!.decoder, numSteps)
  );
}

function rootMeanSquare(rows: Float64Array, numRows: number): number {
  return Math.sqrt(rows.reduce((sum, value) => sum + value * value, 0) / numRows);
}

/** Smallest regret over `FACTORS` in hindsight, which is NOT private. */
function bestOf(
  dp: DpFtrl,
  { steps, repeats }: Size,
  {
    length,
    ...how
  }: Pick<SimulationOptions, 'strategy' | 'descent'> & {
    /** Total length of all steps, relative to as many steps with rate 1. */
    length: number;
  },
) {
  const options = { ...TARGET, ...how, steps };
  const { lambda } = regretOf(dp, { ...options, streamSeed: 1, noiseSeed: 1 });
  const tries = FACTORS.map((factor) => {
    const runs = repeated(repeats, (seed) => {
      const seeds = { streamSeed: seed, noiseSeed: seed };
      return regretOf(dp, { ...options, ...seeds, lambda: factor * length * lambda.private });
    });
    return {
      regret: meanOf(runs, (it) => it.private),
      spread: standardError(runs.map((it) => it.private)),
    };
  });
  return tries.reduce((a, b) => (b.regret < a.regret ? b : a));
}

function ratesOf(power: number, numSteps: number): number[] {
  return Array.from({ length: numSteps }, (_, t) => (t + 1) ** -power);
}

/** Measures rates t^(-power) with `optimal`, optimised for these rates or for prefix sums. */
function measureRates(dp: DpFtrl, size: Size, power: number) {
  const numSteps = Math.min(size.steps, MAX_MATRIX_STEPS);
  const rates = ratesOf(power, numSteps);
  const steps = { momentum: 0, rates };
  const [optimal, root] = (['optimal', MECHANISM] as const).map((name) =>
    ready(dp, { name }, { steps: numSteps }),
  );
  const wanted = { name: 'optimal', objective: 'mean' } as const;
  const search = dp.optimize({ strategy: wanted, steps: numSteps, workload: { rates } });
  const through = search.result().error;
  const every = ratesOf(power, size.steps);
  const length = mean(every);
  const { strategy } = ready(dp, { name: 'optimal' }, { steps: size.steps });
  const own = { rates: every, through: 'workload' } as const;
  const best = {
    after: bestOf(dp, size, { strategy, descent: { rates: every }, length }),
    through: bestOf(dp, size, { strategy: 'optimal', descent: own, length }),
  };
  return {
    error: through,
    overAfter: through / errorAfterwards(dp, optimal!, steps),
    overRoot: through / errorAfterwards(dp, root!, steps),
    regret: best.through.regret / best.after.regret,
  };
}

type RatesMeasured = ReturnType<typeof measureRates>;

function ratesPanel(measured: readonly RatesMeasured[]): Panel {
  return {
    title: 'rates t^(-p) on the optimum',
    x: { label: 'p', log: false },
    y: { label: 'workload over post-processing', log: false },
    series: [
      { name: 'noise in the weights', x: POWERS, y: measured.map((it) => it.overAfter) },
      { name: 'regret, best lambda (NOT private)', x: POWERS, y: measured.map((it) => it.regret) },
    ],
  };
}

function ratesFindings(power: number, measured: RatesMeasured): Finding[] {
  const what = `rates t^(-p), p = ${power}`;
  const isSame = power === 0 && { expected: 1 };
  return [
    { what: `${what}: noise in the weights through the workload`, value: measured.error },
    { what: `${what}: that over post-processing`, value: measured.overAfter, ...isSame },
    { what: `${what}: that over post-processing, square-root`, value: measured.overRoot },
    { what: `${what}: regret through the workload over post-processing`, value: measured.regret },
  ];
}

function* run(dp: DpFtrl, size: Size): Generator<number, Result> {
  const horizon = Math.min(size.steps, MAX_MATRIX_STEPS);
  const root = ready(dp, { name: MECHANISM }, { steps: horizon });
  const steps = MOMENTA.map((momentum) => ({ momentum, rates: ratesOf(0, horizon) }));
  const errors = [
    steps.map((it) => errorAfterwards(dp, root, it)),
    steps.map((it) => errorThrough(dp, it)),
  ];
  const numParts = WAYS.length * (MOMENTA.length + POWERS.length);
  let done = 0;
  const best = WAYS.map(() => [] as ReturnType<typeof bestOf>[]);
  for (const momentum of MOMENTA) {
    for (const [k, through] of WAYS.entries()) {
      const descent = { momentum, through };
      const length = 1 / (1 - momentum);
      best[k]!.push(bestOf(dp, size, { strategy: MECHANISM, descent, length }));
      yield ++done / numParts;
    }
  }
  const rates: RatesMeasured[] = [];
  for (const power of POWERS) {
    rates.push(measureRates(dp, size, power));
    yield (done += WAYS.length) / numParts;
  }
  const panel = (title: string, y: string, series: Panel['series']): Panel => {
    return { title, x: { label: 'momentum', log: false }, y: { label: y, log: true }, series };
  };
  const names = WAYS.map((way) => `through ${way}`);
  const learner = 'descent, logistic loss, unit ball; square root, for rates the optimum';
  return result('momentum', 'Momentum and rates through the workload, or afterwards', {
    settings: { ...size, ...TARGET, learner },
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
      ratesPanel(rates),
    ],
    findings: [
      ...MOMENTA.flatMap((momentum, i) => [
        {
          what: `momentum ${momentum}: error through the workload over post-processing`,
          value: errors[1]![i]! / errors[0]![i]!,
          ...(momentum === 0 && { expected: 1 }),
        },
        {
          what: `momentum ${momentum}: the same for regret`,
          value: best[1]![i]!.regret / best[0]![i]!.regret,
          ...(momentum === 0 && { expected: 1 }),
        },
      ]),
      ...POWERS.flatMap((power, i) => ratesFindings(power, rates[i]!)),
    ],
  });
}

export const momentum: Experiment = {
  summary: 'momentum and rates through the workload, or through post-processing',
  size: { steps: 512, repeats: 10 },
  run,
};
