// SPDX-License-Identifier: Apache-2.0

// The options that all streams share, completed for the core.

import { outOfRange, Reader, wrongType } from '../../core/check.js';
import type { CoreParticipation } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { counted } from '../../shared/counted.js';
import { DEFAULT_CONFIDENCE, LATTICE_NOISES } from '../../shared/defaults.js';
import { PURE_PARAMETERS } from '../../shared/defaults.js';
import { PARAMETER_NAMES } from '../../shared/parameters.js';
import { readNested, readSumsMechanism, requireWorkload } from '../options.js';
import {
  DURABLE,
  type CommonOptions,
  type CompletedOptions,
  type StreamDefinition,
} from './kind.js';
import { PeopleNames } from './people.js';
import { inWords } from './words.js';

/** Options that only a stream in a store has. */
const STORE_ONLY = ['durable', 'about', 'mustExist'];

/** Returns the options of every stream, and those of a kind. A function, so that bundlers drop it. */
export function streamOptions(own: readonly string[]): string[] {
  const all = ['steps', 'epsilon', 'delta', 'people', 'participation', 'neighbours', 'strategy'];
  return [...all, 'numericNames', 'store', 'budget', 'insecureSeed', ...STORE_ONLY, ...own];
}

function requireLeftOut(reader: Reader, names: readonly string[], why: string): void {
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
function readParticipation(reader: Reader, steps: number): CoreParticipation | undefined {
  if (reader.has('people')) requireLeftOut(reader, ['participation'], 'with {people}');
  const name = (['people', 'participation'] as const).find((it) => reader.has(it));
  return name && readBound(reader, name, steps);
}

/** Returns name and parameters of the strategy in the words of the other functions. */
function readStrategyWords(reader: Reader): Record<string, unknown> {
  const { where } = reader;
  const given = reader.raw('strategy');
  if (typeof given !== 'object' || given === null) return { mechanism: given };
  if ('format' in given) return { mechanism: given };
  const wanted = 'a name, an object with a name and parameters, or a saved strategy';
  const own = readNested(where, 'strategy', given, wanted, ['name', ...PARAMETER_NAMES]);
  if (!own.has('name')) throw wrongType(where, 'strategy.name', 'a string', own.raw('name'));
  const parameters = PARAMETER_NAMES.map((name) => [name, own.raw(name)]);
  return { mechanism: own.raw('name'), ...Object.fromEntries(parameters) };
}

function requirePure(reader: Reader, words: Record<string, unknown>): void {
  const { where } = reader;
  const without = '{delta} = 0';
  requireLeftOut(reader, ['lattice'], `with ${without}`);
  if (typeof words['mechanism'] === 'object') {
    throw outOfRange(where, 'strategy', `a name with ${without}`, 'a saved strategy');
  }
  const { window } = Object(reader.raw('workload')) as { window?: unknown };
  // Single steps have no tree.
  const allowed = window === undefined ? PURE_PARAMETERS : [];
  const stray = PARAMETER_NAMES.filter((name) => !allowed.includes(name)).find(
    (name) => words[name] !== undefined,
  );
  if (stray !== undefined) {
    throw outOfRange(where, `strategy.${stray}`, `left out with ${without}`, words[stray]);
  }
}

/** Returns a reader of the same options in the words of the functions that share their checks. */
function inOtherWords(reader: Reader, words: Record<string, unknown>): Reader {
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

/** Returns the fields of the core that only some kinds of streams set. */
const unset = () => ({
  mode: 'grid' as const,
  latticeNoise: LATTICE_NOISES[0],
  precisionBits: undefined,
  dimension: 1,
  single: false,
  grid: undefined,
  fixedTimes: false,
  workloads: undefined,
  importance: undefined,
  ranges: undefined,
  covariance: false,
  numCategories: undefined,
  total: false,
});

export function readCommon<R>(
  { mechanisms }: Instance,
  reader: Reader,
  kind: StreamDefinition<R>,
): CommonOptions {
  const hasPeople = reader.has('people');
  if (!reader.has('store')) requireLeftOut(reader, STORE_ONLY, 'without {store}');
  if (!hasPeople) requireLeftOut(reader, ['numericNames'], 'without {people}');
  const numericNames = reader.flagOr('numericNames', false);
  const steps = reader.count('steps');
  const participation = readParticipation(reader, steps);
  const words = readStrategyWords(reader);
  const pure = kind.isPure === true && reader.raw('delta') === 0;
  if (pure) requirePure(reader, words);
  const inner = inOtherWords(reader, words);
  const own = inWords(
    kind.name,
    () => kind.readMechanism?.(inner, mechanisms) ?? readSumsMechanism(inner, mechanisms, pure),
  );
  const mechanism = { ...own, ...(participation && { participation }) };
  if (kind.hasWindowsOnly) {
    const wanted = `must be 'prefix' or a window, for ${kind.name}`;
    requireWorkload(reader, mechanism, ['prefix', 'window'], wanted);
  }
  return {
    complete: {
      ...unset(),
      ...mechanism,
      kind: kind.core ?? (kind.name as CompletedOptions['kind']),
      pure,
      people: hasPeople,
      confidence: reader.numberOr('confidence', DEFAULT_CONFIDENCE),
      insecureSeed: reader.seedOr('insecureSeed', undefined),
    },
    people: hasPeople ? new PeopleNames(numericNames) : undefined,
    durable: reader.oneOfOr('durable', DURABLE),
    kept: { ...(hasPeople && { numericNames }), about: readAbout(reader) },
  };
}

function readAbout(reader: Reader): string | undefined {
  const about = reader.raw('about');
  if (about === undefined || typeof about === 'string') return about;
  throw wrongType(reader.where, 'about', 'a string', about);
}

/** Reads the noise of integer measurements, if the options ask for it. */
export function readLattice(
  reader: Reader,
): Pick<CompletedOptions, 'mode' | 'latticeNoise' | 'precisionBits'> | undefined {
  const given = reader.raw('lattice');
  if (given === undefined) return undefined;
  const mode = 'lattice';
  if (typeof given === 'string') {
    const latticeNoise = reader.oneOf('lattice', LATTICE_NOISES);
    return { mode, latticeNoise, precisionBits: undefined };
  }
  const wanted = `one of ${LATTICE_NOISES.join(', ')}, or an object with noise`;
  const own = readNested(reader.where, 'lattice', given, wanted, ['noise', 'precisionBits']);
  const latticeNoise = own.oneOf('noise', LATTICE_NOISES);
  return { mode, latticeNoise, precisionBits: own.countOr('precisionBits', undefined) };
}

/** Reads names and their values from an object; their order is that of the object. */
export function readNames(
  reader: Reader,
  option: string,
  wanted: string,
): { names: string[]; given: Record<string, unknown> } {
  const { where } = reader;
  const given = reader.raw(option);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType(where, option, wanted, given);
  }
  const names = Object.keys(given);
  if (names.length > 0) return { names, given: given as Record<string, unknown> };
  throw makeError('wrong_length', where, {
    parameter: option,
    constraint: 'must have at least 1 name',
    value: counted(0, 'name'),
  });
}
