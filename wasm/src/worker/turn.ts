// SPDX-License-Identifier: Apache-2.0

// Calls of the methods of an object, on the worker's side.

import type { Piece } from '../api/streams/stream.js';
import type { Held, Members } from './methods.js';

/** An object with methods that run in pieces. */
interface Piecewise {
  /** Members of a stream, of which those without an arity take batches and return nothing. */
  readonly members?: Readonly<Record<string, { readonly arity: number | undefined }>>;
  pieces(method: string, args: readonly unknown[]): Generator<Piece<unknown>, unknown>;
}

/** Methods that run in pieces. */
const IN_PIECES = ['releaseMany', 'endMany', 'advance'];

/** Returns the properties that change, or those that do not. */
export function propertiesOf(
  object: Held,
  { properties }: Members,
  which: 'fixed' | 'changing',
): object {
  const names = Object.keys(properties).filter((name) => properties[name] === which);
  const values = names.map((name) => {
    const value = (object as unknown as Record<string, unknown>)[name];
    // Messages transfer arrays, which would take them away from the object.
    return [name, value instanceof Float64Array ? value.slice() : value] as const;
  });
  return Object.fromEntries(values);
}

/** Calls a method; one that runs in pieces yields its results so far after each piece. */
export function* turnOf(
  object: Held,
  method: string,
  args: readonly unknown[],
): Generator<Piece<unknown>, unknown> {
  const { members } = object as Partial<Piecewise>;
  const member = members?.[method];
  const isSilent = member !== undefined && member.arity === undefined;
  if (!isSilent && !IN_PIECES.includes(method)) {
    const all = object as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
    return all[method]!(...args);
  }
  const result = yield* (object as unknown as Piecewise).pieces(method, args);
  return isSilent ? undefined : result;
}
