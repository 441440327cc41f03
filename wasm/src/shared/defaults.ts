// SPDX-License-Identifier: Apache-2.0

// Defaults that facade, command and page share. A list of names begins with its default.

import type { MechanismName } from '../types/mechanism.js';

export const DEFAULT_MECHANISM: MechanismName = 'optimal';

/** Largest horizon up to which the optimum of dense matrices is quick; beyond, it takes seconds. */
export const MAX_QUICK_DENSE_STEPS = 128;
/** Largest horizon for which 'normalized-square-root' has row norms for every window and weight. */
const MAX_NORMALIZED_STEPS = 2 ** 16;

/**
 * Returns the mechanism of releases if none is named. At any horizon there is a quick optimum for
 * running totals, which includes windows as long as the horizon, and for decaying sums.
 */
export function defaultMechanism(numSteps: number, hasQuickOptimum: boolean): MechanismName {
  if (hasQuickOptimum || numSteps <= MAX_QUICK_DENSE_STEPS) return DEFAULT_MECHANISM;
  return numSteps <= MAX_NORMALIZED_STEPS ? 'normalized-square-root' : 'square-root';
}

/** The mechanism of totals without a delta, and the parameters that it accepts. */
export const PURE_MECHANISM: MechanismName = 'tree-k';
export const PURE_PARAMETERS: readonly string[] = ['arity', 'subtractive'];
/** The mechanism without a delta of sums of single steps. */
export const PURE_STEPS_MECHANISM: MechanismName = 'independent';

/** Returns the mechanism without a delta for sums of single steps, or for all running totals. */
export function pureMechanism(isOfSteps: boolean): MechanismName {
  return isOfSteps ? PURE_STEPS_MECHANISM : PURE_MECHANISM;
}

/** In input units. */
export const DEFAULT_CLIP_NORM = 1;

/** Confidence of each interval of a statistic. */
export const DEFAULT_CONFIDENCE = 0.95;

/** Most features of a row, intercept included, for which the core releases second moments. */
export const MAX_MOMENTS_DIMENSION = 512;

export const NEIGHBOURS = ['zero-out', 'replace-one'] as const;

/** Errors that a mechanism can be optimised for. */
export const OBJECTIVES = ['max', 'mean'] as const;

/** Constructions of a release. */
export const MODES = ['grid', 'lattice'] as const;
export const LATTICE_NOISES = ['discrete-gaussian', 'rounded-gaussian'] as const;

/** Measurement strategies for linear queries. */
export const MEASUREMENTS = ['optimal', 'identity', 'queries'] as const;
