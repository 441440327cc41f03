// SPDX-License-Identifier: Apache-2.0

// Objects that live in a worker, as its client sees them.

import { wrongType } from '../core/check.js';
import { DpError, makeError } from '../core/errors.js';
import { abortedError, readCall } from '../api/streams/turns.js';
import { counted } from '../shared/counted.js';
import { errorOf, type Connection } from './connection.js';
import { isStreamName, NAMED_PARTS, nameOf, type ObjectPath } from './methods.js';
import type { Opening } from './protocol.js';

/** Messages give objects a prototype; objects keyed by the caller's names must have none. */
function bare(value: unknown, depth: number): unknown {
  if (depth === 0 || value === undefined) return value;
  const all = Object.create(null) as Record<string, unknown>;
  for (const [name, one] of Object.entries(value as object)) all[name] = bare(one, depth - 1);
  return all;
}

/** Restores a reading, or a list of them, from a message. */
function restored(kind: ObjectPath, value: unknown): unknown {
  if (!isStreamName(kind)) return value;
  if (Array.isArray(value)) return value.map((one) => restored(kind, one));
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(NAMED_PARTS[kind]).filter(([part]) => part in value);
  const own = value as Record<string, unknown>;
  for (const [part, depth] of parts) own[part] = bare(own[part], depth);
  return own;
}

/** An object in the worker. Messages keep the order of the calls, so each call takes its turn. */
class Remote {
  private gone = false;
  private readonly epoch: number;

  constructor(
    private readonly connection: Connection,
    private readonly kind: ObjectPath,
    private readonly id: number,
    /** Properties that change, as they were when the last call settled. */
    public place: object,
  ) {
    this.epoch = connection.epoch;
    connection.watch(this, id);
  }

  get disposed(): boolean {
    return this.gone || this.epoch < this.connection.epoch;
  }

  async dispose(): Promise<void> {
    if (this.disposed) return;
    this.gone = true;
    this.connection.forget(this);
    const asked = this.connection.call('dispose', { id: this.id }, { epoch: this.epoch });
    await asked.catch(() => undefined); // If the worker is gone, so is the object.
  }

  /** Makes a method that sends its first `arity` arguments; the options of the call follow them. */
  method(name: string, arity: number) {
    return async (...given: readonly unknown[]): Promise<unknown> => {
      if (given.length > arity + 1) {
        const constraint = `takes ${counted(arity, 'argument')} and the options of the call`;
        const value = counted(given.length, 'argument');
        throw makeError('wrong_type', name, { constraint, value });
      }
      const call = readCall(name, given[arity]);
      const what = isStreamName(this.kind) ? 'stream' : 'handle';
      if (this.disposed) throw new DpError('disposed', `this ${what} was disposed of`);
      if (call.signal?.aborted) throw abortedError(name, call.signal);
      const argument = { id: this.id, method: name, args: given.slice(0, arity) };
      const options = { ...call, where: name, isAnswered: true };
      const turn = await this.connection.call('turn', argument, options);
      this.place = turn.place;
      if ('value' in turn) return restored(this.kind, turn.value);
      const { released, ...failure } = turn.failure;
      const error =
        failure.code === 'aborted' && call.signal?.aborted
          ? abortedError(name, call.signal)
          : errorOf(failure);
      throw Object.assign(error, released && { released: restored(this.kind, released) });
    };
  }
}

/** Handle of an object: its properties, and its methods with promises. */
function handleOf(remote: Remote, { facts, place, methods }: Opening): object {
  const all = Object.entries(methods).map(([name, arity]) => [name, remote.method(name, arity)]);
  const handle: object = { ...facts, ...Object.fromEntries(all) };
  const { certificate } = facts as { certificate?: object };
  if (certificate) Object.freeze(certificate);
  for (const name of Object.keys(place)) {
    const get = (): unknown => (remote.place as Record<string, unknown>)[name];
    Object.defineProperty(handle, name, { get, enumerable: true });
  }
  Object.defineProperty(handle, 'disposed', { get: () => remote.disposed, enumerable: true });
  const dispose = { value: () => remote.dispose() };
  Object.defineProperty(handle, 'dispose', { ...dispose, enumerable: true });
  // Not every browser has the symbol yet.
  if (typeof Symbol.asyncDispose === 'symbol')
    Object.defineProperty(handle, Symbol.asyncDispose, dispose);
  return Object.freeze(handle);
}

/** Options of streams that have no meaning in a worker, and the reasons. */
const NOT_HERE = {
  store: 'which has no stores',
  budget: 'which has no budgets',
  reuse: 'whose readings are copies',
} as const;

/** Refuses options that have no meaning in a worker. */
function requireHere(kind: ObjectPath, options: object): void {
  if (!isStreamName(kind)) return;
  const { loss } = options as { loss?: unknown };
  if (typeof loss === 'function') {
    throw wrongType(kind, 'loss', 'a name or an object in a worker', loss);
  }
  const given = options as Partial<Record<keyof typeof NOT_HERE, unknown>>;
  const names = Object.keys(NOT_HERE) as (keyof typeof NOT_HERE)[];
  const parameter = names.find((name) => given[name] !== undefined);
  if (parameter === undefined) return;
  const constraint = `must be left out in a worker, ${NOT_HERE[parameter]}`;
  throw makeError('unsupported', kind, { parameter, constraint });
}

/** Makes an object in the worker. */
export async function open(
  connection: Connection,
  kind: ObjectPath,
  options: unknown,
  call: unknown,
): Promise<object> {
  const where = nameOf(kind);
  const given = readCall(where, call);
  requireHere(kind, (options ?? {}) as object);
  const opening = await connection.call('open', { kind, options }, { where, ...given });
  return handleOf(new Remote(connection, kind, opening.id, opening.place), opening);
}
