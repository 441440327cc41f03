// SPDX-License-Identifier: Apache-2.0

// The options that all streams share, completed for the core.

import { outOfRange, type Reader, readNested, wrongType } from '../../core/check.js';
import { asErrorsOf, makeError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { counted } from '../../shared/counted.js';
import { DEFAULT_CONFIDENCE, LATTICE_NOISES } from '../../shared/defaults.js';
import { PURE_PARAMETERS } from '../../shared/defaults.js';
import { PARAMETER_NAMES } from '../../shared/parameters.js';
import { givenStrategy, readSumsMechanism, requireWorkload } from '../options.js';
import { requireLeftOut } from '../problem.js';
import {
  DURABLE,
  type CommonOptions,
  type CompletedOptions,
  type StreamDefinition,
} from './kind.js';
import { PeopleNames } from './people.js';
import type { StoredOptions } from './shape.js';

/** Options that only a stream in a store has. */
const STORE_ONLY = ['durable', 'about', 'mustExist'];

/** Options of every stream, and of one kind. A function, so that bundlers can drop it. */
export function streamOptions<R>({ options: own, isOfPeople }: StreamDefinition<R>): string[] {
  const chosen = isOfPeople ? [] : ['people', 'participation', 'strategy'];
  const all = ['steps', 'epsilon', 'delta', 'neighbours', ...chosen];
  return [...all, 'numericNames', 'store', 'budget', 'insecureSeed', ...STORE_ONLY, ...own];
}

function requirePure(reader: Reader): void {
  const { where } = reader;
  const without = '{delta} = 0';
  requireLeftOut(reader, ['lattice'], `with ${without}`);
  const given = givenStrategy(reader);
  if (!('name' in given)) {
    const kind = 'own' in given ? 'an encoder' : 'a saved strategy';
    throw outOfRange(where, 'strategy', `a name with ${without}`, kind);
  }
  const { window } = Object(reader.raw('workload')) as { window?: unknown };
  // Sums of single steps have no tree.
  const allowed = window === undefined ? PURE_PARAMETERS : [];
  const stray = PARAMETER_NAMES.filter((name) => !allowed.includes(name)).find(
    (name) => given.parameters[name] !== undefined,
  );
  if (stray !== undefined) {
    throw outOfRange(
      where,
      `strategy.${stray}`,
      `left out with ${without}`,
      given.parameters[stray],
    );
  }
}

/** Fields of the core that only some kinds of streams set. */
const unset = () => ({
  mode: 'grid' as const,
  latticeNoise: LATTICE_NOISES[0],
  precisionBits: undefined,
  clippedByCaller: false,
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
  windows: undefined,
  closedStart: false,
  endless: false,
  nonprivate: false,
});

export function readCommon<R>(
  { mechanisms }: Instance,
  reader: Reader,
  kind: StreamDefinition<R>,
): CommonOptions {
  const isOfPeople = kind.isOfPeople === true;
  const hasPeople = isOfPeople || reader.has('people');
  if (!reader.has('store')) requireLeftOut(reader, STORE_ONLY, 'without {store}');
  if (!hasPeople) requireLeftOut(reader, ['numericNames'], 'without {people}');
  const numericNames = reader.flagOr('numericNames', false);
  const clippedByCaller = isClippedByCaller(reader);
  const pure = kind.isPure === true && reader.raw('delta') === 0;
  if (pure) requirePure(reader);
  const read = kind.readMechanism ?? ((it, all) => readSumsMechanism(it, all, pure));
  const mechanism = asErrorsOf(kind.name, () => read(reader, mechanisms));
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
      clippedByCaller,
      people: hasPeople,
      confidence: reader.numberOr('confidence', DEFAULT_CONFIDENCE),
      nonprivate: readNonprivate(reader),
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

/**
 * Whether readings also show the values without noise: in memory and without a budget only, because
 * it is not private.
 */
function readNonprivate(reader: Reader): boolean {
  const name = 'showNonprivate';
  for (const place of ['store', 'budget'])
    if (reader.has(place)) requireLeftOut(reader, [name], `with {${place}}`);
  return reader.flagOr(name, false);
}

/** Whether the caller clips the records, which are then not clipped here. */
function isClippedByCaller(reader: Reader): boolean {
  const name = 'clippedTo';
  if (!reader.has(name)) return false;
  requireLeftOut(reader, ['clip', 'people'], `with {${name}}`);
  const norm = reader.number(name);
  if (norm > 0 && norm < Infinity) return true;
  throw outOfRange(reader.where, name, 'positive and finite', norm);
}

/** Norm of records, under the name of its option. */
export function factsOfClip({ clip, clippedByCaller }: CompletedOptions): StoredOptions {
  return { [clippedByCaller ? 'clippedTo' : 'clip']: clip };
}

/** Reads the noise of mode 'lattice'; undefined for mode 'grid'. */
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

/** Reads names and their values from an object, in its order. */
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
