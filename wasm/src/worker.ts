// SPDX-License-Identifier: Apache-2.0

/**
 * Script of a module worker that answers one client. Imported anywhere else, it only exports
 * `serve`.
 */

import { certificateInPieces, errorInPieces, foundFirst, inPieces } from './api/searches.js';
import { streamInPieces, type Pieces } from './api/searches.js';
import { wrongType } from './core/check.js';
import { DpError, refusalOf } from './core/errors.js';
import { load } from './index.js';
import { nextTask } from './shared/turns.js';
import type { DpFtrl, Progress, Simulation, SimulationChunk } from './types/all.js';
import { BatchCall, rowsBefore } from './worker/batches.js';
import { joinChunks } from './worker/chunks.js';
import { OBJECTS, placeAt, type FunctionName, type Kind } from './worker/methods.js';
import type { Objects, Stream, StreamKind } from './worker/methods.js';
import { listen, type Failure, type MessageTarget, type Methods } from './worker/protocol.js';
import type { Port, Request, Turn } from './worker/protocol.js';
import { factsOf, placeOf, turnOf, type PiecewiseStream } from './worker/turn.js';

/** Longest time between two checks for messages, so that a cancellation is noticed. */
const SLICE_MILLISECONDS = 8;

/** An object that the worker holds for the client. */
interface Held {
  kind: Kind;
  object: Objects[Kind];
  epoch: number;
  /** Number of simulation steps that take about one slice, adapted while running. */
  sliceSteps: number;
}

interface HeldStream {
  stream: PiecewiseStream;
  epoch: number;
}

type Name = FunctionName | Kind;
type Piecewise = (api: DpFtrl, options: never) => Pieces<unknown>;

/** Returns a function that searches for the mechanism piece by piece, then calls the library. */
const afterSearch = (path: Name): Piecewise =>
  function* (api, options) {
    const { object, name } = placeAt(api, path);
    return reply(object, name, [yield* foundFirst(api, options)]);
  };

/** Functions that may take long and report progress. */
const IN_PIECES: { readonly [Each in Name]?: Piecewise } = {
  error: errorInPieces,
  errorPerStep: afterSearch('errorPerStep'),
  incrementStddevs: afterSearch('incrementStddevs'),
  matrices: afterSearch('matrices'),
  compare: (api, options) => inPieces(api.compare(options)),
  optimize: (api, options) => inPieces(api.optimize(options)),
  certificate: certificateInPieces,
  'queries.linear': (api, options) => inPieces(api.queries.linear(options)),
  noise: afterSearch('noise'),
  'study.simulation': afterSearch('study.simulation'),
};

/** Returns the value of a property, or the result of a method. */
function reply(object: object, name: string, args: unknown[]): unknown {
  const member = (object as Record<string, unknown>)[name];
  return typeof member === 'function'
    ? (member as (...args: unknown[]) => unknown).apply(object, args)
    : member;
}

/** Returns the facts of an object. Arrays are copied, because messages transfer them. */
function infoOf(kind: Kind, object: Objects[Kind]): object {
  const all = OBJECTS[kind].facts.map((name) => {
    const fact = (object as unknown as Record<string, unknown>)[name];
    return [name, fact instanceof Float64Array ? fact.slice() : fact] as const;
  });
  return Object.fromEntries(all);
}

/** Returns the buffers of a value, each once; parts of a reading share one. */
function buffersOf(value: unknown): ArrayBuffer[] {
  const all = new Set<ArrayBuffer>();
  const add = (it: unknown): void => {
    if (ArrayBuffer.isView(it)) all.add(it.buffer as ArrayBuffer);
    else if (typeof it === 'object' && it !== null) Object.values(it).forEach(add);
  };
  add(value);
  return [...all];
}

function describe(error: unknown): Failure {
  const { message, code } = (error ?? {}) as Partial<Failure>;
  return {
    code: code ?? 'internal',
    message: message ?? String(error),
    refusal: refusalOf(error),
    rows: rowsBefore(error),
  };
}

/** Answers a verb that was stopped after some steps of a batch. */
function stoppedTurn({ stream }: HeldStream, released: unknown[]): Turn {
  const failure = { code: 'aborted', message: 'aborted', refusal: {}, rows: { released } } as const;
  return { failure, place: placeOf(stream) };
}

type Call = Extract<Request, { dpFtrl: 'call' }>;

/** Answers the calls of one client. */
class Server {
  private loadOptions: Methods['load'][0] = {};
  /** Objects by the id of the call that made them. */
  private readonly handles = new Map<number, Held>();
  private readonly queue: Call[] = [];
  private epoch = 0;
  private running = false;
  /** Streams by the id of the call that made them. */
  private readonly streams = new Map<number, HeldStream>();
  /** Calls that are to stop before their next piece. */
  private readonly stopped = new Set<number>();
  /** Aborted calls that are no longer queued, including the one that is running. */
  private readonly aborted = new Set<number>();

  constructor(private readonly port: Port) {}

