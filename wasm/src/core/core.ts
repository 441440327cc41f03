// SPDX-License-Identifier: Apache-2.0

// The compiled core: the types that cross the boundary, and the one method that makes all calls.

import type { Glue } from 'dp-ftrl:glue';
import { makeError, withNames, type RefusalError } from './errors.js';
import { camelCase, rootOf } from './names.js';
import type { StrategyInfo, Calibration, Certificate, CheckedCertificate } from '../types/all.js';
import type { AddedNoiseBounds, ErrorCode, EstimatedCount } from '../types/all.js';
import type { ErrorBounds, Matrices, PublishedBound, QueryBounds } from '../types/all.js';
import type { MechanismName, MechanismParameters, Progress } from '../types/all.js';
import type { CertifiedBound, QueryMatrices, SavedStrategy, SearchLimits } from '../types/all.js';
import type { BestFixed, Handle, HeldOutRisk, LinearQueries, RegretBounds } from '../types/all.js';
import type { EpochsBounds, Simulation, SimulationChunk, Table, UnitError } from '../types/all.js';
import type { DomainName, LearnedModel, Neighbours } from '../types/all.js';
import type { ActiveClaim, LatticeNoise, StackError, WorkloadError } from '../types/all.js';

// Every object passed to the core has all its fields, even if undefined: a missing one would be
// looked up on Object.prototype.

export interface CoreWorkload {
  kind: 'prefix' | 'momentum' | 'window' | 'rates' | 'matrix';
  momentum: number;
  decay: number;
  width: number;
  /** The rates, or the entries of the matrix. */
  values: Float64Array | undefined;
}

export interface CoreParticipation {
  /** For 'active' the core derives the pattern from the windows. */
  kind: 'single' | 'fixed-epoch' | 'min-separation' | 'active';
  times: number;
  separation: number;
}

export interface CoreProblem {
  steps: number;
  workload: CoreWorkload;
  participation: CoreParticipation;
}

/** Numbers of an optimised strategy, by the core's names. */
export interface CorePlan {
  objective: 'max' | 'mean';
  numbers: { name: string; values: Float64Array }[];
  /** Option that holds the caller's own encoder; errors name it instead of the mechanism. */
  encoder: string | undefined;
}

export type CoreParameters = {
  [name in keyof MechanismParameters]-?: MechanismParameters[name] | undefined;
} & { plan: CorePlan | undefined };

export interface CoreFactorization extends CoreProblem {
  strategy: MechanismName;
  parameters: CoreParameters;
}

/** Options of a mechanism, completed with defaults and of the right types. */
export interface CoreMechanism extends CoreFactorization {
  epsilon: number;
  delta: number;
  clip: number;
  neighbours: string;
}

export type CoreTable = Omit<Table, 'labels'> & { labels: Float64Array | undefined };

export interface CorePlannerOptions extends CoreFactorization {
  useSolver: boolean;
  maxIterations: number | undefined;
  gap: number | undefined;
  queryWeights: Float64Array | undefined;
}

export interface CorePlannerProgress extends Progress {
  done: boolean;
}

export type CorePlannerResult = Pick<SavedStrategy, 'error' | 'status' | 'iterations'> &
  CertifiedBound &
  Pick<CorePlan, 'numbers'>;

/** The composed losses of the releases in one account. */
export interface Composition {
  /** mu or rho of all releases together, rounded up; 0 without releases. */
  total: number;
  /**
   * The largest total that stays within (epsilon, delta), lowered by a relative 2^-40, so that
   * `fits` can forgive rounding.
   */
  limit: number;
  /** Epsilon of the total at delta, rounded up; 0 without releases. */
  epsilon: number;
  /** True if total <= (1 + 2^-40) limit. */
  fits: boolean;
}

export type CoreStackErrors = Omit<
  StackError,
  'mechanism' | 'numSteps' | 'neighbours' | 'ratio' | 'gap'
