// SPDX-License-Identifier: Apache-2.0

import { optionsObject, Reader, readOptions } from '../core/check.js';
import { makeBudget } from './budget/budget.js';
import { makeInstance } from './catalogue.js';
import { compare } from './compare.js';
import type { Instance } from '../core/handle.js';
import type { Core } from '../core/core.js';
import { asErrorsOf, makeError } from '../core/errors.js';
import { defaultOf, readMechanism } from './options.js';
import { STRATEGY_WORDS } from './problem.js';
import { makeComparator, makeTwin, regretBounds } from './learning/hindsight.js';
import { GRADIENT_LEARNER } from './learning/gradient-learner.js';
import { LEARNER } from './learning/learner.js';
import { predict } from './learning/model.js';
import { makeNoise } from './noise.js';
import { optimize } from './optimization.js';
import { queriesOf } from './queries.js';
import { learnPlan } from './learning/setup.js';
import { learn } from './learning/precondition.js';
import { makeSimulation } from './learning/simulation.js';
import { rated } from './searches.js';
import { makeSimulationNoise } from './simulation-noise.js';
import { errorOf } from './unit-error.js';
import { ACTIVE } from './streams/active.js';
import { consistent } from './streams/consistent.js';
import { HISTOGRAM } from './streams/histogram.js';
import { makeStream } from './streams/make.js';
import { MOMENTS } from './streams/moments.js';
import { COUNTER, INCREMENTS, SUMS, TOTALS } from './streams/numbers.js';
import type { StreamDefinition } from './streams/kind.js';
import type { Streams } from '../types/streams/stream.js';
import type { Calibration, CheckedCertificate, PureCalibration } from '../types/all.js';
import type { DpFtrl, ErrorBounds, PublishedStatement, Study } from '../types/all.js';
import { TREE_LIMIT } from '../shared/defaults.js';

/** Default gap between the bounds on the least error over epochs. */
const EPOCHS_GAP = 1e-6;

function calibrate(core: Core, options: unknown): Calibration | PureCalibration {
  const where = 'calibrate';
  const kinds = ['epsilon', 'rho', 'mu'] as const;
  const reader = new Reader(where, optionsObject(where, options, [...kinds, 'delta']));
  const given = kinds.filter((kind) => reader.has(kind));
  const [kind] = given;
  if (kind === undefined || given.length > 1) {
    const got = given.length === 0 ? 'none' : given.join(' and ');
    const constraint = 'must be given, or else {rho} or {mu}, and only one of them';
    throw makeError('wrong_type', where, { parameter: 'epsilon', constraint, value: got });
  }
  const [value, delta] = [reader.number(kind), reader.number('delta')];
  if (kind !== 'epsilon' || delta !== 0) return core.call('calibrate', kind, value, delta);
  return asErrorsOf(where, () => ({
    epsilon: value,
    delta,
    mu: core.call('pureMu', value),
    rho: core.call('pureRho', value),
  }));
}

/** Published lower bounds for every (epsilon, delta)-DP counter: docs/math/mechanism-bounds.md. */
const EVERY_MECHANISM: readonly PublishedStatement[] = [
  {
    bound: 'a mean squared error of order ln(steps)^2 / (exp(2 epsilon) - 1)^2',
    source: 'Henzinger, Upadhyay and Upadhyay (2023), Theorem 4',
    range: 'epsilon and delta below some constants',
  },
  {
    bound: 'an expected largest error over all steps of order ln(steps)^1.5',
    source: 'Bairaktari and Larsen (2026)',
    range: 'epsilon and delta fixed while the steps grow',
  },
];

/** Bounds on mechanisms of a known privacy guarantee, which need not be factorizations. */
function privateBounds(
  core: Core,
  steps: number,
  reader: Reader,
): Pick<ErrorBounds, 'mechanisms' | 'addedNoise'> {
  const kind = reader.has('rho') ? 'rho' : 'epsilon';
  for (const parameter of kind === 'rho' ? ['epsilon', 'delta'] : []) {
    if (!reader.has(parameter)) continue;
    const constraint = 'must not be given with {rho}';
    throw makeError('wrong_type', 'bounds', { parameter, constraint });
  }
  const value = reader.number(kind);
  const delta = reader.numberOr('delta', 0);
  const bounds: Pick<ErrorBounds, 'mechanisms' | 'addedNoise'> = {};
  if (delta === 0) {
    const found = core.call('mechanismBounds', steps, kind, value);
    const { unbiasedMax: max, unbiasedMean: mean, every, blockLength } = found;
    bounds.mechanisms = { unbiased: { max, mean }, every, blockLength };
  }
  if (kind === 'epsilon') bounds.addedNoise = core.call('addedNoise', steps, value, delta);
  return bounds;
}

