// SPDX-License-Identifier: Apache-2.0

// The compiled core: the types that cross the boundary, and the one method through which calls go.

import type { Glue } from 'dp-ftrl:glue';
import { makeError, withNames, type RefusalError } from './errors.js';
import { nameOfCore, rootOf } from './names.js';
import type { StrategyInfo, Calibration, Certificate, CheckedCertificate } from '../types/all.js';
import type { AddedNoiseBounds, ErrorCode, EstimatedCount } from '../types/all.js';
import type { ErrorBounds, Matrices, PublishedBound, QueryBounds } from '../types/all.js';
import type { MechanismName, MechanismParameters, Progress } from '../types/all.js';
import type { CertifiedBound, QueryMatrices, SavedStrategy, SearchLimits } from '../types/all.js';
import type { BestFixed, Handle, HeldOutRisk, LinearQueries, RegretBounds } from '../types/all.js';
import type { EpochsBounds, Simulation, SimulationChunk, Table, UnitError } from '../types/all.js';
import type { DomainName, LearnedModel, Neighbours } from '../types/all.js';
import type { LatticeNoise, StackError, WorkloadError } from '../types/all.js';

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
  kind: 'single' | 'fixed-epoch' | 'min-separation';
  times: number;
  separation: number;
}

/** The workload and the participation pattern. */
export interface CoreProblem {
  numSteps: number;
  workload: CoreWorkload;
  participation: CoreParticipation;
}

/** Numbers of an optimised strategy, by the core's names. */
export interface CorePlan {
  objective: 'max' | 'mean';
  numbers: { name: string; values: Float64Array }[];
}

export type CoreParameters = {
  [name in keyof MechanismParameters]-?: MechanismParameters[name] | undefined;
} & { plan: CorePlan | undefined };

export interface CoreFactorization extends CoreProblem {
  mechanism: MechanismName;
  parameters: CoreParameters;
}

