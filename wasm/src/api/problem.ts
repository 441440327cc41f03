// SPDX-License-Identifier: Apache-2.0

// The options that state a problem: its steps, what is summed, who contributes when, and how noise is
// shared.

import { optionsOf, outOfRange, Reader, wrongType } from '../core/check.js';
import type { CoreParticipation } from '../core/core.js';
import { PARAMETER_NAMES } from '../shared/parameters.js';
import type { Participation } from '../types/all.js';
import { readNested } from './options.js';

export const PROBLEM_WORDS = ['steps', 'workload', 'people', 'participation'];
/** Options of a strategy for a problem. */
export const STRATEGY_WORDS = [...PROBLEM_WORDS, 'strategy'];

export function requireLeftOut(reader: Reader, names: readonly string[], why: string): void {
  const name = names.find((it) => reader.has(it));
  if (name !== undefined) throw outOfRange(reader.where, name, `left out ${why}`, reader.raw(name));
}

/** Reads how often a person may contribute; epochs are only promised, never enforced. */
function readBound(reader: Reader, name: 'people' | 'participation', steps: number) {
  const { where } = reader;
  const given = reader.raw(name);
  const single: CoreParticipation = { kind: 'single', times: 1, separation: 1 };
  if (given === 'once') return single;
  const isPromise = name === 'participation';
  const wanted = `'once' or an object with times and apart${isPromise ? ', or with epochs' : ''}`;
  if (typeof given === 'string') throw outOfRange(where, name, wanted, given);
  const keys = ['times', 'apart', ...(isPromise ? ['epochs'] : [])];
  const bound = readNested(where, name, given, wanted, keys);
  if (!isPromise || !bound.has('epochs')) {
    const times = bound.count('times');
    return { kind: 'min-separation', times, separation: bound.count('apart') } as const;
  }
  requireLeftOut(bound, ['times', 'apart'], 'with {epochs}');
  const epochs = bound.count('epochs');
  if (epochs < 1 || steps % epochs !== 0) {
    throw outOfRange(bound.where, 'epochs', `a divisor of {steps} = ${steps}`, epochs);
  }
  return { kind: 'fixed-epoch', times: epochs, separation: steps / epochs } as const;
}

/** Returns the participation that the options state; undefined if they state none. */
export function readParticipation(reader: Reader, steps: number): CoreParticipation | undefined {
  if (reader.has('people')) requireLeftOut(reader, ['participation'], 'with {people}');
  const name = (['people', 'participation'] as const).find((it) => reader.has(it));
  return name && readBound(reader, name, steps);
}

/** Returns name and parameters of the strategy in the words of the other functions. */
export function readStrategyWords(reader: Reader): Record<string, unknown> {
  const { where } = reader;
  const given = reader.raw('strategy');
  if (typeof given !== 'object' || given === null) return { mechanism: given };
  if ('format' in given || 'version' in given) return { mechanism: given };
  const wanted = 'a name, an object with a name and parameters, or a saved strategy';
  const own = readNested(where, 'strategy', given, wanted, ['name', ...PARAMETER_NAMES]);
  if (!own.has('name')) throw wrongType(where, 'strategy.name', 'a string', own.raw('name'));
  const parameters = PARAMETER_NAMES.map((name) => [name, own.raw(name)]);
  return { mechanism: own.raw('name'), ...Object.fromEntries(parameters) };
}

/** Returns a reader of the same options in the words of the functions that share their checks. */
export function inOtherWords(reader: Reader, words: Record<string, unknown>): Reader {
  return new Reader(reader.where, {
    ...words,
    numSteps: reader.raw('steps'),
    workload: reader.raw('workload'),
    epsilon: reader.raw('epsilon'),
    delta: reader.raw('delta'),
    clipNorm: reader.raw('clip'),
    neighbours: reader.raw('neighbours'),
  });
}

/** Returns a participation in the words of saved strategies. */
export function savedParticipation({ kind, times, separation }: CoreParticipation): Participation {
  if (kind === 'single') return 'single';
  if (kind === 'fixed-epoch') return { epochs: times };
  return { participations: times, minSeparation: separation };
}

export const ONCE: CoreParticipation = { kind: 'single', times: 1, separation: 1 };

/** Returns a reader of the same options, and of `others`, in the words of shared checks. */
export function readProblemWords(reader: Reader, others: readonly string[] = []): Reader {
  const participation = readParticipation(reader, reader.count('steps'));
  return inOtherWords(reader, {
    ...readStrategyWords(reader),
    ...(participation && { participation: savedParticipation(participation) }),
    ...optionsOf(reader, others),
  });
}
