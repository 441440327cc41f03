// SPDX-License-Identifier: Apache-2.0

// Messages between worker and client.

import type * as api from '../types/all.js';
import type { Stream } from '../types/streams/stream.js';
import type { CallProgress } from '../types/streams/stream.js';
import type { BatchProgress, RowsBefore } from './batches.js';
import type { BatchMethod, FunctionName, Info, Kind, StreamName } from './methods.js';

export type SimulationInfo = Info<'study.simulation'>;
/** Facts of a twin or comparator that do not change. */
export type HindsightInfo = Info<'study.twin'>;
export type QueriesInfo = Info<'queries.linear'>;
export type NoiseInfo = Info<'noise'>;

/** Methods of the worker: name -> [argument, result]. */
export interface Methods {
  load: [Pick<api.LoadOptions, 'wasm'>, string];
  /** Calls a function of the library. Functions that search report progress. */
  call: [{ name: FunctionName; args: unknown[] }, unknown];
  /** Makes an object that stays in the worker. Reports the progress of a search. */
  make: [{ kind: Kind; options: unknown }, { id: number; info: object }];
  /** Reads a property or calls a method of an object. */
  ask: [{ id: number; name: string; args: unknown[] }, unknown];
  /** Calls a method on many rows in pieces, and reports progress. */
  batch: [{ id: number; name: BatchMethod; args: unknown[] }, Float64Array | undefined];
  /** Runs steps of a simulation in pieces, and reports progress. */
  advance: [{ id: number; maxSteps: number; maxMilliseconds: number }, api.SimulationChunk];
  /** Makes a stream. Reports the progress of a search. */
  open: [{ kind: StreamName; options: unknown }, { id: number; facts: StreamFacts; place: Place }];
  /** Calls a verb of a stream. Batches run in pieces, and report progress. */
  turn: [{ id: number; verb: string; args: readonly unknown[] }, Turn];
  dispose: [{ id: number }, undefined];
}

/** Properties of a stream that never change. */
export type StreamFacts = Pick<
  Stream<never, unknown>,
  'steps' | 'certificate' | 'grid' | 'insecure'
> & {
  /** Number of arguments that make a record. */
  arity: number;
  /** Number of arguments of the members that not all streams have. */
  members: Readonly<Record<string, number>>;
};
/** Properties of a stream that its verbs change. */
export type Place = Pick<Stream<never, unknown>, 'step' | 'records' | 'waiting' | 'dropped'>;

/** How a call of a verb has ended, and the place of the stream after it. */
export type Turn = { place: Place } & ({ value: unknown } | { failure: Failure });

/**
 * `epoch` only grows; the worker drops everything of an earlier one. `abort` gives up one call,
 * which then gets no answer; an object that it has made is disposed of. `stop` ends a verb of a
 * stream before its next piece, and its answer says how far it came. An object has the `id` of the
 * call that made it.
 */
export type Request =
  | { dpFtrl: 'call'; id: number; epoch: number; method: keyof Methods; argument: unknown }
  | { dpFtrl: 'abort'; id: number }
  | { dpFtrl: 'stop'; id: number }
  | { dpFtrl: 'cancel'; epoch: number };

/** An error as data: structured cloning would drop the additional fields of an Error. */
export interface Failure {
  code: api.ErrorCode;
  message: string;
  refusal: api.Refusal;
  rows: RowsBefore;
}

export type Response =
  | { dpFtrl: 'result'; id: number; value: unknown }
  | {
      dpFtrl: 'progress';
      id: number;
      progress: api.Progress | BatchProgress | CallProgress;
    }
  | { dpFtrl: 'failure'; id: number; failure: Failure };

/**
 * Target of messages: a Worker, a MessagePort, the scope of a worker, or their counterparts in
 * Node's worker_threads.
 */
export interface MessageTarget {
  postMessage(message: unknown, transfer: never[]): void;
}

/** The members of a target that we use. */
export interface Port {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  addEventListener?(type: string, listener: (event: { data: unknown }) => void): void;
  on?(type: string, listener: (data: unknown) => void): unknown;
  start?(): void;
  terminate?(): unknown;
  close?(): void;
}

export function listen(port: Port, type: string, listener: (data: unknown) => void): void {
  if (port.addEventListener) {
    port.addEventListener(type, (event) => listener(type === 'message' ? event.data : event));
  } else {
    port.on?.(type, listener);
  }
}