/** Bounds that the options `epsilon`, `delta`, `rho` and `epochs` request. */
function furtherBounds(
  core: Core,
  steps: number,
  reader: Reader,
): Pick<ErrorBounds, 'mechanisms' | 'addedNoise' | 'epochs'> {
  const isPrivate = ['epsilon', 'delta', 'rho'].some((parameter) => reader.has(parameter));
  const own = isPrivate && privateBounds(core, steps, reader);
  if (!reader.has('epochs')) {
    if (reader.has('gap')) reader.count('epochs');
    return { ...own };
  }
  const gap = reader.numberOr('gap', EPOCHS_GAP);
  return { epochs: core.call('epochsBounds', steps, reader.count('epochs'), gap), ...own };
}

function bounds(core: Core, options: unknown): ErrorBounds {
  const where = 'bounds';
  const known = ['steps', 'epsilon', 'delta', 'rho', 'epochs', 'gap'];
  const reader = new Reader(where, optionsObject(where, options, known));
  return asErrorsOf(where, () => readBounds(core, reader));
}

function readBounds(core: Core, reader: Reader): ErrorBounds {
  const steps = reader.count('steps');
  const found = core.call('bounds', steps);
  const { schatten, max, mean, squareRootMax, squareRootMean } = found;
  return {
    numSteps: steps,
    max,
    mean,
    schatten,
    squareRoot: {
      max: squareRootMax,
      mean: squareRootMean,
      squaredColumnNorm: found.squareRootColumnNorm,
      meanSquaredError: found.squareRootMeanSquared,
    },
    tree: {
      meanSquaredError: found.treeMeanSquared,
      overSquareRoot: found.treeMeanSquared / found.squareRootMeanSquared,
      limit: TREE_LIMIT,
    },
    published: {
      max: found.publishedMax,
      mean: found.publishedMean,
      lower: found.publishedLower,
      everyMechanism: EVERY_MECHANISM,
    },
    ...furtherBounds(core, steps, reader),
  };
}

function ofTables(instance: Instance): Pick<DpFtrl, 'learn' | 'learnPlan'> {
  const { core } = instance;
  return {
    learn: (options) => learn(instance, options),
    learnPlan: (options) => learnPlan(core, options),
  };
}

function studyOf(instance: Instance): Study {
  return Object.freeze<Study>({
    simulation: (options) => makeSimulation(instance, options),
    noise: ((options: unknown) => makeSimulationNoise(instance, options)) as Study['noise'],
    twin: (options) => makeTwin(instance, options),
    comparator: (options) => makeComparator(instance, options),
    regretBounds: (certificate, options) => regretBounds(instance.core, certificate, options),
  });
}

function streamsOf(instance: Instance): Streams {
  const of = (kind: StreamDefinition<never>) => (options: unknown) =>
    makeStream(instance, kind, options);
  const kinds = {
    counter: COUNTER,
    totals: TOTALS,
    sums: SUMS,
    moments: MOMENTS,
    histogram: HISTOGRAM,
    increments: INCREMENTS,
    active: ACTIVE,
    learner: LEARNER,
    gradientLearner: GRADIENT_LEARNER,
  } satisfies Record<keyof Streams, unknown>;
  const all = Object.entries(kinds).map(([name, kind]) => [
    name,
    of(kind as StreamDefinition<never>),
  ]);
  return Object.fromEntries(all) as Streams;
}

export function makeApi(core: Core): DpFtrl {
  const instance = makeInstance(core, core.call('limits'));
  const { mechanisms } = instance;

  function certificate(options: unknown): CheckedCertificate {
    const known = [...STRATEGY_WORDS, 'epsilon', 'delta', 'clip', 'neighbours'];
    const reader = readOptions('certificate', options, known);
    return asErrorsOf('certificate', () => {
      const mechanism = readMechanism(reader, mechanisms, defaultOf);
      return rated(core.call('certificate', mechanism));
    });
  }

  return Object.freeze<DpFtrl>({
    version: PACKAGE_VERSION,
    strategies: instance.catalogue,
    calibrate: ((options: unknown) => calibrate(core, options)) as DpFtrl['calibrate'],
    error: ((options: unknown) => errorOf(instance, options)) as DpFtrl['error'],
    compare: (options) => compare(instance, options),
    bounds: (options) => bounds(core, options),
    certificate,
    optimize: (options) => optimize(instance, options),
    ...streamsOf(instance),
    budget: ((options: unknown) => makeBudget(instance, options)) as DpFtrl['budget'],
    consistent: (readings, how) => consistent(core, readings, how),
    ...ofTables(instance),
    predict: (model, features) => predict(model, features),
    noise: ((options: unknown) => makeNoise(instance, options)) as DpFtrl['noise'],
    queries: queriesOf(instance),
    study: studyOf(instance),
    get liveHandles() {
      return core.call('liveHandles');
    },
  });
}
