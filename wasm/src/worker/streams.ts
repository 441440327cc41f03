// SPDX-License-Identifier: Apache-2.0

// Streams that live in a worker, as its client sees them.

import { wrongType } from '../core/check.js';
import { DpError, makeError } from '../core/errors.js';
import { abortedError } from '../api/streams/turns.js';
import { counted } from '../shared/counted.js';
import type { Certificate } from '../types/all.js';
import type { Async, Stream, Streams } from '../types/streams/stream.js';
import { errorOf, readCall, type Connection } from './connection.js';
import { STREAMS, VERBS, type StreamName } from './methods.js';
import type { Place, StreamFacts } from './protocol.js';

/** Parts of readings that have the caller's names, with the depth to which they have them. */
const NAMED: Readonly<Record<StreamName, Readonly<Record<string, number>>>> = {
  counter: {},
  totals: {},
  sums: { sums: 1 },
  moments: { mean: 1, variance: 1, standardDeviation: 1, covariance: 2 },
  histogram: { count: 1, share: 1 },
  learner: {},
  gradientLearner: {},
};

/** Messages give objects a prototype; those with the caller's names must have none. */
function bare(value: unknown, depth: number): unknown {
  if (depth === 0 || value === undefined) return value;
  const all = Object.create(null) as Record<string, unknown>;
  for (const [name, one] of Object.entries(value as object)) all[name] = bare(one, depth - 1);
  return all;
}

/** Restores a reading, or a list of them, from a message. */
function restored(kind: StreamName, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => restored(kind, one));
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(NAMED[kind]).filter(([part]) => part in value);
  const own = value as Record<string, unknown>;
  for (const [part, depth] of parts) own[part] = bare(own[part], depth);
  return own;
}

/** A stream in the worker. Messages keep the order of the calls, so that each takes its turn. */
class RemoteStream {
  private gone = false;
  private readonly epoch: number;

  constructor(
    private readonly connection: Connection,
    private readonly kind: StreamName,
    private readonly id: number,
    /** As it was when the last call settled. */
    public place: Place,
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
    await asked.catch(() => undefined); // If the worker is gone, so is the stream.
  }

  /** Makes a method that sends its first `arity` arguments; the options of the call follow them. */
  method(verb: string, arity: number) {
    return async (...given: readonly unknown[]): Promise<unknown> => {
      if (given.length > arity + 1) {
        const constraint = `takes ${counted(arity, 'argument')} and the options of the call`;
        const value = counted(given.length, 'argument');
        throw makeError('wrong_type', verb, { constraint, value });
      }
      const call = readCall(verb, given[arity] as object | undefined, 'searching');
      if (this.disposed) throw new DpError('disposed', 'this stream was disposed of');
      if (call.signal?.aborted) throw abortedError(verb, call.signal);
      const argument = { id: this.id, verb, args: given.slice(0, arity) };
      const turn = await this.connection.call('turn', argument, { ...call, isAnswered: true });
      this.place = turn.place;
      if ('value' in turn) return restored(this.kind, turn.value);
      const { failure } = turn;
      const { released } = failure.rows;
      const error =
        failure.code === 'aborted' && call.signal?.aborted
          ? abortedError(verb, call.signal)
          : errorOf(failure);
      const readings = released && { released: restored(this.kind, released) };
      throw Object.assign(error, readings);
    };
  }
}

/** Returns the handle of a stream: its facts, its verbs, and properties that follow its place. */
function handleOf(remote: RemoteStream, { arity, members, ...facts }: StreamFacts) {
  const verbs = Object.entries({ ...VERBS, ...members }).map(([verb, args]) => [
    verb,
    remote.method(verb, args ?? arity),
  ]);
  const handle = { ...facts, ...Object.fromEntries(verbs) } as object;
  Object.freeze((facts as { certificate: Certificate }).certificate);
  for (const name of ['step', 'records', 'waiting', 'dropped'] as const) {
    Object.defineProperty(handle, name, { get: () => remote.place[name], enumerable: true });
  }
  Object.defineProperty(handle, 'disposed', { get: () => remote.disposed, enumerable: true });
  const dispose = { value: () => remote.dispose() };
  Object.defineProperty(handle, 'dispose', { ...dispose, enumerable: true });
  // Not every browser has the symbol yet.
  if (typeof Symbol.asyncDispose === 'symbol')
    Object.defineProperty(handle, Symbol.asyncDispose, dispose);
  return Object.freeze(handle);
}

/** Options that have no meaning in a worker, and why. */
const NOT_HERE = {
  store: 'which has no stores',
  budget: 'which has no budgets',
  reuse: 'whose readings are copies',
} as const;

function requireHere(kind: StreamName, options: unknown): void {
  const { loss } = (options ?? {}) as { loss?: unknown };
  if (typeof loss === 'function') {
    throw wrongType(kind, 'loss', 'a name or an object in a worker', loss);
  }
  const given = (options ?? {}) as Partial<Record<keyof typeof NOT_HERE, unknown>>;
  const names = Object.keys(NOT_HERE) as (keyof typeof NOT_HERE)[];
  const parameter = names.find((name) => given[name] !== undefined);
  if (parameter === undefined) return;
  const constraint = `must be left out in a worker, ${NOT_HERE[parameter]}`;
  throw makeError('unsupported', kind, { parameter, constraint });
}

async function open(
  connection: Connection,
  kind: StreamName,
  options: unknown,
  call: object | undefined,
): Promise<Async<Stream<never, unknown>>> {
  const given = readCall(kind, call, 'searching');
  requireHere(kind, options);
  const { id, facts, place } = await connection.call('open', { kind, options }, given);
  const remote = new RemoteStream(connection, kind, id, place);
  return handleOf(remote, facts) as Async<Stream<never, unknown>>;
}

/** Returns the functions that make streams in the worker. */
export function streamsOf(connection: Connection): Streams<'worker'> {
  const makers = STREAMS.map((kind) => [
    kind,
    (options: unknown, call?: object) => open(connection, kind, options, call),
  ]);
  return Object.fromEntries(makers) as Streams<'worker'>;
}
