// SPDX-License-Identifier: Apache-2.0

// Active people: a record is a person who did something.

import { outOfRange, Reader, wrongType } from '../../core/check.js';
import type { CoreMechanism } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import { DEFAULT_MECHANISM, NEIGHBOURS } from '../../shared/defaults.js';
import type { ActiveCounts } from '../../types/streams/readings.js';
import { readParameters } from '../options.js';
import { requireLeftOut } from '../problem.js';
import type { StreamDefinition } from './kind.js';
import { readNames } from './options.js';
import { ESTIMATE, estimateAt, memberOf, named, type Shape } from './shape.js';

/**
 * Value of `steps` for streams without a horizon, and the number of steps that is then passed to
 * the core.
 */
const ENDLESS = 'endless';
const ENDLESS_STEPS = 2 ** 20;
const ENDLESS_WINDOWS: readonly number[] = [1, 7, 30];

/** Values of a record in the core. */
const SEEN = 0;
const FORGOTTEN = 1;

function activeShape(names: readonly string[]): Shape<ActiveCounts<string>> {
  return {
    one: [],
    many: [],
    numSums: names.length,
    isCopied: true,
    row: () => Float64Array.of(SEEN),
    rows(where, people) {
      const numRecords = (people as ArrayLike<unknown> | null | undefined)?.length;
      if (typeof people === 'string' || typeof numRecords !== 'number') {
        throw wrongType(where, 'people', 'an array of strings', people);
      }
      return { rows: new Float64Array(numRecords).fill(SEEN), numRecords };
    },
    read: (numbers, step) => ({
      step,
      active: named(names, (i) => estimateAt(numbers, i * ESTIMATE)),
    }),
  };
}

function readWindows(reader: Reader, numSteps: number): { names: string[]; windows: number[] } {
  const { where } = reader;
  const isEndless = reader.raw('steps') === ENDLESS;
  const wanted = 'an object with a number of steps for each of its names';
  const { names, given } = readNames(reader, 'windows', wanted);
  const windows = names.map((name) => {
    const [window, parameter] = [given[name], memberOf('windows', name)];
    if (typeof window !== 'number') throw wrongType(where, parameter, 'a number', window);
    if (isEndless && ENDLESS_WINDOWS.includes(window)) return window;
    const isCount = Number.isSafeInteger(window) && window >= 1 && window <= numSteps;
    if (isCount && !isEndless) return window;
    const constraint = isEndless
      ? `must be 1, 7 or 30 with {steps} '${ENDLESS}'`
      : `must be an integer from 1 to {steps} = ${numSteps}`;
    const value = String(window);
    throw makeError('invalid_argument', where, { parameter, constraint, value });
  });
  return { names, windows };
}

/** The core chooses the strategy of each window, and derives its participation. */
function readMechanism(reader: Reader): CoreMechanism {
  const steps = reader.raw('steps') === ENDLESS ? ENDLESS_STEPS : reader.count('steps');
  if (steps < 1) throw outOfRange(reader.where, 'steps', 'at least 1', steps);
  return {
    steps,
    workload: { kind: 'prefix', momentum: 0, decay: 1, width: 0, values: undefined },
    participation: { kind: 'active', times: 0, separation: 0 },
    strategy: DEFAULT_MECHANISM,
    parameters: readParameters(new Reader(reader.where, {})),
    epsilon: reader.number('epsilon'),
    delta: reader.number('delta'),
    clip: 1,
    neighbours: reader.oneOfOr('neighbours', NEIGHBOURS),
  };
}

export const ACTIVE: StreamDefinition<ActiveCounts<string>> = {
  name: 'active',
  options: ['confidence', 'windows', 'closedStart'],
  isOfPeople: true,
  members: { forget: { arity: 1, row: FORGOTTEN } },
  readMechanism,
  read(reader, { steps, neighbours }) {
    const { names, windows } = readWindows(reader, steps);
    const closedStart = reader.flagOr('closedStart', false);
    const endless = reader.raw('steps') === ENDLESS;
    if (endless) {
      const why = `with {steps} '${ENDLESS}'`;
      requireLeftOut(reader, ['closedStart'], why);
      if (neighbours !== 'zero-out') {
        throw outOfRange(reader.where, 'neighbours', `zero-out ${why}`, neighbours);
      }
    }
    return {
      set: { windows: Float64Array.from(windows), closedStart, endless },
      own: {
        ...(endless && { steps: ENDLESS }),
        // Pairs, because the order of the windows matters.
        windows: windows.map((window, i) => [names[i], window]),
        closedStart,
      },
      shape: { ...activeShape(names), atHorizon: `with {steps} '${ENDLESS}' there is none` },
      names,
    };
  },
};
