// SPDX-License-Identifier: Apache-2.0

// Objects of the library that live in the worker, from the client's side.

import { outOfRange, wrongType } from '../core/check.js';
import { DpError } from '../core/errors.js';
import type * as api from '../types/all.js';
import { readCall, type AdvanceOptions, type BatchCallOptions } from './connection.js';
import type { CallOptions, Connection } from './connection.js';
import { nameOf, OBJECTS, type Asked, type Info, type Kind, type Takes } from './methods.js';
import type { HindsightInfo, NoiseInfo, QueriesInfo, SimulationInfo } from './protocol.js';

/**
 * An object that lives in the worker, where it counts as one handle. It is disposed of there when
 * it is garbage-collected here.
 */
export type RemoteHandle = api.Handle;

/** A twin that lives in the worker: NOT private, like everything it returns. */
export interface RemoteTwin extends HindsightInfo, RemoteHandle {
  /** As in the library, but resolves with the predictions. */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    call?: BatchCallOptions,
  ): Promise<Float64Array>;
  endBatch(): Promise<void>;
  weights(): Promise<Float64Array>;
}

/** A comparator that lives in the worker: NOT private, like everything it returns. */
export interface RemoteComparator extends HindsightInfo, RemoteHandle {
  append(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    call?: BatchCallOptions,
  ): Promise<void>;
  /** Runs as one piece: if aborted, it rejects at once, but the worker completes it. */
  best(call?: CallOptions): Promise<api.BestFixed>;
}

/** Linear queries that live in the worker. */
export interface RemoteQueries extends QueriesInfo, RemoteHandle {
  /** As in the library: {@link api.LinearQueries.label}. */
  label(query: number): Promise<string>;
  /** As in the library: {@link api.LinearQueries.labels}. */
  labels(): Promise<string[]>;
  /** As in the library: {@link api.LinearQueries.bounds}. */
  bounds(call?: CallOptions): Promise<api.QueryBounds>;
  /** As in the library: {@link api.LinearQueries.matrices}. */
  matrices(call?: CallOptions): Promise<api.QueryMatrices>;
  /** As in the library. Each call is a separate release, even if it is aborted. */
  release(
    histogram: ArrayLike<number>,
    options?: api.QueryReleaseOptions,
    call?: CallOptions,
  ): Promise<api.QueryAnswers>;
}

/** Noise that lives in the worker; as in the library, except for `restore`. */
export interface RemoteNoise extends NoiseInfo, RemoteHandle {
  /** As in the library: {@link api.Noise.step}. */
  step(): Promise<number>;
  /** As in the library: {@link api.Noise.seek}. */
  seek(step: number): Promise<void>;
  /** An aborted call may have made its rows, as `step` shows. */
  rounded(options: Parameters<api.Noise['rounded']>[0], call?: CallOptions): Promise<Float64Array>;
  /** As in the library: {@link api.Noise.checkpoint}. */
  checkpoint(): Promise<Uint8Array>;
}

/** A simulation that lives in the worker. */
export interface RemoteSimulation extends SimulationInfo, RemoteHandle {
  /** Number of steps whose results have arrived. */
  readonly step: number;
  /** True if the results of all steps have arrived. */
  readonly finished: boolean;
  /**
   * Runs at most `maxSteps` steps. Meanwhile the worker checks for messages about every 8 ms; it
   * transfers the arrays without copying. An aborted call may have made some steps, whose results
   * are lost; the `firstStep` of the next chunk shows how many.
   */
  advance(maxSteps: number, options?: AdvanceOptions): Promise<api.SimulationChunk>;
  /** As in the library: {@link api.Simulation.heldOutRisk}. */
  heldOutRisk(numExamples: number, call?: CallOptions): Promise<api.HeldOutRisk>;
}

/** Objects in the worker, by the path of the function that makes them. */
export interface Remotes {
  'study.twin': RemoteTwin;
  'study.comparator': RemoteComparator;
  'queries.linear': RemoteQueries;
  noise: RemoteNoise;
  'study.simulation': RemoteSimulation;
}

/** An object in the worker, identified by the call that made it. */
class Remote {
  private gone = false;
  private readonly epoch: number;

  constructor(
    protected readonly connection: Connection,
    protected readonly id: number,
    private readonly kind: Kind,
  ) {
    this.epoch = connection.epoch;
    connection.watch(this, id);
  }

  get disposed(): boolean {
    return this.gone || this.epoch < this.connection.epoch;
  }

