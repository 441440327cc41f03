// SPDX-License-Identifier: Apache-2.0

/**
 * The script of a module worker, which answers one client. Imported anywhere else it does nothing
 * but export `serve`.
 */

import { certificateInPieces, compareInPieces, errorInPieces } from './api/searches.js';
import { foundFirst, queriesInPieces, searching, type Pieces } from './api/searches.js';
import { DpError, refusalOf } from './core/errors.js';
import type { DpFtrl, Noise, OptimizeProgress, Queries } from './types/all.js';
import type { Simulation, SimulationChunk } from './types/all.js';
import { load } from './index.js';
import { BatchCall, rowsBefore, type Stream } from './worker/batches.js';
import { listen, type Failure, type MessageTarget, type Methods } from './worker/protocol.js';
import type { Port, Request } from './worker/protocol.js';

/** Longest time between two looks at the messages, so that a cancel is seen. */
const SLICE_MILLISECONDS = 8;

/** An object that lives here for the client. */
interface Held {
  object: Simulation | Stream | Queries | Noise;
  epoch: number;
  /** For simulations: number of steps that took about a slice, learnt as they run. */
  sliceSteps: number;
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

function join<A extends Float64Array | Uint8Array>(parts: A[], empty: A): A {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const whole = new (empty.constructor as new (length: number) => A)(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function joinChunks(chunks: SimulationChunk[]): SimulationChunk {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const doubles = (pick: (chunk: SimulationChunk) => Float64Array) =>
    join(chunks.map(pick), new Float64Array());
  const bytes = (pick: (chunk: SimulationChunk) => Uint8Array) =>
    join(chunks.map(pick), new Uint8Array());
  return {
    firstStep: first?.firstStep ?? 0,
    numSteps: chunks.reduce((sum, chunk) => sum + chunk.numSteps, 0),
    trueSums: doubles((chunk) => chunk.trueSums),
    noisySums: doubles((chunk) => chunk.noisySums),
    stddev: doubles((chunk) => chunk.stddev),
    privateLoss: doubles((chunk) => chunk.privateLoss),
    twinLoss: doubles((chunk) => chunk.twinLoss),
    privateCorrect: bytes((chunk) => chunk.privateCorrect),
    twinCorrect: bytes((chunk) => chunk.twinCorrect),
    regret: {
      steps: doubles((chunk) => chunk.regret.steps),
      private: doubles((chunk) => chunk.regret.private),
      twin: doubles((chunk) => chunk.regret.twin),
      gap: doubles((chunk) => chunk.regret.gap),
    },
  };
}

function buffersOf(value: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) return [value.buffer as ArrayBuffer];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(buffersOf);
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

type Call = Extract<Request, { dpFtrl: 'call' }>;

/** Answers the calls of one client. */
class Server {
  private loadOptions: Methods['load'][0] = {};
  /** Objects by the call that made them. */
  private readonly handles = new Map<number, Held>();
  private readonly queue: Call[] = [];
  private epoch = 0;
  private running = false;
  /** Calls that were given up, the one that is running among them. */
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
    } else if (request?.dpFtrl === 'call') {
      this.queue.push(request);
      if (!this.running) void this.run();
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

  private stale(epoch: number): boolean {
    return epoch < this.epoch;
  }

  private unwanted({ id, epoch }: Call): boolean {
    return this.stale(epoch) || this.aborted.has(id);
  }

  private async run(): Promise<void> {
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
      this.dropStale();
    }
    this.running = false;
  }

  private async answer(call: Call): Promise<unknown> {
    const { method, argument } = call;
    if (method === 'load') this.loadOptions = argument as Methods['load'][0];
    // Remembered by load() itself, which makes a new instance when the old one stopped.
    const api = await load(this.loadOptions);
    switch (method) {
      case 'load':
        return api.version;
      case 'mechanisms':
        return api.mechanisms();
      case 'liveHandles':
        return api.liveHandles;
      case 'calibrate':
      case 'bounds':
      case 'pureMu':
      case 'pureRho':
      case 'compose':
      case 'choose':
      case 'winner':
      case 'quantile':
        return api[method](argument as never);
      case 'errorPerStep':
      case 'matrices': {
        const options = await this.inPieces(call, foundFirst(api, argument as object));
        return options && api[method](options as never);
      }
      case 'error':
        return this.inPieces(call, errorInPieces(api, argument as Methods['error'][0]));
      case 'certificate':
        return this.inPieces(call, certificateInPieces(api, argument as Methods['certificate'][0]));
      case 'compare':
        return this.inPieces(call, compareInPieces(api, argument as Methods['compare'][0]));
      case 'optimize':
        return this.inPieces(call, searching(api, argument as Methods['optimize'][0]));
      case 'createQueries':
        return this.createQueries(api, call);
      case 'createNoise': {
        const given = argument as Methods['createNoise'][0];
        const options = await this.inPieces(call, foundFirst(api, given));
        return options && this.createNoise(api, options, call);
      }
      case 'regretBounds': {
        const { certificate, options } = argument as Methods['regretBounds'][0];
        return api.regretBounds(certificate, options);
      }
      case 'predict': {
        const { model, features } = argument as Methods['predict'][0];
        return api.predict(model, features);
      }
      case 'createSimulation': {
        const given = argument as Methods['createSimulation'][0];
        const options = await this.inPieces(call, foundFirst(api, given));
        return options && this.createSimulation(api, options, call);
      }
      case 'advance':
        return this.advance(call);
      case 'heldOutRisk': {
        const { id, numExamples } = argument as Methods['heldOutRisk'][0];
        return (this.held(id).object as Simulation).heldOutRisk(numExamples);
      }
      case 'createStream': {
        const { kind, options: given } = argument as Methods['createStream'][0];
        const isSearched = kind !== 'twin' && kind !== 'comparator';
        const pieces = isSearched && foundFirst(api, given as object);
        const options = pieces ? await this.inPieces(call, pieces) : given;
        return options && this.createStream(api, { kind, options: options as never }, call);
      }
      case 'batch':
        return this.batch(call);
      case 'ask': {
        const { id, name, args } = argument as Methods['ask'][0];
        const { object } = this.held(id);
        const value = (object as unknown as Record<string, unknown>)[name];
        return typeof value === 'function'
          ? (value as (...args: unknown[]) => unknown).apply(object, args)
          : value;
      }
      case 'dispose':
        return this.drop((argument as Methods['dispose'][0]).id);
    }
  }

  private keep({ id, epoch }: Call, object: Held['object']): number {
    this.handles.set(id, { object, epoch, sliceSteps: 1 });
    return id;
  }

  private createSimulation(
    api: DpFtrl,
    options: Methods['createSimulation'][0],
    call: Call,
  ): Methods['createSimulation'][1] {
    const simulation = api.simulation(options);
    const id = this.keep(call, simulation);
    const { certificate, dimension, numSteps, learns, classifies } = simulation;
    const { clippingImpossible, grid, lambda, regretBound } = simulation;
    return {
      id,
      info: {
        certificate: { ...certificate },
        dimension,
        numSteps,
        learns,
        classifies,
        clippingImpossible,
        grid,
        lambda,
        regretBound,
      },
    };
  }

  private createStream(
    api: DpFtrl,
    { kind, options }: Methods['createStream'][0],
    call: Call,
  ): Methods['createStream'][1] {
    const stream: Stream = api[kind](options);
    const id = this.keep(call, stream);
    if (!('certificate' in stream)) {
      const { dimension, numScores } = stream;
      return { id, info: { dimension, numScores } };
    }
    const { certificate, dimension, numSteps, grid, insecure } = stream;
    const facts = { certificate: { ...certificate }, dimension, numSteps, grid, insecure };
    const { lambda } = stream as { lambda?: number };
    return { id, info: { ...facts, ...(lambda !== undefined && { lambda }) } };
  }

  private createNoise(
    api: DpFtrl,
    options: Methods['createNoise'][0],
    call: Call,
  ): Methods['createNoise'][1] {
    const noise = api.noise(options);
    const id = this.keep(call, noise);
    return { id, info: { dimension: noise.dimension, numSteps: noise.numSteps } };
  }

  private held(id: number): Held {
    const held = this.handles.get(id);
    if (!held) throw new DpError('disposed', 'this handle was disposed of');
    return held;
  }

  private async batch(call: Call): Promise<Float64Array | undefined> {
    const { id, method, args } = call.argument as Methods['batch'][0];
    const batch = new BatchCall(this.held(id).object as Stream, method, args);
    while (!this.unwanted(call) && batch.advance(SLICE_MILLISECONDS)) {
      const { progress } = batch;
      this.port.postMessage({ dpFtrl: 'progress', id: call.id, progress }, []);
      await nextTask();
    }
    return batch.result();
  }

  private async createQueries(
    api: DpFtrl,
    call: Call,
  ): Promise<Methods['createQueries'][1] | undefined> {
    const options = call.argument as Methods['createQueries'][0];
    const queries = await this.inPieces(call, queriesInPieces(api, options));
    if (!queries) return undefined;
    const id = this.keep(call, queries);
    const { numQueries, numValues, numMeasurements, neighbours, noise, mu } = queries;
    const { unitError, lowerBound, ratio, textbookRatio } = queries;
    const sizes = { numQueries, numValues, numMeasurements };
    const errors = { unitError, lowerBound, ratio, textbookRatio };
    const standardErrors = queries.standardErrors.slice();
    return { id, info: { ...sizes, neighbours, noise, mu, ...errors, standardErrors } };
  }

  /**
   * Runs piece by piece, several a slice where they are short; undefined once the call was given
   * up.
   */
  private async inPieces<T>(call: Call, pieces: Pieces<T>): Promise<T | undefined> {
    const { id } = call;
    const post = (progress: OptimizeProgress): void =>
      this.port.postMessage({ dpFtrl: 'progress', id, progress }, []);
    try {
      while (!this.unwanted(call)) {
        const start = performance.now();
        let progress: OptimizeProgress | undefined;
        let piece = pieces.next();
        for (; !piece.done && performance.now() - start < SLICE_MILLISECONDS; piece = pieces.next()) {
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

  /** Advances in slices, with a look at the messages between them. */
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
      const steps = left > held.sliceSteps ? held.sliceSteps : left;
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

/** Answers a client on a port. The worker entry does this by itself on its own scope. */
export function serve(target: MessageTarget): void {
  const port = target as Port;
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
    { isMainThread: boolean; parentPort: Port | null } | undefined;
  return threads && !threads.isMainThread ? (threads.parentPort ?? undefined) : undefined;
}

const scope = ownScope();
if (scope) serve(scope);

export type { MessageTarget } from './worker/protocol.js';
