// SPDX-License-Identifier: Apache-2.0

// Compares one factorization for several passes over the same examples with a restart at each pass.

import type { DpFtrl, StrategyParameters, Table } from '../../wasm/src/types/all.ts';
import { meanOf, ready, regretOf, repeated, result } from './experiment.ts';
import type { Experiment, Ready, Size } from './experiment.ts';
import { mean, standardError, type Result } from './result.ts';

const TARGET = { epsilon: 2, delta: 1e-6, numColumns: 10 };
const PASSES = [1, 2, 4, 8];

/** Reproducible uniform numbers in [0, 1), from a counter through a mixing function. */
function uniforms(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let bits = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** `numRows` examples of unit norm with noisy labels along a fixed direction, `passes` times. */
function tableOf(numRows: number, passes: number, seed: number): Table {
  const { numColumns } = TARGET;
  const random = uniforms(seed);
  const row = () => {
    const values = Array.from({ length: numColumns }, () => random() + random() + random() - 1.5);
    const norm = Math.hypot(...values);
    return values.map((value) => value / norm);
  };
  const direction = row();
  const once = Array.from({ length: numRows }, row);
  const labels = once.map((x) => {
    const margin = x.reduce((sum, value, j) => sum + value * direction[j]!, 0);
    return Number(random() < 1 / (1 + Math.exp(-10 * margin)));
  });
  const all = <T>(list: T[]) => Array.from({ length: passes }, () => list).flat();
  return {
    numRows: numRows * passes,
    numColumns,
    values: Float64Array.from(all(once).flat()),
    labels: Float64Array.from(all(labels)),
  };
}

function contenders(dp: DpFtrl, length: number, epochs: number): Ready[] {
  const problem = { steps: length * epochs, participation: { epochs } };
  const restart = { epochLength: length };
  const completed = { ...restart, completeEpochs: true };
  const all: [strategy: StrategyParameters, name: string][] = [
    [{ name: 'blt' }, 'one factorization: blt'],
    [{ name: 'banded-square-root', bands: length }, 'one factorization: banded square root'],
    [{ name: 'square-root', ...restart }, 'restarts: square root'],
    [{ name: 'tree', ...completed }, 'restarts: tree, completed'],
    [{ name: 'honaker', ...completed }, 'restarts: honaker, completed'],
    [{ name: 'independent' }, 'independent noise'],
  ];
  return all.map(([strategy, name]) => ready(dp, strategy, problem, name));
}

interface Curve {
  name: string;
  x: number[];
  errors: number[];
  regrets: number[];
  spread: number[];
}

function* run(dp: DpFtrl, { steps, repeats }: Size): Generator<number, Result> {
  const curves: Curve[] = [];
  const twins: number[] = [];
  for (const [done, epochs] of PASSES.entries()) {
    for (const [i, { name, strategy, meanError }] of contenders(dp, steps, epochs).entries()) {
      const runs = repeated(repeats, (seed) =>
        regretOf(dp, {
          strategy,
          steps: steps * epochs,
          participation: { epochs },
          epsilon: TARGET.epsilon,
          delta: TARGET.delta,
          table: tableOf(steps, epochs, seed),
          noiseSeed: seed,
        }),
      );
      const regrets = runs.map((it) => it.private);
      const curve = (curves[i] ??= { name, x: [], errors: [], regrets: [], spread: [] });
      curve.x.push(epochs);
      curve.errors.push(meanError);
      curve.regrets.push(mean(regrets));
      curve.spread.push(standardError(regrets));
      if (i === 0) twins.push(meanOf(runs, (it) => it.twin));
      yield (done + (i + 1) / 6) / PASSES.length;
    }
  }
  const last = PASSES.length - 1;
  const [one, restarts] = [curves[1]!, curves[2]!];
  const passes = { label: 'passes', log: true };
  return result('epochs', 'Several passes: one factorization or restarts', {
    settings: { steps, repeats, ...TARGET, learner: "logistic loss, unit ball, theorem's lambda" },
    panels: [
      {
        title: 'error of the sums',
        x: passes,
        y: { label: 'root mean square error, unit noise', log: true },
        series: curves.map(({ name, x, errors }) => ({ name, x, y: errors })),
      },
      {
        title: 'learning',
        x: passes,
        y: { label: 'average regret over all passes', log: true },
        series: [
          ...curves.map(({ name, x, regrets, spread }) => ({ name, x, y: regrets, spread })),
          { name: 'no privacy', x: PASSES, y: twins },
        ],
      },
    ],
    findings: [
      {
        what: `${PASSES[last]} passes: error of restarts (square root) over one factorization (bands)`,
        value: restarts.errors[last]! / one.errors[last]!,
      },
      { what: 'the same for regret', value: restarts.regrets[last]! / one.regrets[last]! },
    ],
  });
}

export const epochs: Experiment = {
  summary: 'several passes: one factorization for all, or restarts with completion',
  size: { steps: 512, repeats: 10 },
  run,
};