  dispose(): void {
    if (this.disposed) return;
    this.gone = true;
    this.connection.forget(this);
    this.connection.disposeOf(this.id);
  }

  protected requireAlive(): void {
    if (!this.disposed) return;
    const noun = this.kind === 'study.simulation' ? 'simulation' : 'handle';
    throw new DpError('disposed', `this ${noun} was disposed of`);
  }

  /**
   * Makes a method that sends its first `numArgs` arguments; the options of the call follow them.
   */
  method(how: 'ask' | 'batch', takes: Takes, [name, numArgs]: readonly [string, number]) {
    return async (...given: unknown[]): Promise<unknown> => {
      const options = readCall(name, given[numArgs] as object | undefined, takes);
      this.requireAlive();
      const argument = { id: this.id, name: name as never, args: given.slice(0, numArgs) };
      return this.connection.call(how, argument, options);
    };
  }
}

/** A simulation that tracks how many results have arrived. */
class RemoteRun extends Remote {
  step = 0;

  async advance(maxSteps: number, options?: AdvanceOptions): Promise<api.SimulationChunk> {
    const given = readCall('advance', options, 'searching', ['maxMilliseconds']);
    const { maxMilliseconds = Infinity } = options ?? {};
    if (typeof maxSteps !== 'number') throw wrongType('advance', 'maxSteps', 'a number', maxSteps);
    if (!Number.isSafeInteger(maxSteps) || maxSteps < 1) {
      throw outOfRange('advance', 'maxSteps', 'an integer of at least 1', maxSteps);
    }
    if (!(maxMilliseconds >= 0)) {
      throw outOfRange('advance', 'maxMilliseconds', 'at least 0', maxMilliseconds);
    }
    this.requireAlive();
    const argument = { id: this.id, maxSteps, maxMilliseconds };
    const chunk = await this.connection.call('advance', argument, given);
    this.step = chunk.firstStep + chunk.numSteps;
    return chunk;
  }
}

/** Returns the members that the table lists for a kind of object. */
function membersOf(remote: Remote, kind: Kind): Record<string, unknown> {
  const { asks, calls, batches } = OBJECTS[kind] as {
    asks: Record<string, number>;
    calls?: Record<string, number>;
    batches?: Record<string, readonly unknown[]>;
  };
  const members: Record<string, unknown> = {};
  for (const each of Object.entries(asks)) members[each[0]] = remote.method('ask', 'plain', each);
  for (const each of Object.entries(calls ?? {})) {
    members[each[0]] = remote.method('ask', 'abortable', each);
  }
  for (const [name, { length }] of Object.entries(batches ?? {})) {
    members[name] = remote.method('batch', 'searching', [name, length]);
  }
  return members;
}

/** Adds the members that every handle has to those of an object. */
function handle(remote: Remote, members: object): object {
  Object.defineProperty(members, 'disposed', { get: () => remote.disposed, enumerable: true });
  const dispose = { value: () => remote.dispose() };
  Object.defineProperty(members, 'dispose', { ...dispose, enumerable: true });
  // Not every browser has the symbol yet.
  if (typeof Symbol.dispose === 'symbol') Object.defineProperty(members, Symbol.dispose, dispose);
  return Object.freeze(members);
}

function simulationOf(run: RemoteRun, { numSteps }: Info<'study.simulation'>): object {
  const advance = (...args: Parameters<RemoteRun['advance']>) => run.advance(...args);
  return Object.defineProperties(
    { advance },
    {
      step: { get: () => run.step, enumerable: true },
      finished: { get: () => run.step === numSteps, enumerable: true },
    },
  );
}

/**
 * Every member in the table must be declared for its kind: a row with other members does not
 * compile.
 */
type Declared = { [K in Kind]: Asked<K> | keyof Info<K> extends keyof Remotes[K] ? K : never };

/** Makes an object in the worker. */
export async function make<K extends Declared[Kind]>(
  connection: Connection,
  kind: K,
  options: unknown,
  call: CallOptions | undefined,
): Promise<Remotes[K]> {
  const given = readCall(nameOf(kind), call, 'searching');
  const { id, info } = await connection.call('make', { kind, options }, given);
  const Type = kind === 'study.simulation' ? RemoteRun : Remote;
  const remote = new Type(connection, id, kind);
  const own =
    remote instanceof RemoteRun ? simulationOf(remote, info as Info<'study.simulation'>) : {};
  const members = Object.assign(own, info, membersOf(remote, kind));
  return handle(remote, members) as Remotes[K];
}
