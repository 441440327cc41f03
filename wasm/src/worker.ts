// SPDX-License-Identifier: Apache-2.0

/**
 * Script of a module worker that answers one client. Imported anywhere else, it only exports
 * `serve`.
 */

import { certificateInPieces, errorInPieces, foundFirst, inPieces } from './api/searches.js';
import type { Pieces } from './api/searches.js';
import { wrongType } from './core/check.js';
import { DpError, refusalOf } from './core/errors.js';
import { load } from './index.js';
import { nextTask } from './shared/turns.js';
import type { DpFtrl, Progress } from './types/all.js';
import { membersOf, placeAt, STREAMS } from './worker/methods.js';
import type { FunctionName, WorkerObject, ObjectPath, Members } from './worker/methods.js';
import { listen, type MessageTarget, type Port } from './worker/port.js';
import type { Failure, Methods, Request, Turn } from './worker/protocol.js';
import { propertiesOf, turnOf } from './worker/turn.js';

/** Milliseconds after which the worker checks for messages, such as a cancellation. */
const SLICE_MILLISECONDS = 8;

/** An object that the worker holds for the client. */
interface HeldObject {
  object: WorkerObject;
  members: Members;
  epoch: number;
}

type CallPath = FunctionName | ObjectPath;
type PiecewiseFunction = (api: DpFtrl, options: never) => Pieces<unknown>;

/** Searches for the mechanism piece by piece, then calls the library. */
const afterSearch = (path: CallPath): PiecewiseFunction =>
  function* (api, options) {
    const { object, name } = placeAt(api, path);
    return reply(object, name, [yield* foundFirst(api, options)]);
  };

/** Functions that may take long and report progress. */
const IN_PIECES: { readonly [Each in CallPath]?: PiecewiseFunction } = {
  error: errorInPieces,
  compare: (api, options) => inPieces(api.compare(options)),
  optimize: (api, options) => inPieces(api.optimize(options)),
  certificate: certificateInPieces,
  'queries.linear': (api, options) => inPieces(api.queries.linear(options)),
  noise: afterSearch('noise'),
  'study.simulation': afterSearch('study.simulation'),
  ...Object.fromEntries(STREAMS.map((name) => [name, afterSearch(name)])),
};

/** Value of a property, or result of a method. */
function reply(object: object, name: string, args: unknown[]): unknown {
  const member = (object as Record<string, unknown>)[name];
  return typeof member === 'function'
    ? (member as (...args: unknown[]) => unknown).apply(object, args)
    : member;
}

/** Buffers of a value, each once; parts of a reading may share one. */
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
  const { message, code, released } = (error ?? {}) as Partial<Failure>;
  return {
    code: code ?? 'internal',
    message: message ?? String(error),
    refusal: refusalOf(error),
    ...(released && { released }),
  };
}

/** The answer of a method that was stopped after some of its steps. */
function stoppedTurn({ object, members }: HeldObject, released: unknown[]): Turn {
  const failure = { code: 'aborted', message: 'aborted', refusal: {}, released } as const;
  return { failure, place: propertiesOf(object, members, 'changing') };
}

type CallRequest = Extract<Request, { dpFtrl: 'call' }>;

