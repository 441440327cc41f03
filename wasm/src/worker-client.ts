// SPDX-License-Identifier: Apache-2.0

/**
 * The library in a worker, with promises: the page stays responsive, and every call can be
 * cancelled.
 */

import { optionsObject, wrongType } from './core/check.js';
import { makeError } from './core/errors.js';
import { readCall } from './api/streams/turns.js';
import type * as api from './types/all.js';
import type { Async } from './types/async.js';
import type { Streams } from './types/streams/stream.js';
import { Connection } from './worker/connection.js';
import { FUNCTIONS, nameOf, OBJECTS, STREAMS } from './worker/methods.js';
import type { FunctionName } from './worker/methods.js';
import type { MessageTarget, Port } from './worker/port.js';
import { open } from './worker/remote.js';

/** The worker to connect to, and the bytes it loads. */
export interface ConnectOptions {
  /**
   * A worker that runs `dp-ftrl/worker`, or a port that reaches one. Default: a new module worker
   * from the file next to this one.
   */
  worker?: MessageTarget;
  /**
   * As in `load`, except that a Response cannot be sent to a worker. Only needed if the worker is
   * not allowed to compile the inlined bytes.
   */
  wasm?: api.LoadOptions['wasm'];
}

/**
 * The library in a worker: the functions of {@link api.DpFtrl}, with promises. Objects made by
 * these functions live in the worker, where each counts as one handle, and are disposed of when
 * they are garbage-collected here. `predict`, `rounded` and `next` return new arrays.
 */
export interface Client extends Async<api.Analysis>, Streams<'worker'> {
  /**
   * Resolves to the version of the library once the worker is ready; rejects if it cannot be
   * loaded.
   */
  readonly ready: Promise<string>;
  /** As in the library: {@link api.DpFtrl.strategies}. */
  strategies(): Promise<readonly api.StrategyInfo[]>;
  /** Handles alive in the worker, for leak tests. */
  liveHandles(): Promise<number>;
  readonly queries: Async<api.Queries>;
  readonly study: Async<Omit<api.Study, 'noise'>>;
  /**
   * Cancels all calls made so far: pending promises reject at once with a DpError of code
   * `cancelled`, and objects made before are disposed of. Later calls are not affected.
   */
  cancel(): void;
  /**
   * Ends the worker. Pending promises reject with code `disposed`, as they do if the worker ends by
   * itself.
   */
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

type Function = (...given: unknown[]) => Promise<unknown>;

/** Makes a function of the library that sends its arguments to the worker. */
function functionOf(connection: Connection, name: FunctionName): Function {
  const numArgs = FUNCTIONS[name];
  return async (...given) => {
    const where = nameOf(name);
    const call = readCall(where, given[numArgs]);
    const args = given.slice(0, numArgs);
    return connection.call('call', { name, args }, { where, ...call });
  };
}

/** All functions and properties of the worker, by path. */
function functionsOf(connection: Connection): [path: string, run: Function][] {
  const names = Object.keys(FUNCTIONS) as FunctionName[];
  return [
    ...names.map((name): [string, Function] => [name, functionOf(connection, name)]),
    ...[...STREAMS, ...OBJECTS].map((kind): [string, Function] => [
      kind,
      (options, call) => open(connection, kind, options, call),
    ]),
  ];
}

/** Puts each function at its path in an object. */
function nested(functions: readonly [path: string, run: Function][]): object {
  const root: Record<string, unknown> = {};
  for (const [path, run] of functions) {
    const [name, folder] = path.split('.').reverse() as [string, string | undefined];
    const into = folder === undefined ? root : (root[folder] ??= {});
    (into as Record<string, unknown>)[name] = run;
  }
  return root;
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
  ready.catch(() => {}); // Awaiting `ready` still reports the failure, and so does every call.
  return Object.freeze({
    ready,
    ...nested(functionsOf(connection)),
    cancel: () => connection.cancel(),
    terminate: () => connection.terminate(),
  }) as Client;
}

export { DpError } from './core/errors.js';
export type { MessageTarget } from './worker/port.js';
export type * from './types/all.js';
