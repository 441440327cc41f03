// SPDX-License-Identifier: Apache-2.0

// Options of dp-ftrl learn for tables that are kept in memory: whether second moments are estimated
// first.

import { Misuse } from '../../base/failure.js';
import type { Args } from '../../options/args.js';
import type { Setup } from './defaults.js';

export const WHOLE_OPTIONS = {
  precondition: {
    meaning:
      'second moments of the features are released first, with a tenth of the squared mu, to ' +
      'learn in coordinates in which they are equal: better if features are correlated, worse ' +
      'with too few rows. For --algorithm dp-gd of a FILE with up to 512 features. Default: ' +
      'if there are enough rows, which only public numbers decide',
  },
  'no-precondition': { meaning: 'spends no budget on second moments of the features first' },
};

/** Settings for learning from a table that is kept in memory. */
export interface Whole {
  /** Whether second moments are estimated first; undefined if the number of rows decides. */
  precondition: boolean | undefined;
  /** Option given that rules out keeping the table in memory. */
  without: string | undefined;
}

/** Options that are not supported for a table kept in memory. */
const NOT_WHOLE = ['average', 'plot', 'show-nonprivate'];

function readPrecondition(args: Args): boolean | undefined {
  const [isWanted, isNotWanted] = [args.has('precondition'), args.has('no-precondition')];
  if (isWanted && isNotWanted)
    throw new Misuse('--precondition does not go with --no-precondition');
  return isWanted || isNotWanted ? isWanted : undefined;
}

/** Reads settings for a table kept in memory; undefined if the setup is not for a table. */
export function readWhole(args: Args, setup: Setup | undefined): Whole | undefined {
  const given = Object.keys(WHOLE_OPTIONS).find((name) => args.has(name));
  if (given !== undefined && setup !== 'table') {
    const rest = '--loss logistic, hinge or softmax, and no other option of the learner';
    throw new Misuse(`--${given} needs a FILE, ${rest}`);
  }
  if (setup !== 'table') return undefined;
  const skips = args.text('missing') === 'skip' ? ['missing skip'] : [];
  const [stray] = [...NOT_WHOLE.filter((each) => args.has(each)), ...skips];
  const precondition = readPrecondition(args);
  if (precondition && stray !== undefined) {
    throw new Misuse(`--precondition does not go with --${stray}`);
  }
  return { precondition, without: stray };
}
