// SPDX-License-Identifier: Apache-2.0

/** The library in a worker, with promises: the page stays free, and everything can be cancelled. */

import { optionsObject, outOfRange, wrongType } from './core/check.js';
import { DpError, makeError, recalled } from './core/errors.js';
import type * as api from './types/all.js';
import type { BatchMethod, BatchProgress, StreamKind } from './worker/batches.js';
import { listen, type MessageTarget, type Methods } from './worker/protocol.js';
import type {
  Failure,
  HindsightInfo,
  NoiseInfo,
  Port,
  QueriesInfo,
  Response,
} from './worker/protocol.js';
import type { Questions, SimulationInfo, StreamInfo } from './worker/protocol.js';

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

/** Options of a call that may take long. */
export interface CallOptions {
  /** Rejects with its reason when aborted, at once; the worker stops at the end of a piece. */
  signal?: api.LoadOptions['signal'];
}

/** Options of a call that may search. */
export interface OptimizeCallOptions extends CallOptions {
  /** Called now and then while a search goes on, or a comparison; not where none takes long. */
  onProgress?: (progress: api.OptimizeProgress) => void;
}

/** Options of a call with many rows. */
export interface BatchCallOptions extends CallOptions {
  /** Called after each piece of about 8 ms. */
  onProgress?: (progress: BatchProgress) => void;
}

/** Options of a call that runs steps of a simulation. */
export interface AdvanceOptions extends BatchCallOptions {
  /** Returns with fewer steps after about this time. Default: no limit. */
  maxMilliseconds?: number;
}

/**
 * Something that lives in the worker, where it counts as one handle. When it is collected here, it
 * is disposed of there.
 */
export type RemoteHandle = api.Handle;

/**
 * Totals that live in the worker. Batches are made in pieces of about 8 ms, one batch after the
 * other. One that is aborted has been dealt with up to some row: `step` tells.
 */
export interface RemoteTotals extends Omit<StreamInfo, 'lambda'>, RemoteHandle {
  /** As in the library: {@link api.Totals.step}. */
  step(): Promise<number>;
  /** As in the library: {@link api.Totals.stddev}. */
  stddev(step: number): Promise<number>;
  /** As in the library. */
  endSteps(numSteps?: number, call?: BatchCallOptions): Promise<Float64Array>;
}

/** A prefix sum that lives in the worker. */
export interface RemotePrefixSum extends RemoteTotals {
  /** As in the library: {@link api.PrefixSum.releaseMany}. */
  releaseMany(records: ArrayLike<number>, call?: BatchCallOptions): Promise<Float64Array>;
  /** As in the library: {@link api.PrefixSum.contribute}. */
  contribute(records: ArrayLike<number>, call?: BatchCallOptions): Promise<void>;
}

/** A people sum that lives in the worker. */
export interface RemotePeopleSum extends RemoteTotals {
  /** It depends on the data: NOT private. */
  numDropped(): Promise<number>;
  /** As in the library: {@link api.PeopleSum.contribute}. */
  contribute(
    people: string | ArrayLike<string>,
    records: ArrayLike<number>,
    call?: BatchCallOptions,
  ): Promise<void>;
  /** As in the library: {@link api.PeopleSum.releaseEach}. */
  releaseEach(
    people: ArrayLike<string>,
    records: ArrayLike<number>,
    call?: BatchCallOptions,
  ): Promise<Float64Array>;
}

/** A learner that lives in the worker. */
export interface RemoteLearner extends StreamInfo, RemoteHandle {
  /** As in the library: {@link api.Learner.lambda}. */
  readonly lambda: number;
  /** As in the library: {@link api.Learner.step}. */
  step(): Promise<number>;
  /** As in the library: {@link api.Learner.numWaiting}. */
  numWaiting(): Promise<number>;
  /** As in the library: {@link api.Learner.endBatch}. */
  endBatch(): Promise<void>;
  /** As in the library: {@link api.Learner.losses}. */
  losses(predictions: ArrayLike<number>, labels: ArrayLike<number>): Promise<Float64Array>;
  /** As in the library: {@link api.Learner.learn}. */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    call?: BatchCallOptions,
  ): Promise<void>;
  /** As in the library: {@link api.Learner.model}. */
  model(): Promise<api.LearnedModel>;
}

