// SPDX-License-Identifier: Apache-2.0

// Compares DP-FTRL with correlated noise to DP-SGD with independent noise, at the same budget.

import type { DpFtrl, SimulationOptions } from '../../wasm/src/types/all.ts';
import type { Panel, Series } from '../../wasm/src/plot/picture.ts';
import { boundOf, meanOf, ready, regretOf, repeated, result } from './experiment.ts';
import type { Experiment, Ready, Size } from './experiment.ts';
import { standardError, type Result } from './result.ts';

const EPSILONS = [0.25, 0.5, 1, 2, 4, 8, 16];
const TARGET = { delta: 1e-6, dimension: 10, stream: 'stationary' } as const;
/** Factors on the theorem's lambda, tried in addition to 1. */
const FACTORS = [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2];

interface Learner extends Pick<SimulationOptions, 'descent'> {
  name: string;
  ready: Ready;
}

function learnersOf(dp: DpFtrl, steps: number): Learner[] {
  const [optimal, tree, independent] = (['optimal', 'tree', 'independent'] as const).map((name) =>
    ready(dp, { name }, { steps }),
  );
  return [
    { name: 'DP-FTRL, optimal', ready: optimal! },
    { name: 'DP-FTRL, tree', ready: tree! },
    { name: 'DP-FTRL, independent noise', ready: independent! },
    { name: 'DP-SGD, independent noise', ready: independent!, descent: {} },
    { name: 'descent, optimal', ready: optimal!, descent: {} },
  ];
}

/** Measures runs with one lambda: mean regret, its standard error, its bound, the twin's regret. */
function measure(dp: DpFtrl, learner: Learner, options: SimulationOptions, repeats: number) {
  const runs = repeated(repeats, (seed) =>
    regretOf(dp, {
      ...options,
      ...(learner.descent && { descent: learner.descent }),
      ...TARGET,
      strategy: learner.ready.strategy,
      streamSeed: seed,
      noiseSeed: seed,
    }),
  );
  return {
    regret: meanOf(runs, (it) => it.private),
    spread: standardError(runs.map((it) => it.private)),
    twin: meanOf(runs, (it) => it.twin),
    bound: runs[0]!.bound,
    lambda: runs[0]!.lambda.private,
  };
}

function panelOf(
  title: string,
  {
    learners,
    points,
    others,
  }: {
    learners: readonly Learner[];
    points: Measured[][];
    others: Series[];
  },
): Panel {
  return {
    title,
    x: { label: 'epsilon', log: true },
    y: { label: 'average regret', log: true },
    series: [
      ...learners.map(({ name }, i) => ({
        name,
        x: EPSILONS,
        y: points[i]!.map((it) => it.regret),
        spread: points[i]!.map((it) => it.spread),
      })),
      ...others,
    ],
  };
}

type Measured = ReturnType<typeof measure>;

function* run(dp: DpFtrl, { steps, repeats }: Size): Generator<number, Result> {
  const learners = learnersOf(dp, steps);
  const atTheorem = learners.map(() => [] as Measured[]);
  const atBest = learners.map(() => [] as Measured[]);
  let leastTwin = Infinity;
  let done = 0;
  for (const epsilon of EPSILONS) {
    for (const [i, learner] of learners.entries()) {
      const options = { steps, epsilon, delta: TARGET.delta };
      const first = measure(dp, learner, options, repeats);
      const tries = FACTORS.map((factor) =>
        measure(dp, learner, { ...options, lambda: factor * first.lambda }, repeats),
      );
      const best = tries.reduce((a, b) => (b.regret < a.regret ? b : a), first);
      atTheorem[i]!.push(first);
      // The twin has a different best lambda, the same at every epsilon.
      leastTwin = Math.min(leastTwin, ...[first, ...tries].map((it) => it.twin));
      atBest[i]!.push(best);
      yield ++done / (EPSILONS.length * learners.length);
    }
  }
  const share = (points: Measured[][], i: number) => points[0]![i]!.regret / points[3]![i]!.regret;
  return result('sgd', 'Correlated and independent noise at the same budget', {
    settings: { steps, repeats, ...TARGET, learner: 'logistic loss, unit ball' },
    panels: [
      panelOf("each theorem's lambda", {
        learners,
        points: atTheorem,
        others: [
          {
            name: "FTRL without privacy, theorem's lambda",
            x: EPSILONS,
            y: atTheorem[0]!.map((it) => it.twin),
          },
          ...learners.flatMap(({ name }, i) =>
            boundOf(
              name,
              EPSILONS,
              atTheorem[i]!.map((it) => it.bound),
            ),
          ),
        ],
      }),
      panelOf('the best lambda in hindsight (NOT private)', {
        learners,
        points: atBest,
        others: [
          { name: 'no privacy, best lambda', x: EPSILONS, y: EPSILONS.map(() => leastTwin) },
        ],
      }),
    ],
    findings: EPSILONS.flatMap((epsilon, i) => [
      {
        what: `epsilon ${epsilon}: regret of DP-FTRL over that of DP-SGD, theorem's lambda`,
        value: share(atTheorem, i),
      },
      { what: `epsilon ${epsilon}: the same, best lambda`, value: share(atBest, i) },
    ]),
  });
}

export const sgd: Experiment = {
  summary: 'DP-FTRL against DP-SGD with independent noise, at the same budget',
  size: { steps: 2048, repeats: 10 },
  run,
};
