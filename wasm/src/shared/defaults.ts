// SPDX-License-Identifier: Apache-2.0

// Defaults that facade, command and page share. A list of names begins with its default.

import type { MechanismName } from '../types/mechanism.js';

export const DEFAULT_MECHANISM: MechanismName = 'optimal';

/** Beyond so many steps the optimum of dense matrices takes seconds. */
export const MAX_QUICK_DENSE_STEPS = 128;
/** The largest horizon of the row norms of 'normalized-square-root' for windows and weights. */
const MAX_NORMALIZED_STEPS = 2 ** 16;

/**
 * The mechanism of releases where none is named. There is a quick optimum at any horizon for running
 * totals, and windows as long as the horizon are such; and for decaying sums.
 */
export function defaultMechanism(numSteps: number, hasQuickOptimum: boolean): MechanismName {
  if (hasQuickOptimum || numSteps <= MAX_QUICK_DENSE_STEPS) return DEFAULT_MECHANISM;
  return numSteps <= MAX_NORMALIZED_STEPS ? 'normalized-square-root' : 'square-root';
}

/** The mechanism of totals without a delta, and the parameters that it takes there. */
export const PURE_MECHANISM: MechanismName = 'tree-k';
export const PURE_PARAMETERS: readonly string[] = ['arity', 'subtractive'];

/** In input units. */
export const DEFAULT_CLIP_NORM = 1;

/** Confidence of each interval of a statistic. */
export const DEFAULT_CONFIDENCE = 0.95;

/** Features of a row of which the core releases second moments, the intercept included. */
export const MAX_MOMENTS_DIMENSION = 512;

export const NEIGHBOURS = ['zero-out', 'replace-one'] as const;

/** Errors that a mechanism can be made for. */
export const OBJECTIVES = ['max', 'mean'] as const;

/** Constructions of a release. */
export const MODES = ['grid', 'lattice'] as const;
export const LATTICE_NOISES = ['discrete-gaussian', 'rounded-gaussian'] as const;

/** Ways to measure for linear queries. */
export const MEASUREMENTS = ['optimal', 'identity', 'queries'] as const;