/** A twin that lives in the worker: NOT private, like all it gives. */
export interface RemoteTwin extends HindsightInfo, RemoteHandle {
  /** As in the library; resolves with the predictions. */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    call?: BatchCallOptions,
  ): Promise<Float64Array>;
  endBatch(): Promise<void>;
  weights(): Promise<Float64Array>;
}

/** A comparator that lives in the worker: NOT private, like all it gives. */
export interface RemoteComparator extends HindsightInfo, RemoteHandle {
  append(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    call?: BatchCallOptions,
  ): Promise<void>;
  /** One piece: given up at once, it ends in its own time. */
  best(call?: CallOptions): Promise<api.BestFixed>;
}

/** Linear queries that live in the worker. */
export interface RemoteQueries extends QueriesInfo, RemoteHandle {
  /** As in the library: {@link api.Queries.label}. */
  label(query: number): Promise<string>;
  /** As in the library: {@link api.Queries.labels}. */
  labels(): Promise<string[]>;
  /** As in the library: {@link api.Queries.matrices}. */
  matrices(call?: CallOptions): Promise<api.QueryMatrices>;
  /** As in the library: each call is a release of its own, also one that is aborted. */
  release(
    histogram: ArrayLike<number>,
    options?: api.QueryReleaseOptions,
    call?: CallOptions,
  ): Promise<api.QueryAnswers>;
}

/** Noise that lives in the worker; as in the library, but for `restore`. */
export interface RemoteNoise extends NoiseInfo, RemoteHandle {
  /** As in the library: {@link api.Noise.step}. */
  step(): Promise<number>;
  /** As in the library: {@link api.Noise.seek}. */
  seek(step: number): Promise<void>;
  /** Rows of a call that is aborted may have been made: `step` tells. */
  rounded(
    options: Parameters<api.Noise['rounded']>[0],
    call?: CallOptions,
  ): Promise<Float64Array>;
  /** As in the library: {@link api.Noise.checkpoint}. */
  checkpoint(): Promise<Uint8Array>;
}

/** A simulation that lives in the worker. */
export interface RemoteSimulation extends SimulationInfo, RemoteHandle {
  /** Steps whose results have arrived. */
  readonly step: number;
  /** Whether the results of all steps have arrived. */
  readonly finished: boolean;
  /**
   * Runs at most `maxSteps` steps. The worker looks for messages about every 8 ms meanwhile, and
   * hands the arrays over without copying. One that is aborted may have made some steps, whose
   * results are lost: the `firstStep` of the next chunk tells.
   */
  advance(maxSteps: number, options?: AdvanceOptions): Promise<api.SimulationChunk>;
  /** As in the library: {@link api.Simulation.heldOutRisk}. */
  heldOutRisk(numExamples: number, call?: CallOptions): Promise<api.HeldOutRisk>;
}