  receive(request: Request): void {
    if (request?.dpFtrl === 'cancel') {
      this.epoch = request.epoch;
      this.dropStale();
    } else if (request?.dpFtrl === 'abort') {
      const at = this.queue.findIndex(({ id }) => id === request.id);
      if (at >= 0) this.queue.splice(at, 1);
      else if (this.running) this.aborted.add(request.id);
      this.drop(request.id); // The call may have been answered already.
    } else if (request?.dpFtrl === 'stop') {
      this.stop(request.id);
    } else if (request?.dpFtrl === 'call') {
      this.queue.push(request);
      if (!this.running) void this.answerAll();
    }
  }

  private dropStale(): void {
    for (const [id, { epoch }] of [...this.handles, ...this.streams]) {
      if (this.stale(epoch)) this.drop(id);
    }
  }

  private drop(id: number): void {
    this.handles.get(id)?.object.dispose();
    this.handles.delete(id);
    this.streams.get(id)?.stream.dispose();
    this.streams.delete(id);
  }

  /** Takes out a verb of a stream that waits, or lets it end after its current piece. */
  private stop(id: number): void {
    const at = this.queue.findIndex((call) => call.id === id);
    if (at < 0) {
      if (this.running) this.stopped.add(id);
      return;
    }
    const held = this.streams.get((this.queue[at]!.argument as Methods['turn'][0]).id);
    if (!held) return; // Its answer will say that it was disposed of.
    this.queue.splice(at, 1);
    this.port.postMessage({ dpFtrl: 'result', id, value: stoppedTurn(held, []) }, []);
  }

  private stale(epoch: number): boolean {
    return epoch < this.epoch;
  }

  private unwanted({ id, epoch }: Call): boolean {
    return this.stale(epoch) || this.aborted.has(id);
  }

  private async answerAll(): Promise<void> {
    this.running = true;
    for (let request = this.queue.shift(); request; request = this.queue.shift()) {
      const { id } = request;
      if (this.unwanted(request)) continue;
      try {
        const value = await this.answer(request);
        if (!this.unwanted(request)) {
          this.port.postMessage({ dpFtrl: 'result', id, value }, buffersOf(value));
        }
      } catch (error) {
        if (!this.unwanted(request)) {
          this.port.postMessage({ dpFtrl: 'failure', id, failure: describe(error) }, []);
        }
      }
      await nextTask();
      this.aborted.clear();
      this.stopped.clear();
      this.dropStale();
    }
    this.running = false;
  }

  private async answer(call: Call): Promise<unknown> {
    const { method, argument } = call;
    if (method === 'load') this.loadOptions = argument as Methods['load'][0];
    // load() caches the instance and makes a new one after the old one has stopped.
    const api = await load(this.loadOptions);
    switch (method) {
      case 'load':
        return api.version;
      case 'call': {
        const { name, args } = argument as Methods['call'][0];
        return this.run(api, { call, name, args });
      }
      case 'make':
        return this.make(api, call);
      case 'ask': {
        const { id, name, args } = argument as Methods['ask'][0];
        return reply(this.held(id).object, name, args);
      }
      case 'batch':
        return this.batch(call);
      case 'advance':
        return this.advance(call);
      case 'open':
        return this.open(api, call);
      case 'turn':
        return this.turn(call);
      case 'dispose':
        return this.drop((argument as Methods['dispose'][0]).id);
    }
  }

  /** Runs a function of the library. Returns undefined if the call was cancelled or aborted. */
  private async run(
    api: DpFtrl,
    { call, name, args }: { call: Call; name: Name; args: unknown[] },
  ): Promise<unknown> {
    const pieces = IN_PIECES[name]?.(api, args[0] as never);
    if (pieces) return this.inPieces(call, pieces);
    const { object, name: own } = placeAt(api, name);
    return reply(object, own, args);
  }

  private async make(api: DpFtrl, call: Call): Promise<Methods['make'][1] | undefined> {
    const { kind, options } = call.argument as Methods['make'][0];
    const made = await this.run(api, { call, name: kind, args: [options] });
    if (made === undefined) return undefined;
    const object = made as Objects[Kind];
    const { id, epoch } = call;
    this.handles.set(id, { kind, object, epoch, sliceSteps: 1 });
    return { id, info: infoOf(kind, object) };
  }

  private async open(api: DpFtrl, call: Call): Promise<Methods['open'][1] | undefined> {
    const { kind, options } = call.argument as Methods['open'][0];
    const made = await this.inPieces(call, streamInPieces(api, kind, options as object));
    if (made === undefined) return undefined;
    const stream = made as PiecewiseStream;
    const { id, epoch } = call;
    this.streams.set(id, { stream, epoch });
    return { id, facts: factsOf(stream), place: placeOf(stream) };
  }

