// SPDX-License-Identifier: Apache-2.0

// Names the parameters in errors as the options of streams do: the core and the checks that all
// functions share have other words for some of them.

import { makeError, refusalOf, withNames, type RefusalError } from '../../core/errors.js';
import { rootOf } from '../../core/names.js';

const WORDS: Readonly<Record<string, string>> = {
  numSteps: 'steps',
  clipNorm: 'clip',
  mechanism: 'strategy',
  participations: 'times',
  minSeparation: 'apart',
  latticeNoise: 'lattice.noise',
  precisionBits: 'lattice.precisionBits',
  mode: 'lattice',
  pure: 'delta',
  ranges: 'columns',
  numCategories: 'categories',
  checkpoint: 'store',
  state: 'store',
  log: 'store',
};

function wordOf(path: string): string {
  const [root, rest] = rootOf(path);
  return (WORDS[root] ?? root) + rest;
}

/** Calls `act`; its errors are those of `call`, in the words of streams. */
export function inWords<T>(call: string, act: () => T): T {
  try {
    return act();
  } catch (given) {
    const error = given as RefusalError & { released?: number };
    // Without a call it is about the instance or the handle, which the call is not to blame for.
    if (error.call === undefined) throw error;
    const { parameter, constraint = '', ...rest } = refusalOf(error);
    throw makeError(
      error.code,
      {},
      {
        ...rest,
        call,
        ...(parameter !== undefined && { parameter: wordOf(parameter) }),
        constraint: withNames(constraint, (name) => `{${wordOf(name)}}`),
      },
      error.cause,
    );
  }
}
