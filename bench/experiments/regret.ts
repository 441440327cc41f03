// SPDX-License-Identifier: Apache-2.0

// Regret against epsilon of every mechanism on three streams. All learners use the lambda of the
// regret theorem without noise, so that they differ only in their noise and its effect is visible.

import type { DpFtrl } from '../../wasm/src/types/all.ts';
import type { Panel } from '../../wasm/src/plot/picture.ts';
import { allReady, boundOf, meanOf, regretOf, repeated, result } from './experiment.ts';
import type { Experiment, Size } from './experiment.ts';
import { rankCorrelation, standardError, type Result } from './result.ts';

const STREAMS = ['stationary', 'sparse', 'adversarial'] as const;
const EPSILONS = [0.5, 1, 2, 4, 8];
const TARGET = { delta: 1e-6, dimension: 10 };
/** Mechanisms whose bounds are drawn; bounds for all would hide the curves. */
const BOUNDED: readonly string[] = ['optimal', 'tree', 'independent'];

function* run(dp: DpFtrl, { steps, repeats }: Size): Generator<number, Result> {
  const { found, leftOut } = allReady(dp, dp.strategies, steps);
  const byError = [...found].sort((a, b) => a.meanError - b.meanError);
  const panels: Panel[] = [];
  const findings: Result['findings'] = [];
  const lambda = Math.sqrt(steps); // (L / D) sqrt(n)
  let done = 0;
  for (const stream of STREAMS) {
    const curves = byError.map(() => ({ y: [] as number[], spread: [] as number[] }));
    const bounds = byError.map(() => [] as (number | null)[]);
    const twin: number[] = [];
    for (const epsilon of EPSILONS) {
      const regrets: number[] = [];
      for (const [i, { strategy }] of byError.entries()) {
        const runs = repeated(repeats, (seed) =>
          regretOf(dp, {
            ...TARGET,
            lambda,
            strategy,
            steps,
            epsilon,
            stream,
            streamSeed: seed,
            noiseSeed: seed,
          }),
        );
        regrets.push(meanOf(runs, (it) => it.private));
        curves[i]!.y.push(regrets[i]!);
        curves[i]!.spread.push(standardError(runs.map((it) => it.private)));
        bounds[i]!.push(runs[0]!.bound);
        if (i === 0) twin.push(meanOf(runs, (it) => it.twin));
        yield ++done / (STREAMS.length * EPSILONS.length * byError.length);
      }
      for (const [error, of] of [
        ['error', 'meanError'],
        ['largest error', 'maxError'],
      ] as const) {
        findings.push({
          what: `${stream}, epsilon ${epsilon}: rank correlation of regret and ${error}`,
          value: rankCorrelation(
            byError.map((it) => it[of]),
            regrets,
          ),
          expected: 1,
        });
      }
    }
    panels.push({
      title: stream,
      x: { label: 'epsilon', log: true },
      y: { label: 'average regret', log: true },
      series: [
        ...byError.map(({ name }, i) => ({ name, x: EPSILONS, ...curves[i]! })),
        { name: 'no privacy', x: EPSILONS, y: twin },
        ...byError.flatMap(({ name }, i) =>
          BOUNDED.includes(name) ? boundOf(name, EPSILONS, bounds[i]!) : [],
        ),
      ],
    });
  }
  const learner = 'logistic loss, unit ball, lambda sqrt(steps)';
  return result('regret', 'Regret and privacy', {
    settings: { steps, repeats, ...TARGET, learner, leftOut: leftOut.join('; ') },
    panels,
    findings,
  });
}

export const regret: Experiment = {
  summary: 'regret against epsilon, all mechanisms on three streams',
  size: { steps: 1024, repeats: 10 },
  run,
};