/** The library in a worker: what {@link api.DpFtrl} has, with promises. */
export interface Client {
  /** Version of the library in the worker, when it is ready. Rejects if it cannot be loaded. */
  readonly ready: Promise<string>;
  /** As in the library: {@link api.DpFtrl.mechanisms}. */
  mechanisms(): Promise<api.CatalogueEntry[]>;
  /** As in the library: {@link api.DpFtrl.calibrate}. */
  calibrate(
    options: Exclude<api.CalibrateOptions, { rho: number }>,
  ): Promise<api.GaussianCalibration>;
  /** As in the library: {@link api.DpFtrl.calibrate}. */
  calibrate(options: api.CalibrateOptions): Promise<api.Calibration>;
  /** As in the library: {@link api.DpFtrl.error}. */
  error(options: api.UnitErrorOptions, call?: OptimizeCallOptions): Promise<api.UnitError>;
  /** As in the library: {@link api.DpFtrl.errorPerStep}. */
  errorPerStep(options: api.ErrorOptions, call?: OptimizeCallOptions): Promise<Float64Array>;
  /** As in the library: {@link api.DpFtrl.matrices}. */
  matrices(options: api.ErrorOptions, call?: OptimizeCallOptions): Promise<api.Matrices>;
  /** As in the library: {@link api.DpFtrl.compare}. */
  compare(options: api.CompareOptions, call?: OptimizeCallOptions): Promise<api.Comparison>;
  /** As in the library: {@link api.DpFtrl.bounds}. */
  bounds(numSteps: number, call?: CallOptions): Promise<api.ErrorBounds>;
  /**
   * As in the library: {@link api.DpFtrl.optimize}. Aborting rejects at once, but the worker is
   * busy until its piece ends. The pieces of `optimal` are its iterations, if it needs any: for prefix
   * sums and decay up to 10^4 steps milliseconds, at 10^6 seconds; with dense matrices (momentum,
   * windows, matrices, epochs) up to 0.2 s at 256 steps, a second at 512, 2 to 4 s at 1024. Other
   * mechanisms are one piece. Where that is too long, end the worker with `terminate` and connect
   * to a new one.
   */
  optimize(options: api.OptimizeOptions, call?: OptimizeCallOptions): Promise<api.SavedStrategy>;
  /** As in the library: {@link api.DpFtrl.certificate}. */
  certificate(options: api.MechanismOptions, call?: OptimizeCallOptions): Promise<api.CheckedCertificate>;
  /** As in the library, where it lives in the worker: {@link api.DpFtrl.prefixSum}. */
  prefixSum(options: api.PrefixSumOptions, call?: OptimizeCallOptions): Promise<RemotePrefixSum>;
  /** As in the library, where it lives in the worker: {@link api.DpFtrl.peopleSum}. */
  peopleSum(options: api.PeopleSumOptions, call?: OptimizeCallOptions): Promise<RemotePeopleSum>;
  /** As in the library, for a loss with a name: functions stay on this side. */
  learner(options: api.LearnerOptions, call?: OptimizeCallOptions): Promise<RemoteLearner>;
  twin(options: api.TwinOptions, call?: CallOptions): Promise<RemoteTwin>;
  comparator(options: api.ComparatorOptions, call?: CallOptions): Promise<RemoteComparator>;
  regretBounds(
    certificate: api.Certificate,
    options?: api.RegretBoundsOptions,
    call?: CallOptions,
  ): Promise<api.RegretBounds>;
  /** As in the library, where it lives in the worker: {@link api.DpFtrl.simulation}. */
  simulation(
    options: api.SimulationOptions,
    call?: OptimizeCallOptions,
  ): Promise<RemoteSimulation>;
  /** As in the library. Pieces of the search take an eigendecomposition, or a few. */
  queries(options: api.QueriesOptions, call?: OptimizeCallOptions): Promise<RemoteQueries>;
  /** As in the library, but that the worker draws the key. */
  noise(options: api.NoiseOptions, call?: OptimizeCallOptions): Promise<RemoteNoise>;
  /** As in the library: {@link api.DpFtrl.predict}. */
  predict(
    model: api.LearnedModel,
    features: ArrayLike<number>,
    call?: CallOptions,
  ): Promise<Float64Array>;
  choose(options: api.ChooseOptions, call?: CallOptions): Promise<number>;
  /** As in the library: {@link api.DpFtrl.winner}. */
  winner(options: api.WinnerOptions, call?: CallOptions): Promise<number>;
  /** As in the library: {@link api.DpFtrl.quantile}. */
  quantile(options: api.QuantileOptions, call?: CallOptions): Promise<number>;
  /** As in the library: {@link api.DpFtrl.pureMu}. */
  pureMu(epsilon: number): Promise<number>;
  /** As in the library: {@link api.DpFtrl.pureRho}. */
  pureRho(epsilon: number): Promise<number>;
  /** As in the library: {@link api.DpFtrl.compose}. */
  compose(options: api.CompositionOptions): Promise<api.Composition>;
  /** Handles alive in the worker, for leak tests. */
  liveHandles(): Promise<number>;
  /**
   * Gives up everything asked for so far: pending promises reject at once with a DpError of code
   * `cancelled`, and what was made before is disposed of. Later calls are not affected.
   */
  cancel(): void;
  /** Ends the worker. Pending promises reject with code `disposed`, as when it ends by itself. */
  terminate(): void;
}

type OnProgress = (progress: never) => void;

interface Pending {
  epoch: number;
  onProgress: OnProgress | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Call extends CallOptions {
  epoch?: number;
  onProgress?: OnProgress;
}

function errorOf({ code, message, refusal, rows }: Failure): Error {
  return Object.assign(recalled(code, message, refusal), rows);
}

class Connection {
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private closed: DpError | undefined;
  private readonly collected: FinalizationRegistry<number> | undefined;
  epoch = 0;

