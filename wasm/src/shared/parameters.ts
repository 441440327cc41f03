// SPDX-License-Identifier: Apache-2.0

// The only table of the parameters of mechanisms. The facade's checks, the command's options and
// help, the page's controls and the guide's table come from it. The core's catalogue decides which
// mechanism takes which parameter, and which values are out of range.

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
 * Parameters that every mechanism for prefix sums takes; the others belong to some mechanisms only.
 */
export const GENERAL: readonly ParameterName[] = [
  'normalizeColumns',
  'epochLength',
  'completeEpochs',
];

/** Help text of a parameter. */
interface Explained {
  /** Placeholder for the value in a help text; a flag has none. */
  value?: string;
  /** One sentence, without the default if the core chooses it. */
  meaning: string;
}

/** Separate from the kinds, so that the library does not include the sentences. */
export const EXPLAINED: Readonly<Record<ParameterName, Explained>> = {
  bands: { value: 'B', meaning: 'Number of diagonals that are kept, the main one included.' },
  buffers: {
    value: 'K|exact',
    meaning:
      'Number of fading sums that stand in for the past; for optimal 8 by default, or exact.',
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
  nu: { value: 'V', meaning: 'Share that fades in a step; 0 for none.' },
  lambda: { value: 'L', meaning: 'Share of the noise of the last step that is taken back.' },
  alpha: { value: 'A', meaning: 'The error grows like the logarithm to the power 1 + alpha.' },
  loglogPower: { value: 'D', meaning: 'Power of the iterated logarithm in the coefficients.' },
  horizonCap: { value: 'N', meaning: 'Steps that the noise is made for, should the stream go on.' },
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

/** Returns the name of the command's option: `epochLength` -> `epoch-length`. */
export function optionOf(name: ParameterName): string {
  if (name === 'normalizeColumns') return 'normalize';
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