>;

/** The properties of an object that do not change, and the id of its handle. */
type HandleFacts<Type, Others extends keyof Type> = { id: number } & Omit<
  Type,
  Others | keyof Handle
>;

export type CoreSimulation = HandleFacts<
  Simulation,
  'step' | 'finished' | 'advance' | 'heldOutRisk'
>;

export type CoreUnitError = Pick<
  UnitError,
  'sensitivity' | 'sensitivityExactness' | 'sensitivityMethod' | 'maxError' | 'meanError'
>;

/**
 * The errors, and the properties in which the mechanism may differ from its family in the
 * catalogue.
 */
export interface CoreComparedError extends CoreUnitError {
  causal: boolean;
  optimisedFor?: string;
  stepCost?: string;
  memoryCost?: string;
}

export interface CoreBounds extends Pick<ErrorBounds, 'schatten' | 'max' | 'mean'> {
  squareRootMax: number;
  squareRootMean: number;
  squareRootColumnNorm: number;
  squareRootMeanSquared: number;
  treeMeanSquared: number;
  publishedMax: PublishedBound;
  publishedMean: PublishedBound;
  publishedLower: PublishedBound;
}

export type CoreAppraisal = Omit<
  UnitError,
  'mechanism' | 'numSteps' | 'neighbours' | 'ratio' | 'gap' | 'raisedByNormalizing'
>;

export interface CoreQueryWorkload {
  kind: string;
  /** Number of values, bits or rows. */
  size: number;
  order: number;
  withLowerOrders: boolean;
  /** Entries of a matrix, or sizes of attributes. */
  values: Float64Array | undefined;
  parts: CoreQueryWorkload[];
}

/** A matrix, row after row. */
export interface CoreMatrix {
  /** Number of rows. */
  size: number;
  values: Float64Array;
}

export interface CoreQueriesOptions {
  workload: CoreQueryWorkload;
  epsilon: number;
  delta: number;
  neighbours: string;
  maxContributions: number;
  strategy: string;
  measure: CoreMatrix | undefined;
  reconstruct: CoreMatrix | undefined;
  objective: string;
}

export type CoreQueries = HandleFacts<
  LinearQueries,
  'neighbours' | 'bounds' | 'label' | 'labels' | 'matrices' | 'release'
>;

/** The seed or the key of a random draw; the other one is undefined. */
interface CoreDraw {
  insecureSeed: bigint | undefined;
  key: Uint8Array | undefined;
}

/** Arguments of a choice from a histogram. */
interface CoreChoice extends CoreDraw {
  histogram: Float64Array;
  epsilon: number;
  neighbours: string;
  maxContributions: number;
}

/** Options that a learner adds to the options of its stream. */
export interface CoreLearner {
  loss: LearnedModel['loss'];
  quantile: number;
  huberThreshold: number;
  numClasses: number;
  domain: DomainName;
  radius: number;
  lambda: number | undefined;
  descent:
    | { rates: Float64Array | undefined; momentum: number; throughWorkload: boolean }
    | undefined;
  doubling: boolean;
  batchSize: number;
  penalty:
    | { strength: number; groups: Float64Array | undefined; numUnpenalised: number }
    | undefined;
}

/** Privacy target and public numbers of a table whose second moments may be released. */
export interface CoreMomentsOptions {
  epsilon: number;
  delta: number;
  neighbours: Neighbours;
  dimension: number;
  numRows: number;
}

/** Budgets of second moments and of a learner after them. */
export interface CoreMoments {
  momentsEpsilon: number;
  learnerEpsilon: number;
  mu: number;
  rho: number;
  isDefault: boolean;
}

/** Settings of a learner that follow from public numbers. */
export interface CoreDefaults {
  clip: number;
  lambda: number;
  steps: number;
  batchSize: number;
  /** Set for the setup `table` only, like `rates`. */
  momentum: number | undefined;
  rates: Float64Array | undefined;
}

