// SPDX-License-Identifier: Apache-2.0

// Calls methods of objects, on the worker's side.

import type { Piece } from '../api/streams/stream.js';
import type { WorkerObject, Members } from './methods.js';

/** An object with methods that run in pieces. */
interface PiecewiseObject {
  /** Members of a stream; members without an arity take batches and return nothing. */
  readonly members?: Readonly<Record<string, { readonly arity: number | undefined }>>;
  pieces(method: string, args: readonly unknown[]): Generator<Piece<unknown>, unknown>;
}

/** Methods that run in pieces. */
const IN_PIECES = ['releaseMany', 'endMany', 'advance'];

/** An object's properties that change, or those that do not. */
export function propertiesOf(
  object: WorkerObject,
  { properties }: Members,
  which: 'fixed' | 'changing',
): object {
  const names = Object.keys(properties).filter((name) => properties[name] === which);
  const values = names.map((name) => {
    const value = (object as unknown as Record<string, unknown>)[name];
    // Messages transfer arrays, so the object would lose them.
    return [name, value instanceof Float64Array ? value.slice() : value] as const;
  });
  return Object.fromEntries(values);
}

/** Calls a method. A method that runs in pieces yields its results so far after each piece. */
export function* turnOf(
  object: WorkerObject,
  method: string,
  args: readonly unknown[],
): Generator<Piece<unknown>, unknown> {
  const { members } = object as Partial<PiecewiseObject>;
  const member = members?.[method];
  const isSilent = member !== undefined && member.arity === undefined;
  if (!isSilent && !IN_PIECES.includes(method)) {
    const all = object as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
    return all[method]!(...args);
  }
  const result = yield* (object as unknown as PiecewiseObject).pieces(method, args);
  return isSilent ? undefined : result;
}
