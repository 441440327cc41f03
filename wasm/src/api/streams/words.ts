// SPDX-License-Identifier: Apache-2.0

// Names the parameters in errors as the options of streams do: the core and the checks that all
// functions share have other words for some of them.

import { makeError, refusalOf, told, withNames, type RefusalError } from '../../core/errors.js';
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
  numClasses: 'loss.softmax',
  num_classes: 'loss.softmax',
  quantile: 'loss.quantile',
  huberThreshold: 'loss.huber',
  numRows: 'rows',
};

const SAVED = 'saved strategy';

function wordOf(path: string): string {
  const [root, rest] = rootOf(path);
  return (WORDS[root] ?? root) + rest;
}

/** Calls that take many records, of which an error names the one that is refused. */
const OF_MANY = ['addMany', 'releaseBatch', 'releaseMany', 'releaseAt', 'learn'];

/** Calls `act`; its errors are those of `call`, in the words of streams. */
export function inWords<T>(call: string, act: () => T): T {
  try {
    return act();
  } catch (given) {
    const error = given as RefusalError & { released?: number; record?: number };
    // Without a call it is about the instance or the handle, which the call is not to blame for.
    if (error.call === undefined) throw error;
    const { parameter, constraint = '', ...rest } = refusalOf(error);
    // The fields of a saved strategy have words of their own.
    if (rest.part?.startsWith(SAVED)) throw told(error, { call });
    throw makeError(
      error.code,
      {},
      {
        ...rest,
        call,
        ...(error.record !== undefined &&
          OF_MANY.includes(call) && { row: { kind: 'record', index: error.record } as const }),
        ...(parameter !== undefined && { parameter: wordOf(parameter) }),
        constraint: withNames(constraint, (name) => `{${wordOf(name)}}`),
      },
      error.cause,
    );
  }
}
