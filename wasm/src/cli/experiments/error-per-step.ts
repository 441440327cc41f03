// SPDX-License-Identifier: Apache-2.0

// The error of every prefix sum, mechanism by mechanism.

import type { DpFtrl } from '../../types.js';
import { ready, result, type Experiment, type Size } from './experiment.js';
import type { Result, Series } from './result.js';

const MECHANISMS = ['tree', 'honaker', 'square-root', 'blt-normalized', 'optimal'] as const;
const MAX_POINTS = 512;

function* run(dp: DpFtrl, { steps }: Size): Generator<number, Result> {
  const stride = Math.ceil(steps / MAX_POINTS);
  const series: Series[] = [];
  const findings: Result['findings'] = [];
  for (const [i, mechanism] of MECHANISMS.entries()) {
    const it = ready(dp, { mechanism }, { numSteps: steps });
    const options = { mechanism: it.mechanism, numSteps: steps };
    const errors = [...dp.errorPerStep(options)];
    const places = errors.map((_, t) => t).filter((t) => t % stride === 0 || t === steps - 1);
    series.push({
      name: mechanism,
      x: places.map((t) => t + 1),
      y: places.map((t) => errors[t]!),
    });
    findings.push({ what: `${mechanism}: root mean square error`, value: it.meanError });
    findings.push({ what: `${mechanism}: largest error`, value: Math.max(...errors) });
    yield (i + 1) / MECHANISMS.length;
  }
  return result('error-per-step', 'Error of each prefix sum', {
    settings: { steps, noise: 'unit noise multiplier, one participation', objective: 'mean' },
    panels: [
      {
        title: `${steps} steps, searched for the least mean square`,
        x: { label: 'step', log: false },
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
