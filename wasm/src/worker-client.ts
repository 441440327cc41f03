// SPDX-License-Identifier: Apache-2.0

/**
 * The library in a worker, with promises: the page stays responsive, and every call can be
 * cancelled.
 */

import { optionsObject, wrongType } from './core/check.js';
import { makeError } from './core/errors.js';
import type * as api from './types/all.js';
import { Connection, readCall } from './worker/connection.js';
import type { CallOptions, OptimizeCallOptions } from './worker/connection.js';
import { FUNCTIONS, nameOf, OBJECTS } from './worker/methods.js';
import type { FunctionName, Kind, Takes } from './worker/methods.js';
import type { MessageTarget, Port } from './worker/protocol.js';
import { streamsOf } from './worker/streams.js';
import type { Streams } from './types/streams/stream.js';
import { make } from './worker/remotes.js';
import type { RemoteComparator, RemoteNoise } from './worker/remotes.js';
import type { RemoteQueries, RemoteSimulation, RemoteTwin } from './worker/remotes.js';

/** The worker to connect to, and the bytes it loads. */
export interface ConnectOptions {
  /**
   * A worker that runs `dp-ftrl/worker`, or a port that reaches one. Default: a new module worker
   * from the file next to this one.
   */
  worker?: MessageTarget;
  /**
   * As in `load`, except that a Response cannot be sent to a worker. Only needed where the worker
   * may not compile the inlined bytes.
   */
  wasm?: api.LoadOptions['wasm'];
}

/**
 * Functions of the library that return promises and take the options of a call as a last argument.
 */
export type Promised<Name extends keyof Of, Call extends readonly unknown[], Of = api.DpFtrl> = {
  [Each in keyof Pick<Of, Name>]: Of[Each] extends (...args: infer A) => infer R
    ? (...args: [...A, ...Call]) => Promise<R>
    : never;
};

/** Linear queries and choices, in the worker. */
export interface RemoteQueryFunctions
  extends Promised<'randomizedResponse' | 'estimateCount', [], api.Queries>,
    Promised<'choose' | 'winner' | 'quantile', [call?: CallOptions], api.Queries> {
  /** As in the library. Each piece of the search takes one eigendecomposition or a few. */
  linear(options: api.LinearQueriesOptions, call?: OptimizeCallOptions): Promise<RemoteQueries>;
}

/** Functions for those who study mechanisms and learners, in the worker. NOT private. */
export interface RemoteStudy extends Promised<'regretBounds', [call?: CallOptions], api.Study> {
  twin(options: api.TwinOptions, call?: CallOptions): Promise<RemoteTwin>;
  comparator(options: api.ComparatorOptions, call?: CallOptions): Promise<RemoteComparator>;
  /** As in the library, but the object lives in the worker: {@link api.Study.simulation}. */
  simulation(options: api.SimulationOptions, call?: OptimizeCallOptions): Promise<RemoteSimulation>;
}

/**
 * Functions in a part of the table, except those whose signature differs further from the
 * library's.
 */
type Named<T extends Takes> = Exclude<
  keyof (typeof FUNCTIONS)[T] & keyof api.DpFtrl,
  'calibrate' | 'compare' | 'error' | 'liveHandles' | 'optimize' | 'predict' | 'strategies'
>;

/** Functions of the library that take no options for the call. */
export type PlainFunctions = Promised<Named<'plain'>, []>;
/** Functions of the library whose calls can be aborted. */
export type AbortableFunctions = Promised<Named<'abortable'>, [call?: CallOptions]>;
/** Functions of the library that may search for a mechanism. */
export type SearchingFunctions = Promised<Named<'searching'>, [call?: OptimizeCallOptions]>;

/** The library in a worker: the functions of {@link api.DpFtrl}, with promises. */
export interface Client
  extends PlainFunctions,
    AbortableFunctions,
    SearchingFunctions,
    Streams<'worker'> {
  /**
   * Resolves to the version of the library once the worker is ready; rejects if it cannot be
   * loaded.
   */
  readonly ready: Promise<string>;
  /** As in the library: {@link api.DpFtrl.calibrate}. */
  calibrate(
    options: Exclude<api.CalibrateOptions, { rho: number }>,
  ): Promise<api.GaussianCalibration>;
  /** As in the library: {@link api.DpFtrl.calibrate}. */
  calibrate(options: api.CalibrateOptions): Promise<api.Calibration>;
  /** As in the library: {@link api.DpFtrl.error}. */
  error(options: api.PureErrorOptions, call?: OptimizeCallOptions): Promise<api.PureError>;
  error(options: api.StackErrorOptions, call?: OptimizeCallOptions): Promise<api.StackError>;
  error(options: api.UnitErrorOptions, call?: OptimizeCallOptions): Promise<api.UnitError>;
  /**
   * As in the library: {@link api.DpFtrl.optimize}. Aborting rejects at once, but the worker stays
   * busy until the current piece ends. The pieces of `optimal` are its iterations, if it needs any.
   * For prefix sums and decay they take milliseconds up to 10^4 steps and seconds at 10^6; with
   * dense matrices (momentum, windows, matrices, epochs) up to 0.2 s at 256 steps, a second at 512,
   * 2 to 4 s at 1024. Other mechanisms are one piece. If that is too long, end the worker with
   * `terminate` and connect to a new one.
   */
  optimize(options: api.OptimizeOptions, call?: OptimizeCallOptions): Promise<api.SavedStrategy>;
  /** As in the library: {@link api.DpFtrl.compare}. */
  compare(options: api.CompareOptions, call?: OptimizeCallOptions): Promise<api.Comparison>;
  readonly queries: RemoteQueryFunctions;
  readonly study: RemoteStudy;
  /** As in the library, but the worker draws the key. */
  noise(options: api.NoiseOptions, call?: OptimizeCallOptions): Promise<RemoteNoise>;
  /** As in the library: {@link api.DpFtrl.predict}. */
  predict(
    model: api.LearnedModel,
    features: ArrayLike<number>,
    call?: CallOptions,
  ): Promise<Float64Array>;
  /** As in the library: {@link api.DpFtrl.strategies}. */
  strategies(): Promise<readonly api.StrategyInfo[]>;
  /** Handles alive in the worker, for leak tests. */
  liveHandles(): Promise<number>;
  /**
   * Cancels all calls made so far: pending promises reject at once with a DpError of code
   * `cancelled`, and objects made before are disposed of. Later calls are not affected.
   */
  cancel(): void;
  /** Ends the worker. Pending promises reject with code `disposed`, as when it ends by itself. */
  terminate(): void;
}