  constructor(private readonly port: Port) {
    listen(port, 'message', (data) => this.receive(data as Response));
    for (const type of ['error', 'messageerror']) {
      listen(port, type, (event) => {
        const why = (event as { message?: string })?.message || 'its script could not be loaded';
        this.close(new DpError('load_failed', `worker: it failed: ${why}`, { cause: event }));
      });
    }
    // A worker of Node, a port: nothing comes after that.
    for (const type of ['exit', 'close']) {
      listen(port, type, (code) => {
        const how = typeof code === 'number' ? ` with exit code ${code}` : '';
        this.close(new DpError('disposed', `worker: it has ended${how}`));
      });
    }
    port.start?.();
    if (typeof FinalizationRegistry !== 'function') return;
    this.collected = new FinalizationRegistry((id) => this.disposeOf(id));
  }

  /** Has it disposed of in the worker when it is collected here. */
  watch(remote: object, id: number): void {
    this.collected?.register(remote, id, remote);
  }

  forget(remote: object): void {
    this.collected?.unregister(remote);
  }

  disposeOf(id: number): void {
    this.call('dispose', { id }).catch(() => {}); // Without a worker there is nothing left.
  }

  call<M extends keyof Methods>(
    method: M,
    argument: Methods[M][0],
    { epoch = this.epoch, signal, onProgress }: Call = {},
  ): Promise<Methods[M][1]> {
    if (this.closed) return Promise.reject(this.closed);
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = ++this.lastId;
    const onAbort = (): void => this.abort(id, signal?.reason);
    const answer = new Promise<Methods[M][1]>((resolve, reject) => {
      this.pending.set(id, {
        epoch,
        onProgress,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        this.port.postMessage({ dpFtrl: 'call', id, epoch, method, argument }, []);
      } catch (cause) {
        // Something in the argument cannot be sent, such as a function.
        this.pending.delete(id);
        const why = cause instanceof Error ? cause.message : String(cause);
        reject(
          makeError('wrong_type', method, {
            parameter: 'options',
            constraint: 'must be something that can be sent to a worker',
            value: why,
          }),
        );
      }
    });
    return signal ? answer.finally(() => signal.removeEventListener('abort', onAbort)) : answer;
  }

  private abort(id: number, reason: unknown): void {
    const waiting = this.pending.get(id);
    if (!waiting) return;
    this.pending.delete(id);
    this.port.postMessage({ dpFtrl: 'abort', id }, []);
    waiting.reject(reason);
  }

  cancel(): void {
    ++this.epoch;
    if (!this.closed) this.port.postMessage({ dpFtrl: 'cancel', epoch: this.epoch }, []);
    this.rejectOlderThan(this.epoch, new DpError('cancelled', 'this call was cancelled'));
  }

  terminate(): void {
    if (this.port.terminate) void this.port.terminate();
    else this.port.close?.();
    this.close(new DpError('disposed', 'the worker was terminated'));
  }

  private close(error: DpError): void {
    this.closed ??= error;
    this.rejectOlderThan(undefined, error);
  }

  private rejectOlderThan(epoch: number | undefined, error: DpError): void {
    for (const [id, waiting] of this.pending) {
      if (epoch !== undefined && waiting.epoch >= epoch) continue;
      this.pending.delete(id);
      waiting.reject(error);
    }
  }

  private receive(response: Response): void {
    if (!['result', 'failure', 'progress'].includes(response?.dpFtrl)) return;
    const waiting = this.pending.get(response.id);
    if (!waiting) return;
    if (response.dpFtrl === 'progress') return waiting.onProgress?.(response.progress as never);
    this.pending.delete(response.id);
    if (response.dpFtrl === 'result') waiting.resolve(response.value);
    else waiting.reject(errorOf(response.failure));
  }
}

/** The options of a call, checked. */
function readCall(where: string, call: Call = {}, known: string[] = ['signal']): Call {
  const given: Call = optionsObject(where, call, known);
  const { signal, onProgress } = given;
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw wrongType(where, 'signal', 'an AbortSignal', signal);
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw wrongType(where, 'onProgress', 'a function', onProgress);
  }
  return given;
}

/** Options of a search or a batch. */
const WITH_PROGRESS = ['signal', 'onProgress'];

/** A thing of the worker, known by the call that made it. */
class Remote {
  private gone = false;
  private readonly epoch: number;

