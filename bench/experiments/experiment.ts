// SPDX-License-Identifier: Apache-2.0

// Types and functions shared by the experiments.

import type {
  DpFtrl,
  MechanismName,
  Problem,
  SimulationOptions,
} from '../../wasm/src/types/all.ts';
import type { Strategy, StrategyInfo, StrategyParameters } from '../../wasm/src/types/all.ts';
import type { Series } from '../../wasm/src/plot/picture.ts';
import { mean, type Result } from './result.ts';

/** Size of an experiment: its horizon, and the number of runs with different seeds. */
export interface Size {
  steps: number;
  repeats: number;
}

export interface Experiment {
  /** One-line summary. */
  summary: string;
  size: Size;
  /** Runs the experiment, yielding the completed fraction. */
  run(dp: DpFtrl, size: Size): Generator<number, Result>;
}

export function result(
  name: string,
  title: string,
  rest: Pick<Result, 'settings' | 'panels' | 'findings'>,
): Result {
  return { name, title, ...rest };
}

/** A strategy that is ready for use: any search it needs has been run. */
export interface Ready {
  name: string;
  strategy: Strategy;
  /** RMS error at unit noise multiplier. */
  meanError: number;
  /** Largest error over the steps at unit noise multiplier. */
  maxError: number;
}

const SEARCHED: readonly MechanismName[] = [
  'optimal',
  'blt',
  'blt-normalized',
  'blt-scaled',
  'banded-toeplitz',
  'banded',
];

/**
 * Prepares a strategy for prefix sums and mean error.
 *
 * @param name  to be shown, if not that of the strategy.
 */
export function ready(
  dp: DpFtrl,
  wanted: StrategyParameters,
  problem: Problem,
  name: string = wanted.name,
): Ready {
  const isSearched = SEARCHED.includes(wanted.name) && wanted.epochLength === undefined;
  const strategy = isSearched
    ? dp.optimize({ strategy: { ...wanted, objective: 'mean' }, ...problem }).result()
    : wanted;
  const { meanError, maxError } = dp.error({ strategy, ...problem });
  return { name, strategy, meanError, maxError };
}

/** Prepares every mechanism available at this horizon, and says why others are left out. */
export function allReady(dp: DpFtrl, catalogue: readonly StrategyInfo[], steps: number) {
  const found: Ready[] = [];
  const leftOut: string[] = [];
  for (const { name } of catalogue) {
    try {
      found.push(ready(dp, { name }, { steps }));
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== 'unsupported' && code !== 'invalid_argument') throw error;
      leftOut.push((error as Error).message);
    }
  }
  return { found, leftOut };
}

/**
 * Average regret of a private learner and of its twin after the last step, and the private one's
 * regret bound; null if there is none, or if gradients may be clipped.
 */
export function regretOf(dp: DpFtrl, options: SimulationOptions) {
  const play = dp.study.simulation({ ...options, numRegretPrefixes: 1 });
  try {
    const { regret } = play.advance(options.steps);
    const { regretBound, lambda, clippingImpossible } = play;
    const bound = clippingImpossible && regretBound ? regretBound.private : null;
    return { private: regret.private.at(-1)!, twin: regret.twin.at(-1)!, bound, lambda };
  } finally {
    play.dispose();
  }
}

/**
 * Series with the theoretical bound of the curve with this name; empty if any value is unknown.
 */
export function boundOf(name: string, x: number[], y: readonly (number | null)[]): Series[] {
  const known = y.filter((value) => value !== null);
  return known.length < y.length ? [] : [{ name: `bound: ${name}`, of: name, x, y: known }];
}

/** Runs once for each seed from 1 to `repeats`. */
export function repeated<T>(repeats: number, run: (seed: number) => T): T[] {
  return Array.from({ length: repeats }, (_, i) => run(i + 1));
}

/** Mean of a field over runs. */
export function meanOf<T>(runs: readonly T[], field: (run: T) => number): number {
  return mean(runs.map(field));
}
