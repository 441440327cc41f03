// SPDX-License-Identifier: Apache-2.0

// Defaults shared by package, command and page. A list of names begins with its default.

import type { MechanismName } from '../types/mechanism.js';

export const DEFAULT_MECHANISM: MechanismName = 'optimal';

/**
 * Largest horizon at which the optimum by dense matrices is quick; beyond it, the search takes
 * seconds.
 */
export const MAX_QUICK_DENSE_STEPS = 128;
/** Largest horizon for which 'normalized-square-root' has row norms for every window and weight. */
const MAX_NORMALIZED_STEPS = 2 ** 16;

/**
 * Default mechanism of releases. Running totals, which include windows as long as the horizon, and
 * decaying sums have a fast optimum at any horizon.
 */
export function defaultMechanism(numSteps: number, hasQuickOptimum: boolean): MechanismName {
  if (hasQuickOptimum || numSteps <= MAX_QUICK_DENSE_STEPS) return DEFAULT_MECHANISM;
  return numSteps <= MAX_NORMALIZED_STEPS ? 'normalized-square-root' : 'square-root';
}

/** The mechanism of pure-DP totals, and the parameters that it accepts. */
export const PURE_MECHANISM: MechanismName = 'tree-k';
export const PURE_PARAMETERS: readonly string[] = ['arity', 'subtractive'];
/** Default mechanism of pure-DP sums of single steps. */
export const PURE_STEPS_MECHANISM: MechanismName = 'independent';

/** The pure-DP mechanism for sums of single steps, or for prefix sums. */
export function pureMechanism(isOfSteps: boolean): MechanismName {
  return isOfSteps ? PURE_STEPS_MECHANISM : PURE_MECHANISM;
}

/** In input units. */
export const DEFAULT_CLIP = 1;

/** Confidence of each interval of a statistic. */
export const DEFAULT_CONFIDENCE = 0.95;

/** Largest number of features, intercept included, of which the core releases second moments. */
export const MAX_MOMENTS_DIMENSION = 512;

export const NEIGHBOURS = ['zero-out', 'replace-one'] as const;

/** Probability that the regret exceeds its high-probability bound. */
export const DEFAULT_FAILURE = 0.05;

/** Errors that a mechanism can be optimised for. */
export const OBJECTIVES = ['max', 'mean'] as const;

/**
 * Mean squared error of the binary tree over that of the square root, as the steps grow: 10.27
 * (Henzinger, Upadhyay and Upadhyay 2023).
 */
export const TREE_LIMIT = (Math.PI / Math.LN2) ** 2 / 2;

/** Constructions of a release. */
export const MODES = ['grid', 'lattice'] as const;
export const LATTICE_NOISES = ['discrete-gaussian', 'rounded-gaussian'] as const;

/** Measurement strategies for linear queries. */
export const MEASUREMENTS = ['optimal', 'identity', 'queries'] as const;
