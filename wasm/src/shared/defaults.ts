// SPDX-License-Identifier: Apache-2.0

// Defaults that facade, command and page share. A list of names begins with its default.

import type { MechanismName } from '../types/mechanism.js';

export const DEFAULT_MECHANISM: MechanismName = 'optimal';

/** The mechanism of totals without a delta, and the parameters that it takes there. */
export const PURE_MECHANISM: MechanismName = 'tree-k';
export const PURE_PARAMETERS: readonly string[] = ['arity', 'subtractive'];

/** In input units. */
export const DEFAULT_CLIP_NORM = 1;

export const NEIGHBOURS = ['zero-out', 'replace-one'] as const;

/** Errors that a mechanism can be made for. */
export const OBJECTIVES = ['max', 'mean'] as const;

/** Constructions of a release. */
export const MODES = ['grid', 'lattice'] as const;
export const LATTICE_NOISES = ['discrete-gaussian', 'rounded-gaussian'] as const;

/** Ways to measure for linear queries. */
export const MEASUREMENTS = ['optimal', 'identity', 'queries'] as const;
