// SPDX-License-Identifier: Apache-2.0

// Compares DP-SGD, whose privacy is amplified by sampling, to DP-GD and DP-FTRL, on public tables.
// The learners are in tests/learning/dp_sgd.py; noise of DP-FTRL is the package's optimum.

import { spawnSync } from 'node:child_process';
import type { DpFtrl } from '../../wasm/src/types/all.ts';
import { ready, result } from './experiment.ts';
import type { Experiment, Size } from './experiment.ts';
import { mean, standardError, type Finding, type Result } from './result.ts';

/** Sets up the environment, then runs Python. */
const PYTHON = 'scripts/learning-python';
const PROGRAM = 'tests/learning/dp_sgd.py';
/** Learners in the figures, and their keys in the output of the program. */
const SHOWN = {
  'DP-SGD': 'dp-sgd',
  'DP-GD': 'dp-gd',
  'DP-FTRL': 'dp-ftrl',
  'no privacy': 'plain',
} as const;

/** Accuracies on the splits of a table. */
export interface Case {
  table: string;
  epsilon: number;
  accuracies: Record<string, number[]>;
}

/** Noise of the optimum for a number of passes, in all of which a row takes part. */
export interface OptimalNoise {
  passes: number;
  steps: number;
  /** Covariance of running sums at unit noise multiplier. */
  covariance: number[];
  /** RMS error of running sums, relative to independent noise. */
  ratio: number;
}

/** The optimum for one pass, and for rows in every eighth, second and every step. */
export function optimalNoises(dp: DpFtrl, steps: number): OptimalNoise[] {
  if (steps % 8 !== 0) throw new RangeError(`--steps must be a multiple of 8, got ${steps}`);
  return [1, steps / 8, steps / 2, steps].map((passes) => {
    const problem = { steps, participation: { epochs: passes } };
    const { strategy, meanError } = ready(dp, { name: 'optimal' }, problem);
    const independent = ready(dp, { name: 'independent' }, problem);
    const { matrices } = dp.error({ strategy, ...problem, matrices: true });
    const covariance = Array.from(matrices!.noiseCovariance);
    return { passes, steps, covariance, ratio: meanError / independent.meanError };
  });
}

/** Returns how much more accurate one learner is than another, in points, at an epsilon. */
function gain(cases: readonly Case[], epsilon: number, [one, other]: [string, string]) {
  const differences = cases
    .filter((it) => it.epsilon === epsilon)
    .flatMap(({ accuracies }) =>
      accuracies[one]!.map((value, i) => 100 * (value - accuracies[other]![i]!)),
    );
  return { value: mean(differences), error: standardError(differences) };
}

export function findingsOf(
  cases: readonly Case[],
  noises: readonly Pick<OptimalNoise, 'passes' | 'ratio'>[],
): Finding[] {
  const epsilons = [...new Set(cases.map(({ epsilon }) => epsilon))];
  const pairs: [string, [string, string]][] = [
    ['DP-GD over DP-SGD', ['dp-gd', 'dp-sgd']],
    ['DP-FTRL over DP-SGD', ['dp-ftrl', 'dp-sgd']],
    ...noises.map(({ passes }): [string, [string, string]] => [
      `passes ${passes}, optimal over independent noise`,
      [`${passes} passes, optimal`, `${passes} passes, independent`],
    ]),
  ];
  return [
    ...noises.map(({ passes, ratio }) => ({
      what: `passes ${passes}: noise of running sums, optimal over independent`,
      value: ratio,
    })),
    ...epsilons.flatMap((epsilon) =>
      pairs.flatMap(([name, learners]) => {
        const { value, error } = gain(cases, epsilon, learners);
        return [
          { what: `epsilon ${epsilon}: points of ${name}`, value },
          { what: `epsilon ${epsilon}: ${name}, standard error`, value: error },
        ];
      }),
    ),
  ];
}

function panelsOf(cases: readonly Case[]) {
  return [...new Set(cases.map(({ table }) => table))].map((title) => {
    const own = cases.filter(({ table }) => table === title);
    return {
      title,
      x: { label: 'epsilon', log: true },
      y: { label: 'accuracy', log: false },
      series: Object.entries(SHOWN).map(([name, key]) => ({
        name,
        x: own.map(({ epsilon }) => epsilon),
        y: own.map(({ accuracies }) => mean(accuracies[key]!)),
        spread: own.map(({ accuracies }) => standardError(accuracies[key]!)),
      })),
    };
  });
}

function learnAll(noises: readonly OptimalNoise[], repeats: number): Case[] {
  const { status, stdout, error } = spawnSync(PYTHON, [PROGRAM, '--seeds', String(repeats)], {
    input: JSON.stringify(noises),
    stdio: ['pipe', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${PROGRAM} failed`);
  return JSON.parse(stdout) as Case[];
}

function* run(dp: DpFtrl, { steps, repeats }: Size): Generator<number, Result> {
  if (repeats < 2) throw new RangeError(`--repeats must be at least 2, got ${repeats}`);
  const noises = optimalNoises(dp, steps);
  yield 0;
  const cases = learnAll(noises, repeats);
  return result('dp-sgd', 'DP-SGD, DP-GD and DP-FTRL on public tables', {
    settings: { steps, repeats },
    panels: panelsOf(cases),
    findings: findingsOf(cases, noises),
  });
}

export const dpSgd: Experiment = {
  summary: 'DP-SGD with amplification, DP-GD and DP-FTRL on public tables; takes Python',
  size: { steps: 64, repeats: 10 },
  run,
};
