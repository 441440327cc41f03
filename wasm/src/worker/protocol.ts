// SPDX-License-Identifier: Apache-2.0

// Messages between worker and client.

import type * as api from '../types/all.js';
import type { BatchMethod, BatchProgress, RowsBefore, StreamKind } from './batches.js';

/** Facts of a simulation that do not change. */
export type SimulationInfo = Pick<
  api.Simulation,
  | 'certificate'
  | 'dimension'
  | 'numSteps'
  | 'learns'
  | 'classifies'
  | 'clippingImpossible'
  | 'grid'
  | 'lambda'
  | 'regretBound'
>;

/** Facts of totals or of a learner that do not change. */
export type StreamInfo = Pick<
  api.Totals,
  'certificate' | 'dimension' | 'numSteps' | 'grid' | 'insecure'
> & { lambda?: number };

/** Facts of a twin or comparator that do not change. */
export type HindsightInfo = Pick<api.Twin, 'dimension' | 'numScores'>;

/** Facts of queries that do not change. */
export type QueriesInfo = Pick<
  api.Queries,
  | 'numQueries'
  | 'numValues'
  | 'numMeasurements'
  | 'neighbours'
  | 'noise'
  | 'mu'
  | 'unitError'
  | 'lowerBound'
  | 'ratio'
  | 'textbookRatio'
  | 'standardErrors'
>;

/** Facts of noise that do not change. */
export type NoiseInfo = Pick<api.Noise, 'dimension' | 'numSteps'>;

/** Properties and short methods of objects that live in the worker: name -> answer. */
export interface Questions {
  step: number;
  numDropped: number;
  stddev: number;
  model: api.LearnedModel;
  numWaiting: number;
  endBatch: void;
  best: api.BestFixed;
  weights: Float64Array;
  losses: Float64Array;
  label: string;
  labels: string[];
  matrices: api.QueryMatrices;
  release: api.QueryAnswers;
  seek: void;
  rounded: Float64Array;
  checkpoint: Uint8Array;
}

/**
 * Functions of the library that take one argument and are the same in the worker. `error`,
 * `errorPerStep`, `matrices`, `compare`, `optimize` and `certificate` report progress meanwhile.
 */
type Answered =
  | 'mechanisms'
  | 'calibrate'
  | 'error'
  | 'errorPerStep'
  | 'matrices'
  | 'compare'
  | 'bounds'
  | 'optimize'
  | 'certificate'
  | 'choose'
  | 'winner'
  | 'quantile'
  | 'pureMu'
  | 'pureRho'
  | 'compose';

type AnsweredMethods = {
  [name in Answered]: [Parameters<api.DpFtrl[name]>[0], ReturnType<api.DpFtrl[name]>];
};

/** Methods of the worker: name -> [argument, result]. */
export interface Methods extends AnsweredMethods {
  load: [Pick<api.LoadOptions, 'wasm'>, string];
  /** Reports its progress meanwhile. */
  createSimulation: [api.SimulationOptions, { id: number; info: SimulationInfo }];
  /** In pieces, and reports its progress meanwhile. */
  advance: [{ id: number; maxSteps: number; maxMilliseconds: number }, api.SimulationChunk];
  heldOutRisk: [{ id: number; numExamples: number }, api.HeldOutRisk];
  /** Reports its progress meanwhile. */
  createStream: [
    { kind: StreamKind; options: never },
    { id: number; info: StreamInfo | HindsightInfo },
  ];
  /** In pieces, and reports its progress meanwhile. */
  batch: [{ id: number; method: BatchMethod; args: unknown[] }, Float64Array | undefined];
  ask: [{ id: number; name: keyof Questions; args: unknown[] }, Questions[keyof Questions]];
  dispose: [{ id: number }, undefined];
  /** Reports its progress meanwhile. */
  createQueries: [api.QueriesOptions, { id: number; info: QueriesInfo }];
  /** Reports its progress meanwhile. */
  createNoise: [api.NoiseOptions, { id: number; info: NoiseInfo }];
  regretBounds: [
    { certificate: api.Certificate; options: api.RegretBoundsOptions | undefined },
    api.RegretBounds,
  ];
  predict: [{ model: api.LearnedModel; features: ArrayLike<number> }, Float64Array];
  liveHandles: [undefined, number];
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
