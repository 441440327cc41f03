// SPDX-License-Identifier: Apache-2.0

// Options of dp-ftrl learn for tables that are kept in memory: settings among which the data
// choose, and whether second moments are estimated first.

import type { Candidate } from '../../../types/all.js';
import { Misuse } from '../../failure.js';
import type { Args } from '../../options/args.js';
import type { Setup } from './defaults.js';

export const WHOLE_OPTIONS = {
  tune: 'value',
  'tune-clip': 'value',
  precondition: 'flag',
  'no-precondition': 'flag',
} as const;

/** Settings for learning from a table that is kept in memory. */
export interface Whole {
  /** Settings among which the data choose, if any. */
  candidates: readonly Required<Candidate>[] | undefined;
  /** Whether second moments are estimated first; undefined if the number of rows decides. */
  precondition: boolean | undefined;
  /** Option that prevents keeping the table, which no other option requires. */
  without: string | undefined;
}

/** Options that are not supported for a table kept in memory. */
const NOT_WHOLE = ['average', 'plot', 'show-nonprivate'];

function factors(args: Args, name: 'tune' | 'tune-clip'): readonly number[] {
  if (!args.has(name)) return [1];
  const given = args.numbers(name)!;
  const bad = given.find((factor) => !(factor > 0));
  if (bad !== undefined) throw new Misuse(`--${name} must have numbers > 0, got ${bad}`);
  return given;
}

function readPrecondition(args: Args): boolean | undefined {
  const [isWanted, isNotWanted] = [args.has('precondition'), args.has('no-precondition')];
  if (isWanted && isNotWanted) throw new Misuse('--precondition does not go with --no-precondition');
  return isWanted || isNotWanted ? isWanted : undefined;
}

/** Reads settings for a table kept in memory; undefined if the setup is not for a table. */
export function readWhole(args: Args, setup: Setup | undefined): Whole | undefined {
  const given = Object.keys(WHOLE_OPTIONS).find((name) => args.has(name));
  const name = given === 'tune-clip' ? 'tune' : given;
  if (name !== undefined && setup !== 'table') {
    const rest = '--loss logistic, hinge or softmax, and no other option of the learner';
    throw new Misuse(`--${name} needs a FILE, ${rest}`);
  }
  if (setup !== 'table') return undefined;
  const skips = args.text('missing') === 'skip' ? ['missing skip'] : [];
  const [stray] = [...NOT_WHOLE.filter((each) => args.has(each)), ...skips];
  const precondition = readPrecondition(args);
  const needsAll = name !== undefined && name !== 'no-precondition';
  if (needsAll && stray !== undefined) throw new Misuse(`--${name} does not go with --${stray}`);
  const [clips, rates] = [factors(args, 'tune-clip'), factors(args, 'tune')];
  const candidates = rates.flatMap((rate) => clips.map((clip) => ({ rate, clip })));
  return { candidates: name === 'tune' ? candidates : undefined, precondition, without: stray };
}
