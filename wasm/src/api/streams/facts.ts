// SPDX-License-Identifier: Apache-2.0

// The options of a stored stream as its store keeps them; reopening with other options is refused.

import { makeError, type ErrorPlace } from '../../core/errors.js';
import { checksumOf } from '../../shared/checksum.js';
import type { CoreWorkload } from '../../core/core.js';
import { givenParticipation } from '../problem.js';
import type { CompletedOptions } from './kind.js';
import type { StoredOptions } from './shape.js';

/** Longest list of numbers that is kept in full. */
const MOST_LISTED = 16;

/** A list of numbers, or the length and checksum of a long one. */
export function listed(values: ArrayLike<number>): unknown {
  if (values.length <= MOST_LISTED) return Array.from(values);
  return {
    numbers: values.length,
    checksum: checksumOf(new Uint32Array(Float64Array.from(values).buffer)),
  };
}

/** Writes a workload in the words of the options. */
export function factsOfWorkload({ kind, momentum, decay, width, values }: CoreWorkload): unknown {
  switch (kind) {
    case 'prefix':
      return 'prefix';
    case 'window':
      return { window: width };
    case 'momentum':
      return momentum === 0 ? { decay } : { momentum, decay };
    case 'rates':
      return { rates: listed(values!), momentum };
    case 'matrix':
      return { matrix: listed(values!) };
  }
}

function factsOfStrategy({ strategy, parameters }: CompletedOptions): unknown {
  const { plan, ...others } = parameters;
  const given = Object.entries(others).filter(([, value]) => value !== undefined);
  const own = given.map(([name, value]) => [
    name,
    typeof value === 'object' ? listed(value as ArrayLike<number>) : value,
  ]);
  if (!plan) return own.length === 0 ? strategy : { name: strategy, ...Object.fromEntries(own) };
  const saved = plan.numbers.map(({ name, values }) => [name, listed(values)]);
  return { name: strategy, ...Object.fromEntries([...own, ...saved]) };
}

export function factsOfLattice({
  latticeNoise: noise,
  precisionBits,
}: Pick<CompletedOptions, 'latticeNoise' | 'precisionBits'>): unknown {
  return precisionBits === undefined ? noise : { noise, precisionBits };
}

/** JSON has no BigInt. */
function factOfSeed(seed: bigint): number | string {
  return seed <= Number.MAX_SAFE_INTEGER ? Number(seed) : String(seed);
}

/** All options of a kind of stream; `own` are the options specific to the kind. */
export function factsOf(
  stream: string,
  complete: CompletedOptions,
  own: StoredOptions,
): StoredOptions {
  const { steps, epsilon, delta, people, neighbours, insecureSeed } = complete;
  return {
    stream,
    steps,
    epsilon,
    delta,
    [people ? 'people' : 'participation']:
      complete.windows === undefined ? givenParticipation(complete.participation) : 'active',
    neighbours,
    ...own,
    // Last, because its default depends on the others. Active people have no such option.
    ...(complete.windows === undefined && { strategy: factsOfStrategy(complete) }),
    ...(insecureSeed !== undefined && { insecureSeed: factOfSeed(insecureSeed) }),
  };
}

/** Reads the facts in a store; undefined if the store holds no stream. */
export function parsedFacts(bytes: Uint8Array | undefined): StoredOptions | undefined {
  try {
    const facts = JSON.parse(new TextDecoder().decode(bytes)) as StoredOptions | null;
    return typeof facts?.['stream'] === 'string' ? facts : undefined;
  } catch {
    return undefined;
  }
}

/** Longest text of a value in a message. */
const MOST_SHOWN = 100;

/** Named values: the fields of an object, or pairs, whose order matters. */
function entriesOf(value: object): [string, unknown][] | undefined {
  if (!Array.isArray(value)) return Object.entries(value);
  const isPair = (one: unknown) => Array.isArray(one) && typeof one[0] === 'string';
  return value.length > 0 && value.every(isPair) ? value : undefined;
}

/** Formats a value as the caller would write it. */
function inText(value: unknown, isInside = false): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing';
  const entries = entriesOf(value);
  if (!entries) return `[${(value as unknown[]).map((one) => inText(one, true)).join(', ')}]`;
  const text = entries.map(([name, one]) => `${name}: ${inText(one, true)}`).join(', ');
  return isInside ? `{${text}}` : text;
}

/** Formats a value for a message without braces, which would be read as names of parameters. */
function shown(value: unknown): string {
  const text = inText(value).replaceAll('{', '(').replaceAll('}', ')');
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}...`;
}

/**
 * Refuses a store whose stream was begun with other options, and names the first that differs.
 * Returns the stored options.
 *
 * @param initial  names of options that need not be the same.
 */
export function requireSameFacts(
  where: ErrorPlace,
  { facts, initial }: { facts: StoredOptions; initial: readonly string[] },
  stored: Uint8Array | undefined,
): StoredOptions {
  const old = parsedFacts(stored);
  if (old === undefined) {
    throw makeError('bad_state', where, {
      parameter: 'store',
      constraint: 'must hold a stream of this version',
      value: 'something else, such as one of an earlier version',
    });
  }
  // `people` comes first, because it also changes the participation, which the caller did not
  // state.
  const known = [...new Set(['people', ...Object.keys(facts), ...Object.keys(old)])];
  const names = known.filter((name) => !initial.includes(name));
  const other = names.find((name) => JSON.stringify(facts[name]) !== JSON.stringify(old[name]));
  if (other === undefined) return old;
  const isLeftOut = old[other] === undefined;
  const wanted = isLeftOut ? 'left out' : shown(old[other]);
  const error = makeError('other_options', where, {
    parameter: other === 'stream' ? 'store' : other,
    constraint: `must be ${wanted}, as when the stored stream was begun`,
    value: shown(facts[other]),
  });
  throw Object.assign(error, { differs: { stored: old[other], given: facts[other] } });
}
