// SPDX-License-Identifier: Apache-2.0

// Compares errors with the certified lower bound, over horizons and during the optimum's search.

import type { DpFtrl } from '../../wasm/src/types/all.ts';
import type { Series } from '../../wasm/src/plot/picture.ts';
import { ready, result, type Experiment, type Size } from './experiment.ts';
import type { Result } from './result.ts';

const MECHANISMS = ['square-root', 'normalized-square-root', 'blt-normalized', 'optimal'] as const;
/** Largest horizons for which the search is fast. */
const MAX_SEARCHED = { 'blt-normalized': 2 ** 12, optimal: 2 ** 14 };
const MAX_SEARCH_STEPS = 1024;

/** Error and bound after each iteration of the search for the optimum. */
function searchCurves(dp: DpFtrl, numSteps: number): Series[] {
  const [x, errors, bounds]: [number[], number[], number[]] = [[], [], []];
  for (let status = 'not converged'; status === 'not converged'; ) {
    const maxIterations = x.length + 1;
    const strategy = { name: 'optimal', objective: 'mean' } as const;
    const found = dp.optimize({ strategy, steps: numSteps, maxIterations }).result();
    status = found.status;
    if (found.lowerBound === null) break;
    x.push(maxIterations);
    errors.push(found.error);
    bounds.push(found.lowerBound);
  }
  return [
    { name: 'error of the best so far', x, y: errors },
    { name: 'certified lower bound', x, y: bounds },
  ];
}

function* run(dp: DpFtrl, { steps }: Size): Generator<number, Result> {
  const horizons: number[] = [];
  for (let n = 4; n <= steps; n *= 2) horizons.push(n);
  const ratios: Series[] = MECHANISMS.map((name) => ({ name, x: [], y: [] }));
  const schatten: Series = { name: 'Schatten-1 bound', x: horizons, y: [] };
  for (const [done, numSteps] of horizons.entries()) {
    const bounds = dp.bounds({ steps: numSteps });
    schatten.y.push(bounds.schatten / bounds.mean);
    for (const [i, mechanism] of MECHANISMS.entries()) {
      const limit = mechanism in MAX_SEARCHED && MAX_SEARCHED[mechanism as 'optimal'];
      if (limit && numSteps > limit) continue;
      const { meanError } = ready(dp, { name: mechanism }, { steps: numSteps });
      ratios[i]!.x.push(numSteps);
      ratios[i]!.y.push(meanError / bounds.mean);
    }
    yield (done + 1) / (horizons.length + 1);
  }
  const searched = Math.min(steps, MAX_SEARCH_STEPS);
  const search = searchCurves(dp, searched);
  yield 1;
  return result('lower-bound', 'Mean error and the certified lower bound', {
    settings: { steps, noise: 'unit noise multiplier, one participation' },
    panels: [
      {
        title: 'of every factorization, and of these',
        x: { label: 'steps', log: true },
        y: { label: 'mean error / certified bound', log: false },
        series: [...ratios, schatten],
      },
      {
        title: `the search for the optimum of ${searched} steps`,
        x: { label: 'iterations', log: false },
        y: { label: 'mean error', log: false },
        series: search,
      },
    ],
    findings: [
      ...ratios.map(({ name, x, y }) => ({
        what: `${name}: error / bound at ${x.at(-1)} steps`,
        value: y.at(-1)!,
        ...(name === 'optimal' && { expected: 1 }),
      })),
      {
        what: 'search: error / bound at the end',
        value: search[0]!.y.at(-1)! / search[1]!.y.at(-1)!,
        expected: 1,
      },
    ],
  });
}

export const lowerBound: Experiment = {
  summary: 'the certified lower bound closing in on the errors',
  size: { steps: 2 ** 14, repeats: 1 },
  run,
};
