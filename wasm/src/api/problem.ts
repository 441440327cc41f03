// SPDX-License-Identifier: Apache-2.0

// The options that state a problem: its steps, what is summed, and how often a user contributes.

import { float64s, outOfRange, type Reader, readNested } from '../core/check.js';
import type { CoreParticipation, CoreProblem, CoreWorkload } from '../core/core.js';
import { makeError, type ErrorPlace } from '../core/errors.js';
import { counted } from '../shared/counted.js';
import type { Participation } from '../types/all.js';

export const PROBLEM_WORDS = ['steps', 'workload', 'people', 'participation'];
/** Options of a strategy for a problem. */
export const STRATEGY_WORDS = [...PROBLEM_WORDS, 'strategy'];

const isArrayOfArrays = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((row) => Array.isArray(row));

export function requireLeftOut(reader: Reader, names: readonly string[], why: string): void {
  const name = names.find((it) => reader.has(it));
  if (name !== undefined) throw outOfRange(reader.where, name, `left out ${why}`, reader.raw(name));
}

/** Keys of each kind of workload, first the one that names the kind. */
const WORKLOADS = {
  matrix: ['matrix'],
  rates: ['rates', 'momentum'],
  window: ['window'],
  momentum: ['momentum', 'decay'],
  decay: ['decay'],
} as const;

export function readWorkload(where: ErrorPlace, given: unknown, steps: number): CoreWorkload {
  const workload: CoreWorkload = {
    kind: 'prefix',
    momentum: 0,
    decay: 1,
    width: 0,
    values: undefined,
  };
  if (given === undefined || given === 'prefix') return workload;
  const wanted = "'prefix' or an object";
  if (typeof given === 'string') throw outOfRange(where, 'workload', wanted, given);
  const keys = [...new Set(Object.values(WORKLOADS).flat())];
  const reader = readNested(where, 'workload', given, wanted, keys);
  const kind = (Object.keys(WORKLOADS) as (keyof typeof WORKLOADS)[]).find((it) => reader.has(it));
  if (kind === undefined) {
    const kinds = Object.keys(WORKLOADS).join(', ');
    const constraint = `must have one of ${kinds}`;
    throw makeError('wrong_type', where, { parameter: 'workload', constraint, value: 'none' });
  }
  const allowed: readonly string[] = WORKLOADS[kind];
  const stray = keys.find((key) => reader.has(key) && !allowed.includes(key));
  if (stray !== undefined) {
    const constraint = `must not have both {${kind}} and {${stray}}`;
    throw makeError('wrong_type', where, { parameter: 'workload', constraint });
  }
  const width = kind === 'window' ? reader.count('window') : 0;
  // A window at least as long as the horizon never drops a record.
  if (width >= steps) return workload;
  workload.kind = kind === 'decay' ? 'momentum' : kind;
  workload.momentum = reader.numberOr('momentum', 0);
  workload.decay = reader.numberOr('decay', 1);
  workload.width = width;
  if (kind === 'rates' || kind === 'matrix') {
    if (kind === 'matrix' && isArrayOfArrays(reader.raw(kind))) {
      const wanted = 'its {steps} * {steps} numbers in one array, row by row';
      throw outOfRange(where, kind, wanted, 'an array of arrays');
    }
    workload.values = float64s(where, kind, reader.raw(kind));
    const length = kind === 'rates' ? steps : steps * steps;
    const expression = kind === 'rates' ? '{steps}' : '{steps} * {steps}';
    if (workload.values.length !== length) {
      throw makeError('wrong_length', where, {
        parameter: kind,
        constraint: `must have ${expression} = ${counted(length, 'entry', 'entries')}`,
        value: String(workload.values.length),
      });
    }
  }
  return workload;
}

const ONCE: CoreParticipation = { kind: 'single', times: 1, separation: 1 };

/** Reads `people` or `participation`; only `participation`, which is a promise, may have epochs. */
function readBound(reader: Reader, name: 'people' | 'participation', steps: number) {
  const { where } = reader;
  const given = reader.raw(name);
  if (given === 'once') return ONCE;
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

/** Undefined if the options state no participation. */
function readParticipation(reader: Reader, steps: number): CoreParticipation | undefined {
  if (reader.has('people')) requireLeftOut(reader, ['participation'], 'with {people}');
  const name = (['people', 'participation'] as const).find((it) => reader.has(it));
  return name && readBound(reader, name, steps);
}

/** Writes a participation in the words of the options. */
export function givenParticipation(participation: CoreParticipation): Participation {
  const { kind, times, separation } = participation;
  if (kind === 'single') return 'once';
  return kind === 'fixed-epoch' ? { epochs: times } : { times, apart: separation };
}

/** A problem, and which of its parts the options state. */
export interface StatedProblem extends CoreProblem {
  states: { workload: boolean; participation: boolean };
}

export function readStatedProblem(reader: Reader): StatedProblem {
  const steps = reader.count('steps');
  const participation = readParticipation(reader, steps);
  return {
    steps,
    workload: readWorkload(reader.where, reader.raw('workload'), steps),
    participation: participation ?? ONCE,
    states: { workload: reader.has('workload'), participation: participation !== undefined },
  };
}

export function readProblem(reader: Reader): CoreProblem {
  const { states: _, ...problem } = readStatedProblem(reader);
  return problem;
}