/** Answers the calls of one client. */
class Server {
  private loadOptions: Methods['load'][0] = {};
  /** Objects by the id of the call that made them. */
  private readonly handles = new Map<number, HeldObject>();
  private readonly queue: CallRequest[] = [];
  private epoch = 0;
  private running = false;
  /** Calls to stop before their next piece. */
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
      this.drop(request.id); // The call may already have been answered.
    } else if (request?.dpFtrl === 'stop') {
      this.stop(request.id);
    } else if (request?.dpFtrl === 'call') {
      this.queue.push(request);
      if (!this.running) void this.answerAll();
    }
  }

  private dropStale(): void {
    for (const [id, { epoch }] of this.handles) {
      if (this.stale(epoch)) this.drop(id);
    }
  }

  private drop(id: number): void {
    this.handles.get(id)?.object.dispose();
    this.handles.delete(id);
  }

  /** Cancels a waiting call of a method, or stops a running one after its current piece. */
  private stop(id: number): void {
    const at = this.queue.findIndex((call) => call.id === id);
    if (at < 0) {
      if (this.running) this.stopped.add(id);
      return;
    }
    const held = this.handles.get((this.queue[at]!.argument as Methods['turn'][0]).id);
    if (!held) return; // The answer will say that the object was disposed of.
    this.queue.splice(at, 1);
    this.port.postMessage({ dpFtrl: 'result', id, value: stoppedTurn(held, []) }, []);
  }

  private stale(epoch: number): boolean {
    return epoch < this.epoch;
  }

  private unwanted({ id, epoch }: CallRequest): boolean {
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

  private async answer(call: CallRequest): Promise<unknown> {
    const { method, argument } = call;
    if (method === 'load') this.loadOptions = argument as Methods['load'][0];
    // load() caches the instance, and makes a new instance if the cached one has stopped.
    const api = await load(this.loadOptions);
    switch (method) {
      case 'load':
        return api.version;
      case 'call': {
        const { name, args } = argument as Methods['call'][0];
        return this.run(api, { call, name, args });
      }
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
    { call, name, args }: { call: CallRequest; name: CallPath; args: unknown[] },
  ): Promise<unknown> {
    const pieces = IN_PIECES[name]?.(api, args[0] as never);
    if (pieces) return this.inPieces(call, pieces);
    const { object, name: own } = placeAt(api, name);
    return reply(object, own, args);
  }

  private async open(api: DpFtrl, call: CallRequest): Promise<Methods['open'][1] | undefined> {
    const { kind, options } = call.argument as Methods['open'][0];
    const made = await this.run(api, { call, name: kind, args: [options] });
    if (made === undefined) return undefined;
    const object = made as WorkerObject;
    const { id, epoch } = call;
    const members = membersOf(kind, object);
    this.handles.set(id, { object, members, epoch });
    return {
      id,
      facts: propertiesOf(object, members, 'fixed'),
      place: propertiesOf(object, members, 'changing'),
      methods: members.methods,
    };
  }

  private async turn(call: CallRequest): Promise<Turn> {
    const { id, method, args } = call.argument as Methods['turn'][0];
    const held = this.handles.get(id);
    if (!held) throw new DpError('disposed', 'this handle was disposed of');
    const { object, members } = held;
    const place = (): object => propertiesOf(object, members, 'changing');
    const pieces = turnOf(object, method, args);
    let readings: unknown[] = [];
    try {
      for (let start = performance.now(); ; ) {
        if (this.stopped.has(call.id) || this.unwanted(call)) return stoppedTurn(held, readings);
        const piece = pieces.next();
        if (piece.done) return { value: piece.value, place: place() };
        readings = piece.value.readings;
        if (performance.now() - start < SLICE_MILLISECONDS) continue;
        const { fraction } = piece.value;
        this.port.postMessage({ dpFtrl: 'progress', id: call.id, progress: { fraction } }, []);
        await nextTask();
        start = performance.now();
      }
    } catch (error) {
      return { failure: describe(error), place: place() };
    }
  }

  /**
   * Runs a computation piece by piece, several short pieces per slice. Returns undefined if the
   * call was cancelled or aborted.
   */
  private async inPieces<T>(call: CallRequest, pieces: Pieces<T>): Promise<T | undefined> {
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
}

/**
 * Answers a client on a port. When this entry is loaded in a worker, it calls `serve` on the
 * worker's scope.
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

interface WorkerScope extends Port {
  WorkerGlobalScope?: unknown;
  document?: unknown;
  process?: { getBuiltinModule?(id: string): unknown };
}

function ownScope(): Port | undefined {
  const scope = globalThis as unknown as WorkerScope;
  if (typeof scope.WorkerGlobalScope === 'function' && scope.document === undefined) return scope;
  const threads = scope.process?.getBuiltinModule?.('node:worker_threads') as
    | { isMainThread: boolean; parentPort: Port | null }
    | undefined;
  return threads && !threads.isMainThread ? (threads.parentPort ?? undefined) : undefined;
}

const scope = ownScope();
if (scope) serve(scope);

export type { MessageTarget } from './worker/port.js';