/** Options of a stream, completed with defaults and of the right types. */
export interface CoreStreamOptions extends CoreMechanism, CoreDraw, Partial<CoreLearner> {
  kind:
    | 'counter'
    | 'totals'
    | 'sums'
    | 'moments'
    | 'histogram'
    | 'active'
    | 'increments'
    | 'learner';
  pure: boolean;
  mode: 'grid' | 'lattice';
  latticeNoise: LatticeNoise;
  precisionBits: number | undefined;
  /** Whether the caller guarantees `clip`, so that records are not clipped here. */
  clippedByCaller: boolean;
  dimension: number;
  /** For sums: whether a record is one number rather than a vector of numbers. */
  single: boolean;
  grid: number | undefined;
  confidence: number;
  fixedTimes: boolean;
  workloads: CoreWorkload[] | undefined;
  importance: Float64Array | undefined;
  /** For moments: the lowest and the highest value of each column, column after column. */
  ranges: Float64Array | undefined;
  covariance: boolean;
  numCategories: number | undefined;
  total: boolean;
  /** For active people: the lengths of the windows, in steps. */
  windows: Float64Array | undefined;
  closedStart: boolean;
  endless: boolean;
  people: boolean;
  journal: boolean;
  /** Whether each reading is followed by its values without noise. */
  nonprivate: boolean;
  /** Text that is stored in a state; a state with another text is refused. */
  about: string;
  state: Uint8Array | undefined;
}

export interface CoreStream {
  id: number;
  certificate: Certificate;
  grid: number;
  recordSize: number;
  /** Count of the numbers in a reading, including its values without noise, if any. */
  readingSize: number;
  /** Errors of sums, in the order of the workloads. */
  workloads?: WorkloadError[];
  /** Claims for active people, in the order of the windows. */
  windows?: ActiveClaim[];
}

/** Names in UTF-8, concatenated, and the offset at which each ends, in bytes. */
export interface CorePeople {
  bytes: Uint8Array;
  ends: Float64Array;
}

type People = CorePeople | undefined;

/**
 * The functions of streams. Functions with `out` write readings into it; for a journal, `out` is
 * undefined.
 */
export interface StreamFunctions {
  streamPlace: [
    [id: number],
    {
      step: number;
      records: number;
      waiting: number;
      dropped: number;
      acknowledged: number;
      /** With a journal: whether the bytes acknowledged as stored lead to the same readings. */
      stored: boolean;
    },
  ];
  /** Refuses a record that could not be added. */
  streamCheck: [[id: number, people: People, rows: Float64Array], null];
  streamAdd: [[id: number, people: People, rows: Float64Array], null];
  streamEnd: [[id: number, steps: number, out: Float64Array | undefined], null];
  /** Releases each row in a step of its own. */
  streamRelease: [
    [id: number, people: People, rows: Float64Array, out: Float64Array | undefined],
    null,
  ];
  /** Releases all rows in one step. */
  streamReleaseBatch: [
    [id: number, people: People, rows: Float64Array, out: Float64Array | undefined],
    null,
  ];
  streamStddev: [[id: number, step: number], number];
  streamHalfWidth: [[id: number, step: number | undefined, probability: number], number];
  /** The functions from here on are for journals. */
  streamAt: [[id: number, firstStep: number, steps: number], Float64Array];
  /** True if the step was released with these records, false if it is open and empty. */
  streamIsRepeat: [[id: number, step: number, people: People, rows: Float64Array], boolean];
  streamCommitment: [[id: number], Uint8Array];
  streamState: [[id: number], Uint8Array];
  /** Tag of the bytes before a log, which its first frame continues. */
  streamLogTag: [[id: number, base: Uint8Array], Uint8Array];
  /**
   * Unacknowledged decisions, at most `maxSteps`, and the open step, as bytes to append; the tag
   * that follows them; and the number of steps in them.
   */
  streamLogFrame: [
    [id: number, before: Uint8Array, maxSteps: number],
    { bytes: Uint8Array; tag: Uint8Array; steps: number },
  ];
  streamReplay: [
    [id: number, log: Uint8Array, before: Uint8Array, position: number],
    { tag: Uint8Array; size: number },
  ];
  streamAcknowledge: [[id: number, steps: number], null];
}