/** Bundlers find the file by this one expression with a literal address. */
function startWorker(): Worker {
  if (typeof Worker !== 'function') {
    const how = "in Node `new Worker(new URL(import.meta.resolve('dp-ftrl/worker')))`";
    const what = 'must be given where there are no workers of the web';
    throw makeError('unsupported', 'connect', {
      parameter: 'worker',
      constraint: `${what}; ${how} of node:worker_threads`,
    });
  }
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

function readConnect(options: ConnectOptions): { port: Port; wasm: api.LoadOptions['wasm'] } {
  const given: ConnectOptions = optionsObject('connect', options, ['worker', 'wasm']);
  const port = (given.worker ?? startWorker()) as Port;
  if (typeof port.postMessage !== 'function') {
    throw wrongType('connect', 'worker', 'a Worker or a MessagePort', port);
  }
  const { wasm } = given;
  return { port, wasm: wasm instanceof URL ? wasm.href : wasm };
}

/** Returns the functions of the table, by their path. */
function functionsOf(connection: Connection): Functions {
  const all = Object.entries(FUNCTIONS).flatMap(([takes, paths]) =>
    Object.entries(paths).map(([path, numArgs]) => {
      const run = async (...given: unknown[]) => {
        const options = given[numArgs] as object | undefined;
        const call = readCall(nameOf(path), options, takes as Takes);
        const args = given.slice(0, numArgs);
        return connection.call('call', { name: path as FunctionName, args }, call);
      };
      return [path, run] as const;
    }),
  );
  return Object.fromEntries(all);
}

type Functions = Record<string, (...given: never[]) => Promise<unknown>>;

/** Puts functions with a path where it leads. */
function nested(functions: Functions): object {
  const root = {};
  for (const [path, run] of Object.entries(functions)) {
    const [name, folder] = path.split('.').reverse() as [string, string | undefined];
    const all = root as Record<string, unknown>;
    const into = folder === undefined ? all : (all[folder] ??= {});
    (into as Record<string, unknown>)[name] = run;
  }
  return root;
}

/** Returns the functions that make objects in the worker, by their path. */
function makersOf(connection: Connection): Functions {
  const makers = Object.keys(OBJECTS).map((path) => [
    path,
    async (given: object | undefined, call: CallOptions | undefined) => {
      requireHere(path as Kind, given);
      return make(connection, path as Kind, given, call);
    },
  ]);
  return Object.fromEntries(makers);
}

/** Refuses options that have no meaning in a worker. */
function requireHere(kind: Kind, options: object | undefined): void {
  const { epsilon } = (options ?? {}) as { epsilon?: unknown };
  if (kind === 'noise' && epsilon !== undefined) {
    const constraint = 'must be left out in a worker, whose noise has no addNoiseTo';
    throw makeError('unsupported', 'noise', { parameter: 'epsilon', constraint });
  }
}

/**
 * Connects to a worker, or starts one. In browsers `connect()` is enough; in Node, pass the worker.
 *
 * @example
 * ```js
 * import { connect } from 'dp-ftrl/worker-client';
 * import { Worker } from 'node:worker_threads';
 *
 * const source = `import('dp-ftrl/worker').then(({ serve }) =>
 *   serve(require('node:worker_threads').parentPort));`;
 * const client = connect({ worker: new Worker(source, { eval: true }) });
 * const { mechanisms } = await client.compare({ steps: 64 });
 * console.log(mechanisms[0].mechanism);
 * client.terminate();
 * ```
 */
export function connect(options: ConnectOptions = {}): Client {
  const { port, wasm } = readConnect(options);
  const connection = new Connection(port);
  // Loading belongs to no epoch, so cancel() does not affect it.
  const ready = connection.call('load', wasm === undefined ? {} : { wasm }, { epoch: Infinity });
  ready.catch(() => {}); // Awaiting it still reports the failure; every call fails with it too.
  const functions = nested({ ...functionsOf(connection), ...makersOf(connection) });
  return Object.freeze({
    ready,
    ...functions,
    ...streamsOf(connection),
    cancel: () => connection.cancel(),
    terminate: () => connection.terminate(),
  }) as Client;
}

export { DpError } from './core/errors.js';
export type { BatchProgress } from './worker/batches.js';
export type { AdvanceOptions, BatchCallOptions, CallOptions } from './worker/connection.js';
export type { OptimizeCallOptions } from './worker/connection.js';
export type { HindsightInfo, MessageTarget, NoiseInfo, QueriesInfo } from './worker/protocol.js';
export type { SimulationInfo } from './worker/protocol.js';
export type {
  RemoteComparator,
  RemoteHandle,
  RemoteNoise,
} from './worker/remotes.js';
export type { RemoteQueries, RemoteSimulation, RemoteTwin } from './worker/remotes.js';
export type * from './types/all.js';
