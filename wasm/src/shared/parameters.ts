// SPDX-License-Identifier: Apache-2.0

// The one table of mechanism parameters, from which checks, options, help, the page's controls and
// the guide's table are derived. The core's catalogue decides which mechanism takes which
// parameter, and the range of its values.

import type { MechanismParameters } from '../types/mechanism.js';

export type ParameterKind = 'count' | 'number' | 'numbers' | 'flag' | 'objective';
export type ParameterName = keyof MechanismParameters;

export const PARAMETERS: Readonly<Record<ParameterName, ParameterKind>> = {
  bands: 'count',
  buffers: 'count',
  objective: 'objective',
  decays: 'numbers',
  weights: 'numbers',
  arity: 'count',
  subtractive: 'flag',
  nu: 'number',
  lambda: 'number',
  alpha: 'number',
  loglogPower: 'number',
  horizonCap: 'count',
  epochLength: 'count',
  completeEpochs: 'flag',
  normalizeColumns: 'flag',
};

export const PARAMETER_NAMES = Object.keys(PARAMETERS) as ParameterName[];

/**
 * Parameters that every mechanism for prefix sums takes, although `completeEpochs` may be true for
 * `tree` and `honaker` only; the others belong to some mechanisms only.
 */
export const GENERAL: readonly ParameterName[] = [
  'normalizeColumns',
  'epochLength',
  'completeEpochs',
];

/** Help text of a parameter. */
interface ParameterHelp {
  /** Placeholder for the value in a help text; a flag has none. */
  value?: string;
  /** One sentence, without the default if the core chooses it. */
  meaning: string;
}

/**
 * Kept apart from the kinds of parameters, so that the library does not include these sentences.
 */
export const EXPLAINED: Readonly<Record<ParameterName, ParameterHelp>> = {
  bands: { value: 'B', meaning: 'Number of diagonals that are kept, the main one included.' },
  buffers: {
    value: 'K|exact',
    meaning:
      'Number of fading sums that stand in for the past: by default optimal has 8, and with exact ' +
      'as many as full accuracy needs.',
  },
  objective: {
    value: 'max|mean',
    meaning: 'Which error is made small: that of the worst step (max, the default), or the mean.',
  },
  decays: {
    value: 'A,B,...',
    meaning:
      'How much of each buffer lasts a step, from 0 to below 1; by default chosen for the steps.',
  },
  weights: { value: 'A,B,...', meaning: 'What each buffer adds, one number for every decay.' },
  arity: { value: 'A', meaning: 'Number of children of a node.' },
  subtractive: {
    meaning: 'Totals may also subtract nodes, if the arity is odd: fewer of them are needed.',
  },
  nu: { value: 'V', meaning: 'Coefficient j of the square root is multiplied by (1 - nu)^j.' },
  lambda: { value: 'L', meaning: 'Share of the noise of the last step that is taken back.' },
  alpha: { value: 'A', meaning: 'The error grows like the logarithm to the power 1 + alpha.' },
  loglogPower: { value: 'D', meaning: 'Power of the iterated logarithm in the coefficients.' },
  horizonCap: {
    value: 'N',
    meaning: 'Number of steps the noise is scaled for: at least the horizon, which is the default.',
  },
  epochLength: {
    value: 'E',
    meaning: 'Steps after which any mechanism starts afresh; by default it never does.',
  },
  completeEpochs: {
    meaning: 'Trees: a finished epoch is filled up to a power of two, and leaves one node behind.',
  },
  normalizeColumns: {
    meaning:
      'Scales the columns of C of any mechanism to length 1, so that all records count alike.',
  },
};

export function optionOf(name: ParameterName): string {
  if (name === 'normalizeColumns') return 'normalize';
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