/** The bound functions: name -> [arguments, value]. */
interface CoreFunctions extends StreamFunctions {
  streamCreate: [[options: CoreStreamOptions], CoreStream];
  version: [[], string];
  /** `parameters` are the core's names, separated by commas. */
  catalogue: [[], (Omit<StrategyInfo, 'parameters'> & { parameters: string })[]];
  limits: [[], SearchLimits];
  calibrate: [[kind: 'epsilon' | 'rho' | 'mu', value: number, delta: number], Calibration];
  pureMu: [[epsilon: number], number];
  pureRho: [[epsilon: number], number];
  compose: [
    [account: 'mu' | 'rho', costs: Float64Array, epsilon: number, delta: number],
    Composition,
  ];
  problem: [
    [options: CoreProblem & { objective: 'max' | 'mean' }],
    Pick<UnitError, 'workload' | 'participation' | keyof CertifiedBound>,
  ];
  unitError: [[options: CoreFactorization], CoreComparedError];
  bounds: [[numSteps: number], CoreBounds];
  mechanismBounds: [
    [numSteps: number, kind: 'epsilon' | 'rho', parameter: number],
    { unbiasedMax: number; unbiasedMean: number; every: number; blockLength: number },
  ];
  addedNoise: [[numSteps: number, epsilon: number, delta: number], AddedNoiseBounds];
  epochsBounds: [[numSteps: number, epochs: number, gap: number], EpochsBounds];
  appraisal: [
    [
      options: CoreFactorization & {
        beta: number | undefined;
        dimension: number | undefined;
        numPaths: number | undefined;
        seed: bigint | undefined;
      },
    ],
    CoreAppraisal,
  ];
  errorPerStep: [[options: CoreFactorization], Float64Array];
  pureError: [
    [
      options: CoreProblem & {
        epsilon: number;
        clip: number;
        neighbours: string;
        parameters: object;
        objective: 'max' | 'mean';
        unitError: number;
      },
    ],
    Omit<import('../types/all.js').PureComparison, 'epsilon'>,
  ];
  /** Variances of the increments of the noise, one per step, for Z of variance 1. */
  gradientVariances: [[options: CoreFactorization], Float64Array];
  /** Errors of several workloads and, if there is a beta, their simultaneous bounds. */
  stackErrors: [[options: CoreFactorization & object], CoreStackErrors];
  matrices: [[options: CoreFactorization], Matrices];
  certificate: [[options: CoreMechanism], Omit<CheckedCertificate, 'ratio' | 'gap'>];
  plannerCreate: [[options: CorePlannerOptions], number];
  plannerAdvance: [[id: number], CorePlannerProgress];
  plannerResult: [[id: number], CorePlannerResult];
  /** Settings that follow from public numbers; for the setup 'unclipped', only `clip`. */
  learnerDefaults: [[options: object], CoreDefaults];
  /**
   * `clip` is the factor by which the clip norm of the learner that follows the moments is
   * multiplied.
   */
  momentsPlan: [[options: CoreMomentsOptions], CoreMoments & { clip: number }];
  /**
   * Releases second moments of the features of examples; the numbers of each example end with its
   * label. Overwrites the features with their new coordinates.
   */
  momentsCreate: [
    [options: CoreDraw & Omit<CoreMomentsOptions, 'numRows'>, examples: Float64Array],
    number,
  ];
  /** Overwrites weights of coordinates with weights of the features. */
  momentsRestore: [[id: number, weights: Float64Array], null];
  /** Overwrites the scores with the predictions. */
  learnerScores: [[id: number, features: Float64Array, scores: Float64Array], null];
  learnerLambda: [[id: number], number];
  learnerWeights: [[id: number, last: Float64Array, average: Float64Array], null];
  /** Overwrites the values, one for each label, with the losses of the scores. */
  learnerLosses: [
    [id: number, scores: Float64Array, labels: Float64Array, values: Float64Array],
    null,
  ];
  twinCreate: [[options: object], number];
  /**
   * Overwrites the scores with the scores of the examples, computed before their labels are used.
   */
  twinLearn: [
    [id: number, features: Float64Array, labels: Float64Array, scores: Float64Array],
    null,
  ];
  twinEndBatch: [[id: number], null];
  twinWeights: [[id: number, weights: Float64Array], null];
  comparatorCreate: [[options: object], number];
  comparatorAppend: [[id: number, features: Float64Array, labels: Float64Array], null];
  comparatorSolve: [[id: number], BestFixed];
  regretBounds: [[certificate: object, rule: object], RegretBounds];
  noiseCreate: [[options: CoreFactorization & object], number];
  noiseStep: [[id: number], number];
  noiseSeek: [[id: number, step: number], null];
  /** Overwrites the rows with rounded noise. */
  noiseRounded: [[id: number, rows: Float64Array, numRows: number, scale: number], null];
  noiseCheckpoint: [[id: number], Uint8Array];
  noiseRestore: [[id: number, bytes: Uint8Array], null];
  /** `counts` has the counts of one category at all steps, then those of the next category. */
  statisticHistogramMonotone: [[counts: Float64Array, numSteps: number], Float64Array];
  simulationCreate: [[options: CoreMechanism & object], CoreSimulation];
  simulationStep: [[id: number], number];
  simulationAdvance: [[id: number, maxSteps: number], SimulationChunk];
  simulationHeldOutRisk: [[id: number, numExamples: number], HeldOutRisk];
  simulationNoiseCreate: [[options: CoreFactorization & { precision: string } & object], number];
  simulationNoiseStep: [[id: number], number];
  simulationNoiseSeek: [[id: number, step: number], null];
  /** Overwrites the rows with noise of their precision. */
  simulationNoiseNext: [[id: number, rows: Float32Array | Float64Array, numRows: number], null];
  queriesSearch: [[options: CoreQueriesOptions], number];
  queriesAdvance: [[id: number], CorePlannerProgress];
  /** Completes the search if it has not ended. */
  queriesResult: [[id: number], CoreQueries];
  queriesBounds: [[id: number], QueryBounds];
  queriesMatrices: [[id: number], Pick<QueryMatrices, 'queries' | 'encoder' | 'decoder'>];
  queriesLabel: [[id: number, query: number], string];
  queriesRelease: [
    [
      id: number,
      options: CoreDraw & {
        histogram: Float64Array;
        consistent: boolean;
        integer: boolean;
        total: number | undefined;
      },
    ],
    { answers: Float64Array; histogram?: Float64Array },
  ];
  queriesChoose: [
    [
      options: CoreDraw & {
        utilities: Float64Array;
        epsilon: number;
        sensitivity: number;
        monotone: boolean;
      },
    ],
    number,
  ];
  queriesRespond: [[options: CoreDraw & { bit: boolean; epsilon: number }], boolean];
  queriesEstimate: [[ones: number, reports: number, epsilon: number], EstimatedCount];
  queriesWinner: [[options: CoreChoice], number];
  queriesQuantile: [[options: CoreChoice & { numerator: number; denominator: number }], number];
  dispose: [[id: number], null];
  liveHandles: [[], number];
}

