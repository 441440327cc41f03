// SPDX-License-Identifier: Apache-2.0

// --tune and --tune-clip of dp-ftrl learn: settings among which the data choose.

import type { Candidate } from '../../../types/all.js';
import { Misuse } from '../../failure.js';
import type { Args } from '../../options/args.js';
import type { Setup } from './defaults.js';

export const TUNE_OPTIONS = { tune: 'value', 'tune-clip': 'value', precondition: 'flag' } as const;

/** How a table is learned from that is kept as a whole. */
export interface Whole {
  /** Settings among which the data choose, if they do. */
  candidates: readonly Required<Candidate>[] | undefined;
  precondition: boolean;
}

/** Options that have no meaning where the model is one of several. */
const NOT_TUNED = ['average', 'plot', 'show-nonprivate'];

function factors(args: Args, name: 'tune' | 'tune-clip'): readonly number[] {
  if (!args.has(name)) return [1];
  const given = args.numbers(name)!;
  const bad = given.find((factor) => !(factor > 0));
  if (bad !== undefined) throw new Misuse(`--${name} must have numbers > 0, got ${bad}`);
  return given;
}

/** Returns how the table is learned from, undefined where it is not kept as a whole. */
export function readTune(args: Args, setup: Setup | undefined): Whole | undefined {
  const given = Object.keys(TUNE_OPTIONS).find((name) => args.has(name));
  if (given === undefined) return undefined;
  const name = given === 'tune-clip' ? 'tune' : given;
  if (setup !== 'table') {
    const rest = '--loss logistic, hinge or softmax, and no other option of the learner';
    throw new Misuse(`--${name} is for what is chosen for a FILE: give one, with ${rest}`);
  }
  const stray = NOT_TUNED.find((each) => args.has(each));
  if (stray !== undefined) throw new Misuse(`--${name} does not go with --${stray}`);
  if (args.text('missing') === 'skip') {
    throw new Misuse(`--${name} does not go with --missing skip`);
  }
  const precondition = args.has('precondition');
  if (name !== 'tune') return { candidates: undefined, precondition };
  const clips = factors(args, 'tune-clip');
  const rates = factors(args, 'tune');
  const candidates = rates.flatMap((rate) => clips.map((clip) => ({ rate, clip })));
  return { candidates, precondition };
}
