// SPDX-License-Identifier: Apache-2.0

// --tune and --tune-clip of dp-ftrl learn: settings among which the data choose.

import type { Candidate } from '../../../types/all.js';
import { Misuse } from '../../failure.js';
import type { Args } from '../../options/args.js';
import type { Setup } from './defaults.js';

export const TUNE_OPTIONS = { tune: 'value', 'tune-clip': 'value' } as const;

/** Options that have no meaning where the model is one of several. */
const NOT_TUNED = ['average', 'plot', 'show-nonprivate'];

function factors(args: Args, name: 'tune' | 'tune-clip'): readonly number[] {
  if (!args.has(name)) return [1];
  const given = args.numbers(name)!;
  const bad = given.find((factor) => !(factor > 0));
  if (bad !== undefined) throw new Misuse(`--${name} must have numbers > 0, got ${bad}`);
  return given;
}

/** Returns the settings, every rate with every clip norm, if there are any. */
export function readTune(args: Args, setup: Setup | undefined): Required<Candidate>[] | undefined {
  if (!args.has('tune') && !args.has('tune-clip')) return undefined;
  if (setup !== 'table') {
    const rest = '--loss logistic, hinge or softmax, and no other option of the learner';
    throw new Misuse(`--tune is for what is chosen for a FILE: give one, with ${rest}`);
  }
  const stray = NOT_TUNED.find((name) => args.has(name));
  if (stray !== undefined) throw new Misuse(`--tune does not go with --${stray}`);
  if (args.text('missing') === 'skip') throw new Misuse('--tune does not go with --missing skip');
  const clips = factors(args, 'tune-clip');
  return factors(args, 'tune').flatMap((rate) => clips.map((clip) => ({ rate, clip })));
}