/** A function of this package that calls bound functions. */
interface Caller {
  /** Prefix of the names of those functions. */
  start: string;
  call: string;
  /** Parameters of the core that have another name in the call. */
  names?: Readonly<Record<string, string>>;
}

/** Parameters of losses and of descent, which are fields of an object in the options. */
const LEARNER_NAMES = {
  quantile: 'loss.quantile',
  huber_threshold: 'loss.huber',
  num_classes: 'loss.softmax',
  encoder_workload: 'descent',
};

const CALLERS: readonly Caller[] = [
  { start: 'appraisal', call: 'error' },
  { start: 'stackErrors', call: 'error' },
  { start: 'errorPerStep', call: 'error' },
  { start: 'gradientVariances', call: 'error' },
  { start: 'matrices', call: 'error' },
  { start: 'unitError', call: 'compare' },
  { start: 'problem', call: 'compare' },
  { start: 'mechanismBounds', call: 'bounds' },
  { start: 'addedNoise', call: 'bounds' },
  { start: 'epochsBounds', call: 'bounds' },
  { start: 'planner', call: 'optimize', names: { use_solver: 'solver' } },
  { start: 'queriesChoose', call: 'choose' },
  { start: 'queriesRespond', call: 'randomizedResponse' },
  {
    start: 'queriesEstimate',
    call: 'estimateCount',
    names: { num_ones: 'ones', num_reports: 'reports' },
  },
  { start: 'queriesWinner', call: 'winner' },
  { start: 'queriesQuantile', call: 'quantile' },
  { start: 'compose', call: 'compose' },
  { start: 'statistic', call: 'consistent' },
  {
    start: 'stream',
    call: 'stream',
    names: {
      ...LEARNER_NAMES,
      checkpoint: 'store',
      log: 'store',
      mode: 'lattice',
      lattice_noise: 'lattice.noise',
      precision_bits: 'lattice.precisionBits',
      ranges: 'columns',
      num_categories: 'categories',
    },
  },
  { start: 'noise', call: 'noise', names: { checkpoint: 'bytes' } },
  {
    start: 'queries',
    call: 'linear',
    names: {
      parts: 'workload',
      num_bits: 'parities',
      queries: 'matrix',
      attribute_sizes: 'marginals',
      strategy: 'measurements',
    },
  },
  { start: 'simulationNoise', call: 'noise' },
  { start: 'learnerDefaults', call: 'learnPlan', names: { ...LEARNER_NAMES, num_rows: 'rows' } },
  { start: 'momentsPlan', call: 'learnPlan', names: { num_rows: 'rows' } },
  { start: 'learner', call: 'learner' },
  { start: 'twin', call: 'twin', names: LEARNER_NAMES },
  { start: 'comparator', call: 'comparator', names: LEARNER_NAMES },
  { start: 'simulation', call: 'simulation', names: LEARNER_NAMES },
];

