// SPDX-License-Identifier: Apache-2.0

// Compares the largest error over all steps of a stream with its simultaneous bounds.

import type { DpFtrl, MechanismName } from '../../wasm/src/types/all.ts';
import type { Panel } from '../../wasm/src/plot/picture.ts';
import { boundOf, result, type Experiment, type Size } from './experiment.ts';
import type { Result } from './result.ts';

const MECHANISMS: readonly MechanismName[] = ['tree', 'square-root', 'optimal'];
/** Probabilities of exceeding a bound. */
const BETAS = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const SHOWN = 0.05;
/** Unit noise is rounded to integers at this scale, which leaves four digits unchanged. */
const SCALE = 2 ** 16;
/** Number of streams simulated at once. */
const BLOCK = 2048;

/** Yields the completed fraction; returns the largest error of each stream, in ascending order. */
function* largestErrors(
  dp: DpFtrl,
  mechanism: MechanismName,
  numSteps: number,
  numStreams: number,
): Generator<number, Float64Array> {
  const { sensitivity } = dp.error({ strategy: mechanism, steps: numSteps });
  const largest = new Float64Array(numStreams);
  for (let first = 0; first < numStreams; first += BLOCK) {
    const dimension = Math.min(BLOCK, numStreams - first);
    const noise = dp.noise({
      strategy: mechanism,
      steps: numSteps,
      dimension,
      insecureSeed: first + 1,
    });
    try {
      for (let step = 0; step < numSteps; ++step) {
        const row = noise.rounded({ numRows: 1, scale: SCALE });
        for (let i = 0; i < dimension; ++i) {
          const error = (Math.abs(row[i]!) / SCALE) * sensitivity;
          if (error > largest[first + i]!) largest[first + i] = error;
        }
      }
    } finally {
      noise.dispose();
    }
    yield (first + dimension) / numStreams;
  }
  return largest.sort();
}

function* run(dp: DpFtrl, { steps: numSteps, repeats }: Size): Generator<number, Result> {
  const betas = BETAS.filter((beta) => beta * repeats >= 1);
  const panel: Panel = {
    title: 'all steps of a stream, in units of the noise',
    x: { label: 'chance of a larger error at some step', log: true },
    y: { label: 'largest error', log: false },
    series: [],
  };
  const findings: Result['findings'] = [];
  for (const [k, mechanism] of MECHANISMS.entries()) {
    const work = largestErrors(dp, mechanism, numSteps, repeats);
    let next = work.next();
    for (; !next.done; next = work.next()) yield (k + next.value) / MECHANISMS.length;
    const largest = next.value;
    const measured = betas.map((beta) => largest[Math.ceil((1 - beta) * repeats) - 1]!);
    const boundAt = (beta: number) =>
      dp.error({ strategy: mechanism, steps: numSteps, beta }).simultaneousError!;
    const bounds = betas.map(boundAt);
    panel.series.push({ name: mechanism, x: betas, y: measured });
    panel.series.push(...boundOf(mechanism, betas, bounds));
    const bound = boundAt(SHOWN);
    const beyond = largest.filter((error) => error > bound).length / repeats;
    findings.push({
      what: `${mechanism}: share of streams beyond the bound`,
      value: beyond,
      expected: SHOWN,
    });
    const shown = largest[Math.ceil((1 - SHOWN) * repeats) - 1]!;
    findings.push({
      what: `${mechanism}: the bound over what ${1 - SHOWN} of streams keep to`,
      value: bound / shown,
    });
  }
  return result('error-tail', `Largest error of all steps, and its bound for ${SHOWN}`, {
    settings: { steps: numSteps, repeats, beta: SHOWN, noise: 'fixed seeds' },
    panels: [panel],
    findings,
  });
}

export const errorTail: Experiment = {
  summary:
    'largest error over all steps of a stream, and the bound that a share of streams keeps to',
  size: { steps: 1024, repeats: 100_000 },
  run,
};