  constructor(
    protected readonly connection: Connection,
    protected readonly id: number,
    private readonly kind: string,
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
    if (this.disposed) throw new DpError('disposed', `this ${this.kind} was disposed of`);
  }
}

/** Makes the object to be handed out: facts and methods of a remote, and those of every handle. */
function handle<T extends object>(remote: Remote, members: T): Readonly<T & RemoteHandle> {
  Object.defineProperty(members, 'disposed', { get: () => remote.disposed, enumerable: true });
  const dispose = { value: () => remote.dispose() };
  Object.defineProperty(members, 'dispose', { ...dispose, enumerable: true });
  // Not every browser has it yet.
  if (typeof Symbol.dispose === 'symbol') Object.defineProperty(members, Symbol.dispose, dispose);
  return Object.freeze(members as T & RemoteHandle);
}

class RemoteRun extends Remote {
  step = 0;

  constructor(
    connection: Connection,
    id: number,
    private readonly numSteps: number,
  ) {
    super(connection, id, 'simulation');
  }

  get finished(): boolean {
    return this.step === this.numSteps;
  }

  async advance(maxSteps: number, options: AdvanceOptions = {}): Promise<api.SimulationChunk> {
    const given = readCall('advance', options, ['maxMilliseconds', ...WITH_PROGRESS]);
    const { maxMilliseconds = Infinity } = options;
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

  async heldOutRisk(numExamples: number, call?: CallOptions): Promise<api.HeldOutRisk> {
    const options = readCall('heldOutRisk', call);
    this.requireAlive();
    return this.connection.call('heldOutRisk', { id: this.id, numExamples }, options);
  }
}

async function createSimulation(
  connection: Connection,
  options: api.SimulationOptions,
  call: OptimizeCallOptions | undefined,
): Promise<RemoteSimulation> {
  const given = readCall('simulation', call, WITH_PROGRESS);
  const { id, info } = await connection.call('createSimulation', options, given);
  const remote = new RemoteRun(connection, id, info.numSteps);
  return handle(remote, {
    ...info,
    get step() {
      return remote.step;
    },
    get finished() {
      return remote.finished;
    },
    advance: (maxSteps: number, options?: AdvanceOptions) => remote.advance(maxSteps, options),
    heldOutRisk: (numExamples: number, call?: CallOptions) =>
      remote.heldOutRisk(numExamples, call),
  });
}

/** Totals, a learner, queries or noise of the worker, as all that any of them can do. */
class RemoteStream<Info extends object = StreamInfo> extends Remote {
  constructor(
    connection: Connection,
    id: number,
    readonly info: Info,
  ) {
    super(connection, id, 'handle');
  }

  static async create<Info extends object = StreamInfo>(
    connection: Connection,
    kind: StreamKind,
    options: unknown,
    call: OptimizeCallOptions | undefined,
  ): Promise<RemoteStream<Info>> {
    const given = readCall(kind, call, WITH_PROGRESS);
    const argument = { kind, options: options as never };
    const { id, info } = await connection.call('createStream', argument, given);
    return new RemoteStream(connection, id, info as Info);
  }

  async batch(method: BatchMethod, args: unknown[], call?: BatchCallOptions) {
    const options = readCall(method, call, WITH_PROGRESS);
    this.requireAlive();
    return this.connection.call('batch', { id: this.id, method, args }, options);
  }

  async ask<Name extends keyof Questions>(name: Name, ...args: unknown[]) {
    return this.askFor({}, name, ...args);
  }