/** Functions of the core, besides the mechanisms, that errors name as a part of a call. */
const PARTS: Readonly<Record<string, { part: string; names?: Caller['names'] }>> = {
  lattice: { part: 'lattice' },
  plan: { part: 'saved strategy', names: { strategy: 'name' } },
};

/** A refusal as it crosses the boundary: every text is present, and empty if it has no value. */
interface CoreRefusal {
  code: ErrorCode;
  function: string;
  parameter: string;
  constraint: string;
  value: string;
  /** Numbers processed before the refused row or, for a stream, steps made before the refusal. */
  released?: number;
  /** Index of the refused record of a stream. */
  record?: number;
}

type Reply = { value: unknown; code?: undefined } | CoreRefusal;

/** Name of the caller's encoder among the arguments of a bound function. */
function encoderIn([options]: readonly unknown[]): string | undefined {
  const { parameters } = (options ?? {}) as { parameters?: Partial<CoreParameters> };
  return parameters?.plan?.encoder;
}

/** Error for a refusal of the core, with this package's names. */
function errorOf(
  name: string,
  refused: CoreRefusal,
  { mechanisms, encoder }: { mechanisms: readonly string[]; encoder: string | undefined },
): RefusalError {
  const caller = CALLERS.find(({ start }) => name.startsWith(start));
  const inside = PARTS[refused.function];
  const isOfEncoder = encoder !== undefined && mechanisms.includes(refused.function);
  const names = isOfEncoder ? { ...caller?.names, encoder } : (inside?.names ?? caller?.names);
  const nameOf = (path: string): string => {
    const [root, rest] = rootOf(path);
    const own = names?.[root];
    return own === undefined ? camelCase(path) : own + camelCase(rest);
  };
  const { code, parameter, constraint, value } = refused;
  const mechanism = mechanisms.find((each) => !isOfEncoder && each === refused.function);
  const part = mechanism ?? inside?.part;
  const where = { call: caller?.call ?? name, ...(part !== undefined && { part }) };
  const error = makeError(code, where, {
    ...(parameter !== '' && { parameter: nameOf(parameter) }),
    constraint: withNames(constraint, (path) => `{${nameOf(path)}}`),
    ...(value !== '' && { value }),
  });
  const { record } = refused;
  return record === undefined ? error : Object.assign(error, { record });
}

