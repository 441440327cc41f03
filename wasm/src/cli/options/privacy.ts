// SPDX-License-Identifier: Apache-2.0

// Options for the privacy target and for the definition of neighbours.

import { NEIGHBOURS } from '../../shared/defaults.js';
import type { Neighbours } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { required, type Args } from './args.js';
import { DELTA, EPSILON } from './numbers.js';
import { under } from './option.js';

export const PRIVACY_OPTIONS = under('Privacy', {
  epsilon: {
    value: 'E',
    letter: 'e',
    number: EPSILON,
    meaning:
      'how much one row may reveal: 1 is common, above 10 promises little. Half of it is ' +
      'twice the noise. Further runs on the same data add to it; --budget FILE keeps count',
    brief:
      'how much one row may reveal: 1 is common, above 10 promises little. Further runs add to it; ' +
      '--budget FILE keeps count',
  },
  delta: {
    value: 'D',
    letter: 'd',
    number: DELTA,
    meaning: 'how far that may fail: at most one over the number of rows; 1e-6 is common',
    brief: 'how far that may fail: at most one over the number of rows',
  },
});

export const NEIGHBOURS_OPTION = under('Privacy', {
  neighbours: {
    value: 'R',
    values: NEIGHBOURS,
    meaning:
      'zero-out (default; also add-remove): a row is there or not; replace-one (also ' +
      'replace): it may also be another one',
  },
});

/**
 * Names that other libraries use. Removing a record is zero-out, because an absent record adds zero
 * to a sum.
 */
const NEIGHBOURS_ELSEWHERE: Record<string, Neighbours> = {
  'add-remove': 'zero-out',
  'add-or-remove': 'zero-out',
  'add-or-remove-one': 'zero-out',
  replace: 'replace-one',
  'change-one': 'replace-one',
  substitution: 'replace-one',
};

export function readNeighbours(args: Args): Neighbours {
  const text = args.text('neighbours');
  const known = text !== undefined && Object.hasOwn(NEIGHBOURS_ELSEWHERE, text);
  if (known) return NEIGHBOURS_ELSEWHERE[text]!;
  return args.oneOf('neighbours', NEIGHBOURS);
}

/** Reads delta for noise whose guarantee requires one. */
export function readDelta(args: Args): number {
  const delta = required('delta', args.number('delta'));
  if (delta === 0) {
    const pure =
      'dp-ftrl release --pure and count --pure, dp-ftrl queries --delta 0 (Laplace noise) and ' +
      'dp-ftrl choose are pure';
    throw new Misuse(`--delta must be above 0, as Gaussian noise is never pure: ${pure}`);
  }
  return delta;
}

/** Reads the privacy target of a release. */
export function readPrivacy(args: Args) {
  return {
    epsilon: required('epsilon', args.number('epsilon')),
    delta: readDelta(args),
  };
}

/** Reads the privacy target of a stream; a pure one has no delta. */
export function readTarget(args: Args): { epsilon: number; delta: number } {
  if (!args.has('pure')) return readPrivacy(args);
  if (args.has('delta')) throw new Misuse('give --pure or --delta, not both');
  return { epsilon: required('epsilon', args.number('epsilon')), delta: 0 };
}