  async askFor<Name extends keyof Questions>(
    call: CallOptions | undefined,
    name: Name,
    ...args: unknown[]
  ): Promise<Questions[Name]> {
    const options = readCall(name, call);
    this.requireAlive();
    const answer = this.connection.call('ask', { id: this.id, name, args }, options);
    return answer as Promise<Questions[Name]>;
  }
}

async function createQueries(
  connection: Connection,
  options: api.QueriesOptions,
  call: OptimizeCallOptions | undefined,
): Promise<RemoteQueries> {
  const given = readCall('queries', call, WITH_PROGRESS);
  const { id, info } = await connection.call('createQueries', options, given);
  const remote = new RemoteStream(connection, id, info);
  return handle(remote, {
    ...info,
    label: (query: number) => remote.ask('label', query),
    labels: () => remote.ask('labels'),
    matrices: (call?: CallOptions) => remote.askFor(call, 'matrices'),
    release: (
      histogram: ArrayLike<number>,
      options?: api.QueryReleaseOptions,
      call?: CallOptions,
    ) => remote.askFor(call, 'release', histogram, options),
  });
}

async function createNoise(
  connection: Connection,
  options: api.NoiseOptions,
  call: OptimizeCallOptions | undefined,
): Promise<RemoteNoise> {
  const given = readCall('noise', call, WITH_PROGRESS);
  const { id, info } = await connection.call('createNoise', options, given);
  const remote = new RemoteStream(connection, id, info);
  return handle(remote, {
    ...info,
    step: () => remote.ask('step'),
    seek: async (step: number) => {
      await remote.ask('seek', step);
    },
    rounded: (options: Parameters<api.Noise['rounded']>[0], call?: CallOptions) =>
      remote.askFor(call, 'rounded', options),
    checkpoint: () => remote.ask('checkpoint'),
  });
}

/** Members that all totals share. */
function totalsOf(stream: RemoteStream): Omit<RemoteTotals, keyof RemoteHandle> {
  return {
    ...stream.info,
    step: () => stream.ask('step'),
    stddev: (step) => stream.ask('stddev', step),
    endSteps: async (numSteps = 1, call) => (await stream.batch('endSteps', [numSteps], call))!,
  };
}

function remotePrefixSum(stream: RemoteStream): RemotePrefixSum {
  return handle(stream, {
    ...totalsOf(stream),
    releaseMany: async (records: ArrayLike<number>, call?: BatchCallOptions) =>
      (await stream.batch('releaseMany', [records], call))!,
    contribute: async (records: ArrayLike<number>, call?: BatchCallOptions) => {
      await stream.batch('contribute', [records], call);
    },
  });
}

function remotePeopleSum(stream: RemoteStream): RemotePeopleSum {
  type People = string | ArrayLike<string>;
  return handle(stream, {
    ...totalsOf(stream),
    numDropped: () => stream.ask('numDropped'),
    contribute: async (people: People, records: ArrayLike<number>, call?: BatchCallOptions) => {
      await stream.batch('contribute', [people, records], call);
    },
    releaseEach: async (people: People, records: ArrayLike<number>, call?: BatchCallOptions) =>
      (await stream.batch('releaseEach', [people, records], call))!,
  });
}

function remoteLearner(stream: RemoteStream): RemoteLearner {
  return handle(stream, {
    ...stream.info,
    lambda: stream.info.lambda!,
    step: () => stream.ask('step'),
    numWaiting: () => stream.ask('numWaiting'),
    endBatch: async () => {
      await stream.ask('endBatch');
    },
    losses: (predictions: ArrayLike<number>, labels: ArrayLike<number>) =>
      stream.ask('losses', predictions, labels),
    learn: async (
      features: ArrayLike<number>,
      labels: ArrayLike<number>,
      call?: BatchCallOptions,
    ) => {
      await stream.batch('learn', [features, labels], call);
    },
    model: () => stream.ask('model'),
  });
}

function remoteTwin(stream: RemoteStream<HindsightInfo>): RemoteTwin {
  return handle(stream, {
    ...stream.info,
    learn: async (
      features: ArrayLike<number>,
      labels: ArrayLike<number>,
      call?: BatchCallOptions,
    ) => (await stream.batch('predictAndLearn', [features, labels], call))!,
    endBatch: async () => {
      await stream.ask('endBatch');
    },
    weights: () => stream.ask('weights'),
  });
}

function remoteComparator(stream: RemoteStream<HindsightInfo>): RemoteComparator {
  return handle(stream, {
    ...stream.info,
    append: async (
      features: ArrayLike<number>,
      labels: ArrayLike<number>,
      call?: BatchCallOptions,
    ) => {
      await stream.batch('append', [features, labels], call);
    },
    best: (call?: CallOptions) => stream.askFor(call, 'best'),
  });
}

/** One expression with a plain address: that is how bundlers find the file. */
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

/**
 * Connects to a worker, or starts one. In browsers `connect()` is enough; in Node the worker is
 * handed over.
 *
 * @example
 * ```js
 * import { connect } from 'dp-ftrl/worker-client';
 * import { Worker } from 'node:worker_threads';
 *
 * const source = `import('dp-ftrl/worker').then(({ serve }) =>
 *   serve(require('node:worker_threads').parentPort));`;
 * const client = connect({ worker: new Worker(source, { eval: true }) });
 * const { mechanisms } = await client.compare({ numSteps: 64 });
 * console.log(mechanisms[0].mechanism);
 * client.terminate();
 * ```
 */
export function connect(options: ConnectOptions = {}): Client {
  const given: ConnectOptions = optionsObject('connect', options, ['worker', 'wasm']);
  const port = (given.worker ?? startWorker()) as Port;
  if (typeof port.postMessage !== 'function') {
    throw wrongType('connect', 'worker', 'a Worker or a MessagePort', port);
  }
  const connection = new Connection(port);
  const { wasm } = given;
  const source = wasm instanceof URL ? wasm.href : wasm;
  // Loading belongs to no epoch: cancel() leaves it alone.
  const ready = connection.call('load', source === undefined ? {} : { wasm: source }, {
    epoch: Infinity,
  });
  ready.catch(() => {}); // Awaiting it still shows the failure; every call fails with it too.
  return Object.freeze<Client>({
    ready,
    mechanisms: () => connection.call('mechanisms', undefined),
    calibrate: ((given: api.CalibrateOptions) =>
      connection.call('calibrate', given)) as Client['calibrate'],
    error: async (given, call) =>
      connection.call('error', given, readCall('error', call, WITH_PROGRESS)),
    errorPerStep: async (given, call) =>
      connection.call('errorPerStep', given, readCall('errorPerStep', call, WITH_PROGRESS)),
    matrices: async (given, call) =>
      connection.call('matrices', given, readCall('matrices', call, WITH_PROGRESS)),
    compare: async (given, call) =>
      connection.call('compare', given, readCall('compare', call, WITH_PROGRESS)),
    bounds: async (numSteps, call) =>
      connection.call('bounds', numSteps, readCall('bounds', call)),
    optimize: async (given, call) =>
      connection.call('optimize', given, readCall('optimize', call, WITH_PROGRESS)),
    certificate: async (given, call) =>
      connection.call('certificate', given, readCall('certificate', call, WITH_PROGRESS)),
    prefixSum: async (given, call) =>
      remotePrefixSum(await RemoteStream.create(connection, 'prefixSum', given, call)),
    peopleSum: async (given, call) =>
      remotePeopleSum(await RemoteStream.create(connection, 'peopleSum', given, call)),
    learner: async (given, call) => {
      const loss: unknown = given?.loss;
      if (typeof loss === 'function') {
        throw wrongType('learner', 'loss', 'a name for a worker', loss);
      }
      return remoteLearner(await RemoteStream.create(connection, 'learner', given, call));
    },
    twin: async (given, call) =>
      remoteTwin(await RemoteStream.create(connection, 'twin', given, call)),
    comparator: async (given, call) =>
      remoteComparator(await RemoteStream.create(connection, 'comparator', given, call)),
    regretBounds: async (certificate, given, call) =>
      connection.call(
        'regretBounds',
        { certificate, options: given },
        readCall('regretBounds', call),
      ),
    simulation: (given, call) => createSimulation(connection, given, call),
    queries: (given, call) => createQueries(connection, given, call),
    noise: (given, call) => createNoise(connection, given, call),
    predict: async (model, features, call) =>
      connection.call('predict', { model, features }, readCall('predict', call)),
    choose: async (given, call) => connection.call('choose', given, readCall('choose', call)),
    winner: async (given, call) => connection.call('winner', given, readCall('winner', call)),
    quantile: async (given, call) =>
      connection.call('quantile', given, readCall('quantile', call)),
    pureMu: (epsilon) => connection.call('pureMu', epsilon),
    pureRho: (epsilon) => connection.call('pureRho', epsilon),
    compose: (given) => connection.call('compose', given),
    liveHandles: () => connection.call('liveHandles', undefined),
    cancel: () => connection.cancel(),
    terminate: () => connection.terminate(),
  });
}

export { DpError } from './core/errors.js';
export type { BatchProgress } from './worker/batches.js';
export type { HindsightInfo, MessageTarget, QueriesInfo } from './worker/protocol.js';
export type { SimulationInfo, StreamInfo } from './worker/protocol.js';
export type * from './types/all.js';
