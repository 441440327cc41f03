// SPDX-License-Identifier: Apache-2.0

// Streams that live in a worker, on the worker's side.

import type { Piece } from '../api/streams/stream.js';
import type { Stream } from '../types/streams/stream.js';
import type { Verb } from './methods.js';
import type { Place, StreamFacts } from './protocol.js';

/** A stream, and the batches in pieces that the library's own streams have besides. */
export type PiecewiseStream = Stream<never, unknown> & {
  readonly given: { readonly arity: number };
  readonly members: Readonly<Record<string, { readonly arity: number | undefined }>>;
  pieces(verb: string, args: readonly unknown[]): Generator<Piece<unknown>, unknown[]>;
};

export function factsOf({
  steps,
  certificate,
  grid,
  insecure,
  given,
  members,
}: PiecewiseStream): StreamFacts {
  const arities = Object.entries(members).map(([name, { arity }]) => [name, arity ?? given.arity]);
  const all = Object.fromEntries(arities) as Record<string, number>;
  return { steps, certificate, grid, insecure, arity: given.arity, members: all };
}

export function placeOf({ step, records, waiting, dropped }: PiecewiseStream): Place {
  return { step, records, waiting, dropped };
}

/** Calls a verb; a batch yields its readings so far after each piece. */
export function* turnOf(
  stream: PiecewiseStream,
  verb: string,
  args: readonly unknown[],
): Generator<Piece<unknown>, unknown> {
  if (verb === 'releaseMany' || verb === 'endMany') return yield* stream.pieces(verb, args);
  const member = stream.members[verb];
  if (member && member.arity === undefined) {
    yield* stream.pieces(verb, args);
    return undefined;
  }
  return (stream[verb as Verb] as (...args: readonly unknown[]) => unknown)(...args);
}
