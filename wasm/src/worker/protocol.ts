// SPDX-License-Identifier: Apache-2.0

// Messages between worker and client.

import type * as api from '../types/all.js';
import type { FunctionName, ObjectPath } from './methods.js';

/** Methods of the worker: name -> [argument, result]. */
export interface Methods {
  load: [Pick<api.LoadOptions, 'wasm'>, string];
  /** Calls a function of the library. Functions that search report progress. */
  call: [{ name: FunctionName; args: unknown[] }, unknown];
  /** Makes an object that stays in the worker. Reports the progress of a search. */
  open: [{ kind: ObjectPath; options: unknown }, Opening];
  /** Calls a method of an object. Batches run in pieces, and report progress. */
  turn: [{ id: number; method: string; args: readonly unknown[] }, Turn];
  dispose: [{ id: number }, undefined];
}

/** An object that the worker has made. */
export interface Opening {
  id: number;
  /** Properties that never change. */
  facts: object;
  /** Properties that methods change. */
  place: object;
  /** Methods, with the number of their arguments. */
  methods: Readonly<Record<string, number>>;
}

/** Outcome of a method call, and the facts that it changed. */
export type Turn = { place: object } & ({ value: unknown } | { failure: Failure });

/**
 * `epoch` only grows; the worker drops everything of an earlier epoch. `abort` gives up one call,
 * which then gets no answer; an object that the call has made is disposed of. `stop` ends a method
 * of an object before its next piece, and the answer has the results so far. An object has the `id`
 * of the call that made it.
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
  /** Readings made before the method failed or was stopped. */
  released?: unknown[];
}

export type Response =
  | { dpFtrl: 'result'; id: number; value: unknown }
  | { dpFtrl: 'progress'; id: number; progress: api.CallProgress }
  | { dpFtrl: 'failure'; id: number; failure: Failure };
