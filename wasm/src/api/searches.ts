// SPDX-License-Identifier: Apache-2.0

// Runs slow searches for the parameters of mechanisms piece by piece before the mechanisms are
// used, for callers who show progress or may cancel.

import { Reader } from '../core/check.js';
import type { CoreProblem } from '../core/core.js';
import { given } from '../core/given.js';
import { DEFAULT_MECHANISM, MAX_QUICK_DENSE_STEPS } from '../shared/defaults.js';
import type { ParameterName } from '../shared/parameters.js';
import type { CertificateOptions, CheckedCertificate, DpFtrl } from '../types/all.js';
import type { MechanismName, Problem } from '../types/all.js';
import type { OptimizeOptions, Progress, Search } from '../types/all.js';
import type { SavedStrategy, SearchLimits, UnitError, UnitErrorOptions } from '../types/all.js';
import type { Strategy, StrategyParameters } from '../types/streams/options.js';
import type { Optimization } from './optimization.js';
import { defaultOf } from './options.js';
import { readProblem } from './problem.js';

/** A computation that runs piece by piece. */
export type Pieces<T> = Generator<Progress, T, void>;

/**
 * Largest horizons at which the search for the best parameters is quick; beyond them, it takes
 * several seconds.
 */
const MAX_QUICK_STEPS: Partial<Record<MechanismName, number>> = {
  optimal: 2 ** 17,
  'blt-normalized': 2 ** 14,
  'blt-scaled': 2 ** 8,
  'banded-toeplitz': 2 ** 16,
  banded: 128,
};

/** Parameters that leave nothing to search, or modify the mechanism found. */
const NOT_SEARCHED: readonly ParameterName[] = [
  'decays',
  'weights',
  'normalizeColumns',
  'epochLength',
  'completeEpochs',
];

/**
 * Largest horizon at which the search for a mechanism is quick; undefined if it has no search, or a
 * quick one at any horizon.
 */
export function quickLimit(
  name: MechanismName,
  problem: CoreProblem,
  { denseSteps, epochSteps, epochSumSteps }: SearchLimits,
  objective?: 'max' | 'mean',
): number | undefined {
  const { steps, workload, participation } = problem;
  const { kind, momentum } = workload;
  const isOther = kind === 'window' || kind === 'matrix' || kind === 'rates' || momentum !== 0;
  const isDense = isOther && steps <= denseSteps;
  const maxEpochSteps = isOther || objective !== 'mean' ? epochSteps : epochSumSteps;
  const hasEpochs = participation.kind === 'fixed-epoch' && steps <= maxEpochSteps;
  return name === 'optimal' && (isDense || hasEpochs)
    ? MAX_QUICK_DENSE_STEPS
    : MAX_QUICK_STEPS[name];
}

/** Options that a strategy depends on, not yet checked. */
interface StrategyOptions extends Problem {
  strategy?: Strategy;
  delta?: number;
}

/** Options of the search that a strategy needs, if it is slow. */
function longSearch(
  { strategies }: DpFtrl,
  { steps, workload, people, participation, strategy, ...others }: StrategyOptions,
): OptimizeOptions | undefined {
  // Pure-DP trees need no search, and sums derive their strategy from their workloads.
  if (others.delta === 0 || 'workloads' in others) return undefined;
  const own = typeof strategy === 'object' ? strategy : given({ name: strategy });
  if ('format' in own || 'encoder' in own || NOT_SEARCHED.some((name) => name in own))
    return undefined;
  const bound = people ?? participation ?? 'once';
  const reader = new Reader('search', { steps, workload, participation: bound });
  const problem = readProblem(reader);
  const { name = defaultOf(problem), bands, buffers, objective } = own as StrategyParameters;
  const limits = strategies.find((it) => it.name === DEFAULT_MECHANISM)!.limits!;
  const limit = quickLimit(name, problem, limits, objective);
  if (limit === undefined || steps <= limit) return undefined;
  const searched = given({ name, bands, buffers, objective }) as StrategyParameters;
  return given({ steps, workload, participation: bound, strategy: searched }) as OptimizeOptions;
}

/** Runs a search to its end, yields its progress and returns its result. */
export function* inPieces<T>(search: Search<T>): Pieces<T> {
  try {
    yield* search;
    return search.result();
  } finally {
    search.dispose();
  }
}

/**
 * Runs the search for the mechanism of these options; undefined if there is none, or it is quick.
 */
function* searchFor(api: DpFtrl, options: object): Pieces<SavedStrategy | undefined> {
  let search: OptimizeOptions | undefined;
  try {
    search = longSearch(api, options as Problem);
  } catch {
    // The function that the options are meant for reports their faults.
  }
  if (!search) return undefined;
  const optimization = api.optimize(search) as Optimization;
  try {
    yield* optimization;
    return optimization.found();
  } finally {
    optimization.dispose();
  }
}

/** Searches for the mechanism first if that is slow, and puts it into the options. */
export function* foundFirst<Options extends object>(
  api: DpFtrl,
  options: Options,
): Pieces<Options> {
  const saved = yield* searchFor(api, options);
  return saved === undefined ? options : { ...options, strategy: saved };
}

/** Adds the ratio of the targeted error to the lower bound for every factorization, and the gap. */
export function rated<
  Result extends Pick<UnitError, 'objective' | 'maxError' | 'meanError' | 'lowerBound'>,
>(result: Result): Result & Pick<UnitError, 'ratio' | 'gap'> {
  const { objective, maxError, meanError, lowerBound } = result;
  if (lowerBound === null) return { ...result, ratio: null, gap: null };
  const ratio = (objective === 'max' ? maxError : meanError) / lowerBound;
  return { ...result, ratio, gap: ratio - 1 };
}

/**
 * Replaces the lower bound of the result, which evaluating the saved strategy proved, by the bound
 * that the search proved, if that is higher.
 *
 * @param distance  distance between neighbours, in clip norms, by which the result is scaled.
 */
function withBound<Result extends UnitError | CheckedCertificate>(
  result: Result,
  saved: SavedStrategy,
  distance: number,
): Result {
  const { lowerBound, boundMethod, lowerBoundMinDimension = 1 } = saved;
  const own = lowerBound === null ? 0 : lowerBound * distance;
  if (own <= (result.lowerBound ?? 0)) return result;
  const everywhere = saved.lowerBoundEveryDimension ?? lowerBound ?? 0;
  const known = result.lowerBoundEveryDimension ?? 0;
  return rated({
    ...result,
    lowerBound: own,
    boundMethod,
    lowerBoundMinDimension,
    lowerBoundEveryDimension: Math.max(everywhere * distance, known),
  });
}

export function* errorInPieces(api: DpFtrl, options: UnitErrorOptions): Pieces<UnitError> {
  const saved = yield* searchFor(api, options);
  if (saved === undefined) return api.error(options);
  const error = api.error({ ...options, strategy: saved });
  return withBound(error, saved, error.neighbours === 'replace-one' ? 2 : 1);
}

export function* certificateInPieces(
  api: DpFtrl,
  options: CertificateOptions,
): Pieces<CheckedCertificate> {
  const saved = yield* searchFor(api, options);
  if (saved === undefined) return api.certificate(options);
  // The errors and the bound of a certificate are at unit noise, for either kind of neighbours.
  return withBound(api.certificate({ ...options, strategy: saved }), saved, 1);
}
