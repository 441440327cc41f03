// SPDX-License-Identifier: Apache-2.0

// Messages between worker and client.

import type * as api from '../types/all.js';
import type { BatchProgress, RowsBefore } from './batches.js';
import type { BatchMethod, FunctionName, Info, Kind } from './methods.js';

export type SimulationInfo = Info<'simulation'>;
/** Facts of totals or of a learner that do not change. */
export type StreamInfo = Info<'prefixSum'> & { lambda?: number };
/** Facts of moments that do not change. */
export type StatisticInfo = Omit<Info<'statistic'>, 'categories' | 'workloads'>;
/** Facts of a twin or comparator that do not change. */
export type HindsightInfo = Info<'twin'>;
export type QueriesInfo = Info<'queries'>;
export type NoiseInfo = Info<'noise'>;

/** Methods of the worker: name -> [argument, result]. */
export interface Methods {
  load: [Pick<api.LoadOptions, 'wasm'>, string];
  /** A function of the library. Those that search report progress meanwhile. */
  call: [{ name: FunctionName; args: unknown[] }, unknown];
  /** Makes an object that stays in the worker. Reports the progress of searches meanwhile. */
  make: [{ kind: Kind; options: unknown }, { id: number; info: object }];
  /** A property or method of such an object. */
  ask: [{ id: number; name: string; args: unknown[] }, unknown];
  /** In pieces, and reports its progress meanwhile. */
  batch: [{ id: number; name: BatchMethod; args: unknown[] }, Float64Array | undefined];
  /** Steps of a simulation, in pieces; reports its progress meanwhile. */
  advance: [{ id: number; maxSteps: number; maxMilliseconds: number }, api.SimulationChunk];
  dispose: [{ id: number }, undefined];
}

/**
 * `epoch` only grows; the worker drops what belongs to an earlier one. `abort` gives up one call,
 * which then gets no answer; if it has made something, that is disposed of. What a call makes has the
 * `id` of the call.
 */
export type Request =
  | { dpFtrl: 'call'; id: number; epoch: number; method: keyof Methods; argument: unknown }
  | { dpFtrl: 'abort'; id: number }
  | { dpFtrl: 'cancel'; epoch: number };

/** An error, whose own fields structured cloning would drop. */
export interface Failure {
  code: api.ErrorCode;
  message: string;
  refusal: api.Refusal;
  rows: RowsBefore;
}

export type Response =
  | { dpFtrl: 'result'; id: number; value: unknown }
  | { dpFtrl: 'progress'; id: number; progress: api.OptimizeProgress | BatchProgress }
  | { dpFtrl: 'failure'; id: number; failure: Failure };

/**
 * Target of messages: a Worker, a MessagePort, the scope of a worker, and their like in Node's
 * worker_threads.
 */
export interface MessageTarget {
  postMessage(message: unknown, transfer: never[]): void;
}

/** Parts of it that we use. */
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