  private async turn(call: Call): Promise<Turn> {
    const { id, verb, args } = call.argument as Methods['turn'][0];
    const held = this.streams.get(id);
    if (!held) throw new DpError('disposed', 'this stream was disposed of');
    const { stream } = held;
    const pieces = turnOf(stream, verb, args);
    let readings: unknown[] = [];
    try {
      for (let start = performance.now(); ; ) {
        if (this.stopped.has(call.id) || this.unwanted(call)) return stoppedTurn(held, readings);
        const piece = pieces.next();
        if (piece.done) return { value: piece.value, place: placeOf(stream) };
        readings = piece.value.readings;
        if (performance.now() - start < SLICE_MILLISECONDS) continue;
        const { fraction } = piece.value;
        this.port.postMessage({ dpFtrl: 'progress', id: call.id, progress: { fraction } }, []);
        await nextTask();
        start = performance.now();
      }
    } catch (error) {
      return { failure: describe(error), place: placeOf(stream) };
    }
  }

  private held(id: number): Held {
    const held = this.handles.get(id);
    if (!held) throw new DpError('disposed', 'this handle was disposed of');
    return held;
  }

  private async batch(call: Call): Promise<Float64Array | undefined> {
    const { id, name, args } = call.argument as Methods['batch'][0];
    const { kind, object } = this.held(id);
    const batch = new BatchCall(kind as StreamKind, object as Stream, name, args);
    while (!this.unwanted(call) && batch.advance(SLICE_MILLISECONDS)) {
      const { progress } = batch;
      this.port.postMessage({ dpFtrl: 'progress', id: call.id, progress }, []);
      await nextTask();
    }
    return batch.result();
  }

  /**
   * Runs a computation piece by piece, several short pieces per slice. Returns undefined if the
   * call was cancelled or aborted.
   */
  private async inPieces<T>(call: Call, pieces: Pieces<T>): Promise<T | undefined> {
    const { id } = call;
    const post = (progress: Progress): void =>
      this.port.postMessage({ dpFtrl: 'progress', id, progress }, []);
    try {
      while (!this.unwanted(call)) {
        const start = performance.now();
        let progress: Progress | undefined;
        let piece = pieces.next();
        for (
          ;
          !piece.done && performance.now() - start < SLICE_MILLISECONDS;
          piece = pieces.next()
        ) {
          progress = piece.value;
        }
        if (!piece.done) progress = piece.value;
        if (progress) post(progress);
        if (piece.done) return piece.value;
        await nextTask();
      }
      return undefined;
    } finally {
      pieces.return(undefined as never);
    }
  }

  /** Advances in slices and handles messages between them. */
  private async advance(call: Call): Promise<SimulationChunk> {
    const { id, maxSteps, maxMilliseconds } = call.argument as Methods['advance'][0];
    const held = this.held(id);
    const simulation = held.object as Simulation;
    const total = Math.min(maxSteps, simulation.numSteps - simulation.step);
    const chunks: SimulationChunk[] = [];
    const start = performance.now();
    let left = maxSteps;
    do {
      const sliceStart = performance.now();
      const steps = Math.min(left, held.sliceSteps);
      chunks.push(simulation.advance(steps));
      left -= steps;
      const spent = performance.now() - sliceStart;
      if (spent < SLICE_MILLISECONDS / 2) held.sliceSteps *= 2;
      else if (spent > SLICE_MILLISECONDS && held.sliceSteps > 1) held.sliceSteps >>>= 1;
      if (held.sliceSteps > 1 << 20) held.sliceSteps = 1 << 20;
      if (left > 0 && !simulation.finished) {
        const progress = { done: maxSteps - left, total };
        this.port.postMessage({ dpFtrl: 'progress', id: call.id, progress }, []);
        await nextTask();
      }
    } while (
      left > 0 &&
      !this.unwanted(call) &&
      !simulation.disposed &&
      !simulation.finished &&
      performance.now() - start < maxMilliseconds
    );
    return joinChunks(chunks);
  }
}

/**
 * Answers a client on a port. In a worker, this entry calls it on its own scope when it is loaded.
 */
export function serve(target: MessageTarget): void {
  const port = target as Port;
  if (typeof port?.postMessage !== 'function') {
    throw wrongType('serve', 'target', 'a MessagePort or the scope of a worker', port);
  }
  const server = new Server(port);
  listen(port, 'message', (data) => server.receive(data as Request));
  port.start?.();
}

interface Scope extends Port {
  WorkerGlobalScope?: unknown;
  document?: unknown;
  process?: { getBuiltinModule?(id: string): unknown };
}

function ownScope(): Port | undefined {
  const scope = globalThis as unknown as Scope;
  if (typeof scope.WorkerGlobalScope === 'function' && scope.document === undefined) return scope;
  const threads = scope.process?.getBuiltinModule?.('node:worker_threads') as
    | { isMainThread: boolean; parentPort: Port | null }
    | undefined;
  return threads && !threads.isMainThread ? (threads.parentPort ?? undefined) : undefined;
}

const scope = ownScope();
if (scope) serve(scope);

export type { MessageTarget } from './worker/protocol.js';
