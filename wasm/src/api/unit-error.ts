// SPDX-License-Identifier: Apache-2.0

// Errors of mechanisms, at unit noise for one workload and for several, and of pure-DP totals.

import { optionsOf, outOfRange, type Reader, readOptions } from '../core/check.js';
import type { Core, CoreAppraisal, CoreFactorization } from '../core/core.js';
import { asErrorsOf, makeError, type RefusalError } from '../core/errors.js';
import type { Instance } from '../core/handle.js';
import { NEIGHBOURS } from '../shared/defaults.js';
import type {
  MechanismName,
  ErrorDetails,
  PureError,
  StackError,
  Totals,
  UnitError,
} from '../types/all.js';
import { SAME } from './compare.js';
import { readFactorization } from './options.js';
import { STRATEGY_WORDS } from './problem.js';
import { rated } from './searches.js';
import { readImportance, readStackFactorization, readWorkloads } from './stack.js';
import type { StreamDefinition } from './streams/kind.js';
import { makeStream } from './streams/make.js';
import { TOTALS } from './streams/numbers.js';
import type { MemoryStream } from './streams/stream.js';

/** True if normalised columns raised the targeted error; compare leaves those variants out. */
function isRaised(core: Core, given: CoreFactorization, unit: CoreAppraisal): boolean {
  const parameters = { ...given.parameters, normalizeColumns: undefined };
  const plain = core.call('unitError', { ...given, parameters });
  const aim = unit.objective === 'max' ? 'maxError' : 'meanError';
  return unit[aim] > plain[aim] * (1 + SAME);
}

/** Names of results in clip norms, which are scaled by the distance between neighbours. */
const SCALED = [
  ...['sensitivity', 'maxError', 'meanError', 'lowerBound', 'lowerBoundEveryDimension'],
  ...['simultaneousError', 'simultaneousUnion', 'simultaneousNorm', 'frobeniusError'],
  ...['frobeniusRms', 'simultaneousSampled'],
];

/** Options that require another option, and that option. */
const BESIDE = { dimension: 'beta', numPaths: 'beta', seed: 'numPaths' };
const TOGETHER = ['beta', ...Object.keys(BESIDE)];
const DETAILS = ['perStep', 'increments', 'matrices'] as const;
const UNIT_ERROR_OPTIONS = [...STRATEGY_WORDS, 'neighbours', ...TOGETHER, ...DETAILS];
const PURE_OPTIONS = ['epsilon', 'delta', 'clip'];
const STACK_OPTIONS = ['workloads', 'importance'];
/** Reads the neighbours, and the options for error bounds on all steps together. */
function readTogether(reader: Reader) {
  const neighbours = reader.oneOfOr('neighbours', NEIGHBOURS);
  const together = {
    beta: reader.numberOr('beta', undefined),
    dimension: reader.countOr('dimension', undefined),
    numPaths: reader.countOr('numPaths', undefined),
    seed: reader.seedOr('seed', undefined),
  };
  for (const [name, parameter] of Object.entries(BESIDE)) {
    if (!reader.has(name) || reader.has(parameter)) continue;
    const constraint = `must be given where {${name}} is`;
    throw makeError('wrong_type', 'error', { parameter, constraint });
  }
  return { neighbours, distance: neighbours === 'replace-one' ? 2 : 1, together };
}

/** Scales the numbers in clip norms by the distance between neighbours. */
function scaledBy<T extends object>(distance: number, unit: T): T {
  const scaled = Object.entries(unit).map(([name, value]) => [
    name,
    typeof value === 'number' && SCALED.includes(name) ? value * distance : value,
  ]);
  return Object.fromEntries(scaled) as T;
}

/** Details that the options request. */
function detailsOf(
  core: Core,
  reader: Reader,
  given: CoreFactorization,
  distance: number,
): ErrorDetails {
  const wants = (name: keyof ErrorDetails): boolean => reader.flagOr(name, false);
  const details: ErrorDetails = {};
  if (wants('perStep')) {
    details.perStep = core.call('errorPerStep', given).map((error) => distance * error);
  }
  if (wants('increments')) {
    details.increments = core.call('gradientVariances', given).map(Math.sqrt);
  }
  if (wants('matrices')) {
    const { noiseCovariance, ...matrices } = core.call('matrices', given);
    const scaled = noiseCovariance.map((entry) => distance ** 2 * entry);
    details.matrices = { ...matrices, noiseCovariance: scaled };
  }
  return details;
}