/** Recovery from an instance that becomes unusable. */
export interface Renewal {
  onAbort(): void;
  /** Tells callers how to get another instance: 'load() again'. */
  how: string;
}

export class Core {
  private failure: unknown = undefined;

  private constructor(
    private readonly functions: Record<string, (...args: unknown[]) => Reply>,
    private readonly renewal: Renewal,
  ) {}

  /** Instantiates a compiled module with the glue that was built with it. */
  static async create(glue: Glue, module: WebAssembly.Module, renewal: Renewal): Promise<Core> {
    const functions = await new Promise<unknown>((resolve, reject) => {
      glue({
        print: () => {},
        printErr: () => {},
        instantiateWasm(imports, receive) {
          WebAssembly.instantiate(module, imports)
            .then((instance) => receive(instance, module))
            .catch(reject);
          return {};
        },
      }).then(resolve, reject);
    });
    return new Core(functions as Record<string, (...args: unknown[]) => Reply>, renewal);
  }

  /** True if the instance trapped and can no longer be used. */
  get aborted(): boolean {
    return this.failure !== undefined;
  }

  call<K extends keyof CoreFunctions>(name: K, ...args: CoreFunctions[K][0]): CoreFunctions[K][1] {
    if (this.aborted) throw this.abortedError();
    let reply: Reply;
    try {
      reply = this.ask(name, ...args);
    } catch (cause) {
      // C++ exceptions do not get here. Either the WebAssembly code itself stopped, or an exception
      // of the host went through it (the stack was exhausted, say). In both cases the state of the
      // instance is unknown.
      this.failure = cause;
      this.renewal.onAbort();
      throw this.abortedError();
    }
    if (reply.code === undefined) return reply.value as CoreFunctions[K][1];
    const named = { mechanisms: this.mechanisms(), encoder: encoderIn(args) };
    const error = errorOf(name, reply, named);
    throw 'released' in reply ? Object.assign(error, { released: reply.released }) : error;
  }

  /**
   * Copies the answer to an object without a prototype, so that properties which others put on
   * Object.prototype are not read.
   */
  private ask(name: string, ...args: unknown[]): Reply {
    const answer: object = this.functions[name]!(...args);
    return Object.assign(Object.create(null) as object, answer) as Reply;
  }

  private mechanisms(): string[] {
    const reply = this.ask('catalogue');
    if (reply.code !== undefined) return [];
    return (reply.value as StrategyInfo[]).map((entry) => entry.name);
  }

  private abortedError(): RefusalError {
    const cause = this.failure;
    const why = cause instanceof Error ? cause.message : String(cause);
    const constraint =
      `the WebAssembly instance stopped (${why}) and cannot be used any more, nor can its ` +
      'handles; results obtained before stay valid; call ' +
      `${this.renewal.how} for a new instance`;
    return makeError('aborted', {}, { constraint }, cause);
  }
}
