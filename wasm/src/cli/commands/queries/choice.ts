// SPDX-License-Identifier: Apache-2.0

// Chooses the noise of dp-ftrl queries: Laplace or Gaussian, whichever has the smaller error.

import { inPieces } from '../../../api/searches.js';
import type { DpFtrl, LinearQueries, LinearQueriesOptions } from '../../../types/all.js';
import { ProgressLine, watch } from '../../output/progress.js';
import type { Choice, NoiseCandidate } from '../stream/choice.js';

export interface ChosenQueries {
  queries: LinearQueries;
  /** Undefined if only one kind of noise is possible. */
  choice: Choice<number> | undefined;
}

/** The kind of noise, with the error of the answers that the objective minimises. */
function noiseOf(
  { noise, standardErrors }: LinearQueries,
  { name, objective }: { name: string; objective: LinearQueriesOptions['objective'] },
): NoiseCandidate<number> {
  const squares = Array.from(standardErrors, (std) => std * std);
  const mean = squares.reduce((sum, square) => sum + square, 0) / squares.length;
  const max = squares.reduce((most, square) => Math.max(most, square), 0);
  return {
    noise: noise === 'laplace' ? 'Laplace' : 'Gaussian',
    mechanism: name,
    std: Math.sqrt(objective === 'max' ? max : mean),
  };
}

/**
 * Searches for measurements with one kind of noise or with both. Laplace noise has no delta, so its
 * guarantee is stronger. Under a budget, both are charged to one account, in which Laplace noise
 * costs far more than Gaussian noise with the same guarantee, so the caller sets `isGaussian`.
 *
 * @param name  name of the measurements.
 * @param isGaussian  whether to choose Gaussian noise unless delta is 0.
 */
export async function chooseQueries(
  dp: DpFtrl,
  options: LinearQueriesOptions,
  { name, quiet, isGaussian }: { name: string; quiet: boolean; isGaussian: boolean },
): Promise<ChosenQueries> {
  const find = (delta: number): Promise<LinearQueries> => {
    const search = dp.queries.linear({ ...options, delta });
    if (quiet) return Promise.resolve(search.result());
    return watch(inPieces(search), new ProgressLine('queries: measurements'));
  };
  const { delta, objective } = options;
  const asked = await find(delta);
  if (delta === 0 || isGaussian) return { queries: asked, choice: undefined };
  const laplace = await find(0);
  const ours = noiseOf(asked, { name, objective });
  const pure = noiseOf(laplace, { name, objective });
  const isPure = pure.std < ours.std;
  (isPure ? asked : laplace).dispose();
  return {
    queries: isPure ? laplace : asked,
    choice: isPure ? { ...pure, next: ours } : { ...ours, next: pure },
  };
}