function unitError(core: Core, reader: Reader, given: CoreFactorization): UnitError {
  const { neighbours, distance, together: asked } = readTogether(reader);
  const unit = core.call('appraisal', { ...given, ...asked });
  return rated({
    mechanism: given.strategy,
    numSteps: given.steps,
    neighbours,
    ...scaledBy(distance, unit),
    ...(given.parameters.normalizeColumns && {
      raisedByNormalizing: isRaised(core, given, unit),
    }),
    ...detailsOf(core, reader, given, distance),
  });
}

/** Refuses options that only apply to errors of one workload with Gaussian noise. */
function requirePlain(reader: Reader, instead: string): void {
  const given = ['numPaths', 'seed', ...DETAILS].find((name) => reader.has(name));
  if (given === undefined) return;
  throw outOfRange(reader.where, given, `left out with {${instead}}`, reader.raw(given));
}

function stackError({ core, mechanisms }: Instance, reader: Reader): StackError {
  const given = readStackFactorization(reader, mechanisms);
  const workloads = readWorkloads(reader, given.steps);
  const importance = readImportance(reader, workloads.length);
  const { neighbours, distance, together: asked } = readTogether(reader);
  const { beta, dimension } = asked;
  const options = { ...given, workloads, importance, neighbours, beta, dimension };
  const found = core.call('stackErrors', options);
  return rated({
    mechanism: given.strategy,
    numSteps: given.steps,
    neighbours,
    ...scaledBy(distance, found),
    workloads: found.workloads.map((own) => scaledBy(distance, own)),
  });
}

/** Errors of pure-DP totals. Nothing is released, so a seed replaces the key. */
function readPureError(instance: Instance, reader: Reader): PureError {
  requirePlain(reader, 'delta');
  const { beta, dimension = 1 } = readTogether(reader).together;
  const options = optionsOf(reader, [...STRATEGY_WORDS, ...PURE_OPTIONS, 'neighbours']);
  const given = { ...options, dimension, insecureSeed: 0 };
  // Errors name `error` as the call.
  const kind: StreamDefinition<Totals> = { ...TOTALS, name: 'error', core: 'totals' };
  const totals = makeStream(instance, kind, given) as MemoryStream<never, Totals>;
  try {
    const { certificate } = totals;
    const { mechanism, numSteps, workload, participation, effectiveParameters } = certificate;
    const { maxParticipations, separation, neighbours, epsilon, clipNorm } = certificate;
    const { sensitivity, sensitivityExactness, sensitivityMethod, noiseStddev } = certificate;
    return {
      mechanism: mechanism as MechanismName, // one of the catalogue
      ...{ numSteps, workload, participation, maxParticipations, separation },
      ...{ neighbours, epsilon, clipNorm },
      ...{ sensitivity, sensitivityExactness, sensitivityMethod },
      maxError: (certificate.maxError / sensitivity) * noiseStddev,
      meanError: (certificate.meanError / sensitivity) * noiseStddev,
      effectiveParameters,
      ...(beta !== undefined && {
        beta,
        dimension,
        simultaneousError: together(totals, beta),
        simultaneousMethod: 'union',
      }),
    };
  } finally {
    totals.dispose();
  }
}

/** Simultaneous half width of all releases. Its probability is the beta of the options. */
function together(totals: MemoryStream<never, Totals>, beta: number): number {
  try {
    return totals.halfWidth({ probability: beta });
  } catch (error) {
    const { parameter } = error as RefusalError;
    if (parameter !== 'probability') throw error;
    throw outOfRange('error', 'beta', 'between 1e-200 and 1', beta);
  }
}

function readStackError(instance: Instance, reader: Reader): StackError {
  requirePlain(reader, 'workloads');
  return stackError(instance, reader);
}

function readUnitError({ core, mechanisms }: Instance, reader: Reader): UnitError {
  const stray = PURE_OPTIONS.find((name) => reader.has(name));
  if (stray !== undefined) {
    throw outOfRange(reader.where, stray, 'left out, or {delta} 0', reader.raw(stray));
  }
  return unitError(core, reader, readFactorization(reader, mechanisms));
}

/** Error of a strategy for one workload or for several, or of pure-DP totals. */
export function errorOf(instance: Instance, options: unknown): UnitError | StackError | PureError {
  const where = 'error';
  const { workloads, delta } = (options ?? {}) as { workloads?: unknown; delta?: unknown };
  const isStack = workloads !== undefined;
  const own = isStack ? STACK_OPTIONS : [...PURE_OPTIONS, 'workloads'];
  const reader = readOptions(where, options, [...UNIT_ERROR_OPTIONS, ...own]);
  const read = isStack ? readStackError : delta === 0 ? readPureError : readUnitError;
  return asErrorsOf(where, () => read(instance, reader));
}