/** Options of a mechanism, completed with defaults and of the right types. */
export interface CoreMechanism extends CoreFactorization {
  epsilon: number;
  delta: number;
  clipNorm: number;
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

/** Losses of releases in one account, added up. */
export interface Composition {
  /** mu or rho of all releases together, rounded up; 0 without releases. */
  total: number;
  /**
   * The largest total that stays within (epsilon, delta), lowered by 2^-40 of itself, so that `fits`
   * can forgive rounding.
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

/** The facts of an object that do not change, and the id of its handle. */
type Made<Type, Others extends keyof Type> = { id: number } & Omit<Type, Others | keyof Handle>;

export type CoreSimulation = Made<Simulation, 'step' | 'finished' | 'advance' | 'heldOutRisk'>;

export type CoreUnitError = Pick<
  UnitError,
  'sensitivity' | 'sensitivityExactness' | 'sensitivityMethod' | 'maxError' | 'meanError'
>;

/** The errors, and the properties that differ from those the catalogue states for the family. */
export interface CoreComparedError extends CoreUnitError {
  causal: boolean;
  optimisedFor?: string;
  stepCost?: string;
  memoryCost?: string;
}

export interface CoreBounds extends Pick<ErrorBounds, 'schatten' | 'max' | 'mean'> {
  squareRootMax: number;
  squareRootMean: number;
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
  /** Number of values, of bits or of rows. */
  size: number;
  order: number;
  withLowerOrders: boolean;
  /** Entries of a matrix, or sizes of attributes. */
  values: Float64Array | undefined;
  parts: CoreQueryWorkload[];
}

export interface CoreQueriesOptions {
  workload: CoreQueryWorkload;
  epsilon: number;
  delta: number;
  neighbours: string;
  maxContributions: number;
  strategy: string;
  objective: string;
}

export type CoreQueries = Made<
  LinearQueries,
  'neighbours' | 'bounds' | 'label' | 'labels' | 'matrices' | 'release'
>;

/** Arguments of one random draw, with a key or a seed. */
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

/** Options of a learner beside those of its stream. */
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

/** A table whose second moments may be released, as far as it is public. */
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
  clipNorm: number;
  lambda: number;
  numSteps: number;
  batchSize: number;
  /** Given for a table. */
  momentum: number | undefined;
  rates: Float64Array | undefined;
}

/** Options of a stream, completed with defaults and of the right types. */
export interface CoreStreamOptions extends CoreMechanism, CoreDraw, Partial<CoreLearner> {
  kind: 'counter' | 'totals' | 'sums' | 'moments' | 'histogram' | 'learner';
  pure: boolean;
  mode: 'grid' | 'lattice';
  latticeNoise: LatticeNoise;
  precisionBits: number | undefined;
  dimension: number;
  /** For sums: whether records are numbers, whose readings are estimates. */
  single: boolean;
  grid: number | undefined;
  confidence: number;
  fixedTimes: boolean;
  workloads: CoreWorkload[] | undefined;
  importance: Float64Array | undefined;
  /** Two ends for each column. */
  ranges: Float64Array | undefined;
  covariance: boolean;
  numCategories: number | undefined;
  total: boolean;
  people: boolean;
  journal: boolean;
  /** Text that a state must repeat. */
  about: string;
  state: Uint8Array | undefined;
}

export interface CoreStream {
  id: number;
  certificate: Certificate;
  grid: number;
  recordSize: number;
  /** Number of numbers in a reading. */
  readingSize: number;
  /** For sums, in the order of the workloads. */
  workloads?: WorkloadError[];
}

/** Names in UTF-8, one after the other, and where each ends. */
export interface CorePeople {
  bytes: Uint8Array;
  ends: Float64Array;
}

type People = CorePeople | undefined;

/** The functions of streams. Those with `out` write readings into it; a journal takes undefined. */
export interface StreamFunctions {
  streamPlace: [
    [id: number],
    { step: number; records: number; waiting: number; dropped: number; acknowledged: number },
  ];
  /** Refuses a record that could not be added. */
  streamCheck: [[id: number, people: People, rows: Float64Array], null];
  streamAdd: [[id: number, people: People, rows: Float64Array], null];
  streamEnd: [[id: number, steps: number, out: Float64Array | undefined], null];
  /** Ends a step for each row. */
  streamRelease: [
    [id: number, people: People, rows: Float64Array, out: Float64Array | undefined],
    null,
  ];
  /** Ends one step of all rows. */
  streamReleaseBatch: [
    [id: number, people: People, rows: Float64Array, out: Float64Array | undefined],
    null,
  ];
  streamStddev: [[id: number, step: number], number];
  streamHalfWidth: [[id: number, step: number | undefined, probability: number], number];
  /** The functions from here on serve journals. */
  streamAt: [[id: number, firstStep: number, steps: number], Float64Array];
  /** True if the step was released with these records, false if it is open and empty. */
  streamIsRepeat: [[id: number, step: number, people: People, rows: Float64Array], boolean];
  streamCommitment: [[id: number], Uint8Array];
  streamState: [[id: number], Uint8Array];
  /** Returns the tag of the bytes that a log follows. */
  streamLogTag: [[id: number, base: Uint8Array], Uint8Array];
  /**
   * Returns unacknowledged decisions, at most `maxSteps`, and the open step as bytes to append; the
   * next tag; and how many steps they are.
   */
  streamLogFrame: [
    [id: number, before: Uint8Array, maxSteps: number],
    { bytes: Uint8Array; tag: Uint8Array; numSteps: number },
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
  /** `parameters` are names of the core, separated by commas. */
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
        clipNorm: number;
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
  /** Settings that follow from public numbers; for the setup 'unclipped', only `clipNorm`. */
  learnerDefaults: [[options: object], CoreDefaults];
  /** `clip` is the factor on the clip norm of the learner that follows the moments. */
  momentsPlan: [[options: CoreMomentsOptions], CoreMoments & { clip: number }];
  /** Releases second moments of rows, and overwrites the rows with their new coordinates. */
  momentsCreate: [
    [options: CoreDraw & Omit<CoreMomentsOptions, 'numRows'>, rows: Float64Array],
    number,
  ];
  /** Overwrites weights of coordinates with those of the features. */
  momentsRestore: [[id: number, weights: Float64Array], null];
  /** Overwrites the scores with the predictions. */
  learnerScores: [[id: number, features: Float64Array, scores: Float64Array], null];
  learnerLambda: [[id: number], number];
  learnerWeights: [[id: number, last: Float64Array, average: Float64Array], null];
  /** Overwrites the values, one for each label. */
  learnerLosses: [
    [id: number, scores: Float64Array, labels: Float64Array, values: Float64Array],
    null,
  ];
  twinCreate: [[options: object], number];
  /** As `learnerLearn`. */
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
  noiseCreate: [
    [options: CoreFactorization & object],
    { id: number; certificate?: Certificate; grid?: number },
  ];
  noiseStep: [[id: number], number];
  noiseSeek: [[id: number, step: number], null];
  /** Overwrites the rows. */
  noiseRounded: [[id: number, rows: Float64Array, numRows: number, scale: number], null];
  /** Overwrites the sum. */
  noiseAddTo: [[id: number, sum: Float64Array, step: number], null];
  noiseCheckpoint: [[id: number], Uint8Array];
  noiseRestore: [[id: number, bytes: Uint8Array], null];
  /** `counts` are those of all steps, one category after the other. */
  statisticHistogramMonotone: [[counts: Float64Array, numSteps: number], Float64Array];
  simulationCreate: [[options: CoreMechanism & object], CoreSimulation];
  simulationStep: [[id: number], number];
  simulationAdvance: [[id: number, maxSteps: number], SimulationChunk];
  simulationHeldOutRisk: [[id: number, numExamples: number], HeldOutRisk];
  simulationNoiseCreate: [[options: CoreFactorization & { precision: string } & object], number];
  simulationNoiseStep: [[id: number], number];
  simulationNoiseSeek: [[id: number, step: number], null];
  /** Overwrites the array, which has the precision of the noise. */
  simulationNoiseNext: [[id: number, rows: Float32Array | Float64Array, numRows: number], null];
  queriesSearch: [[options: CoreQueriesOptions], number];
  queriesAdvance: [[id: number], CorePlannerProgress];
  /** Completes the search. */
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

/** The function of this package that a bound function belongs to. */
interface Caller {
  /** Prefix of the names of those functions. */
  start: string;
  call: string;
  /** Parameters of the core that have another name in that call. */
  names?: Readonly<Record<string, string>>;
}

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
  { start: 'planner', call: 'optimize' },
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
  { start: 'stream', call: 'stream', names: { checkpoint: 'store', log: 'store' } },
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
  { start: 'learner', call: 'learner' },
  { start: 'simulation', call: 'simulation' },
];

/** Functions of the core that errors name as a part of a call, besides the mechanisms. */
const PARTS: Readonly<Record<string, string>> = { lattice: 'lattice', plan: 'saved strategy' };

/** A refusal as it crosses the boundary: every field is there, and empty if it has no value. */
interface CoreRefusal {
  code: ErrorCode;
  function: string;
  parameter: string;
  constraint: string;
  value: string;
  /** Number of entries released before the refused record. */
  released?: number;
  /** Index of the refused record of a stream. */
  record?: number;
}

type Reply = { value: unknown; code?: undefined } | CoreRefusal;

/** Returns the error for a refusal of the core, with this package's names. */
function errorOf(name: string, refused: CoreRefusal, mechanisms: readonly string[]): RefusalError {
  const caller = CALLERS.find(({ start }) => name.startsWith(start));
  const nameOf = (path: string): string => {
    const [root, rest] = rootOf(path);
    const own = caller?.names?.[root];
    return own === undefined ? nameOfCore(path) : own + rest;
  };
  const { code, parameter, constraint, value } = refused;
  const part = mechanisms.includes(refused.function) ? refused.function : PARTS[refused.function];
  const where = { call: caller?.call ?? name, ...(part !== undefined && { part }) };
  const error = makeError(code, where, {
    ...(parameter !== '' && { parameter: nameOf(parameter) }),
    constraint: withNames(constraint, (path) => `{${nameOf(path)}}`),
    ...(value !== '' && { value }),
  });
  const { record } = refused;
  return record === undefined ? error : Object.assign(error, { record });
}

/** Reaction to an instance that becomes unusable. */
export interface Renewal {
  onAbort(): void;
  /** How to get another one: 'load() again'. */
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
      // of the host went through it (the stack was exhausted, say); its state is unknown in both
      // cases.
      this.failure = cause;
      this.renewal.onAbort();
      throw this.abortedError();
    }
    if (reply.code === undefined) return reply.value as CoreFunctions[K][1];
    const error = errorOf(name, reply, this.mechanisms());
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
