// SPDX-License-Identifier: Apache-2.0

// Options of mechanisms, checked and completed with the documented defaults.

import { float64s, optionsObject, outOfRange, Reader, wrongType } from '../core/check.js';
import type { CoreFactorization, CoreMechanism, CoreParameters, CoreTable } from '../core/core.js';
import type { CoreParticipation, CoreProblem, CoreWorkload } from '../core/core.js';
import { makeError, within, type Where } from '../core/errors.js';
import { counted } from '../shared/counted.js';
import { DEFAULT_CLIP_NORM, DEFAULT_MECHANISM, defaultMechanism } from '../shared/defaults.js';
import { NEIGHBOURS, OBJECTIVES, PURE_STEPS_MECHANISM, pureMechanism } from '../shared/defaults.js';
import { PARAMETER_NAMES, PARAMETERS } from '../shared/parameters.js';
import type { ParameterName } from '../shared/parameters.js';
import type { StrategyInfo, MechanismName } from '../types/all.js';
import { readStrategy, type ReadStrategy } from './strategy.js';

const PROBLEM_OPTIONS = ['numSteps', 'workload', 'participation'];
const ERROR_OPTIONS = ['mechanism', ...PROBLEM_OPTIONS, ...PARAMETER_NAMES];
export const MECHANISM_OPTIONS = [...ERROR_OPTIONS, 'epsilon', 'delta', 'clipNorm', 'neighbours'];
/** Returns a reader of `value`, whose keys must be among `known`. */
export function readOptions(where: Where, value: unknown, known: readonly string[]): Reader {
  return new Reader(where, optionsObject(where, value, known));
}

function wrongLength(where: Where, name: string, wanted: string, got: number): Error {
  const constraint = `must have ${wanted}`;
  return makeError('wrong_length', where, { parameter: name, constraint, value: String(got) });
}

/** Returns a reader of an option that is an object, whose keys must be among `known`. */
export function readNested(
  where: Where,
  name: string,
  value: unknown,
  wanted: string,
  known: readonly string[],
): Reader {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(where, name, wanted, value);
  }
  return new Reader(where, optionsObject(within(where, name), value, known));
}

/** The keys that each kind of workload takes, the one that names it first. */
const WORKLOADS = {
  matrix: ['matrix'],
  rates: ['rates', 'momentum'],
  window: ['window'],
  momentum: ['momentum', 'decay'],
  decay: ['decay'],
} as const;

export function readWorkload(where: Where, given: unknown, numSteps: number): CoreWorkload {
  const workload: CoreWorkload = {
    kind: 'prefix',
    momentum: 0,
    decay: 1,
    width: 0,
    values: undefined,
  };
  if (given === undefined || given === 'prefix') return workload;
  const wanted = "'prefix' or an object";
  if (typeof given === 'string') throw outOfRange(where, 'workload', wanted, given);
  const keys = [...new Set(Object.values(WORKLOADS).flat())];
  const reader = readNested(where, 'workload', given, wanted, keys);
  const kind = (Object.keys(WORKLOADS) as (keyof typeof WORKLOADS)[]).find((it) => reader.has(it));
  if (kind === undefined) {
    const kinds = Object.keys(WORKLOADS).join(', ');
    const constraint = `must have one of ${kinds}`;
    throw makeError('wrong_type', where, { parameter: 'workload', constraint, value: 'none' });
  }
  const allowed: readonly string[] = WORKLOADS[kind];
  const stray = keys.find((key) => reader.has(key) && !allowed.includes(key));
  if (stray !== undefined) {
    const constraint = `must not have both {${kind}} and {${stray}}`;
    throw makeError('wrong_type', where, { parameter: 'workload', constraint });
  }
  const width = kind === 'window' ? reader.count('window') : 0;
  // Nothing ever leaves a window as long as the horizon.
  if (width >= numSteps) return workload;
  workload.kind = kind === 'decay' ? 'momentum' : kind;
  workload.momentum = reader.numberOr('momentum', 0);
  workload.decay = reader.numberOr('decay', 1);
  workload.width = width;
  if (kind === 'rates' || kind === 'matrix') {
    workload.values = float64s(where, kind, reader.raw(kind));
    const length = kind === 'rates' ? numSteps : numSteps * numSteps;
    const expression = kind === 'rates' ? '{numSteps}' : '{numSteps} * {numSteps}';
    if (workload.values.length !== length) {
      throw wrongLength(
        where,
        kind,
        `${expression} = ${counted(length, 'entry', 'entries')}`,
        workload.values.length,
      );
    }
  }
  return workload;
}

function readParticipation(outer: Reader, numSteps: number): CoreParticipation {
  const { where } = outer;
  const given = outer.raw('participation');
  if (given === undefined || given === 'single') return { kind: 'single', times: 1, separation: 1 };
  const wanted = "'single' or an object";
  if (typeof given === 'string') throw outOfRange(where, 'participation', wanted, given);
  const keys = ['epochs', 'participations', 'minSeparation'];
  const reader = readNested(where, 'participation', given, wanted, keys);
  if (!reader.has('epochs')) {
    const times = reader.count('participations');
    return { kind: 'min-separation', times, separation: reader.count('minSeparation') };
  }
  const stray = keys.slice(1).find((key) => reader.has(key));
  if (stray !== undefined) {
    const constraint = `must not have both {epochs} and {${stray}}`;
    throw makeError('wrong_type', where, { parameter: 'participation', constraint });
  }
  const epochs = reader.count('epochs');
  if (epochs < 1 || numSteps % epochs !== 0) {
    throw outOfRange(where, 'epochs', `a divisor of {numSteps} = ${numSteps}`, epochs);
  }
  return { kind: 'fixed-epoch', times: epochs, separation: numSteps / epochs };
}

export function readProblem(reader: Reader): CoreProblem {
  const numSteps = reader.count('numSteps');
  return {
    numSteps,
    workload: readWorkload(reader.where, reader.raw('workload'), numSteps),
    participation: readParticipation(reader, numSteps),
  };
}

function readParameter(reader: Reader, name: ParameterName): unknown {
  if (!reader.has(name)) return undefined;
  switch (PARAMETERS[name]) {
    case 'count':
      return name === 'buffers' && reader.raw(name) === 'exact' ? 0 : reader.count(name);
    case 'number':
      return reader.number(name);
    case 'flag':
      return reader.flag(name);
    case 'objective':
      return reader.oneOfOr(name, OBJECTIVES);
    case 'numbers':
      return float64s(reader.where, name, reader.raw(name));
  }
}

/**
 * Returns the parameters of a mechanism among options whose `lambda` is the learner's: theirs is
 * called `mechanismLambda`.
 */
export function withOwnLambda(
  reader: Reader,
  { mechanism, parameters }: CoreFactorization,
  catalogue: readonly StrategyInfo[],
): CoreParameters {
  const lambda = reader.numberOr('mechanismLambda', undefined);
  const taken = catalogue.find(({ name }) => name === mechanism)?.parameters;
  if (lambda !== undefined && !taken?.includes('lambda')) {
    const constraint = `is not a parameter of ${mechanism}`;
    throw makeError('invalid_argument', reader.where, { parameter: 'mechanismLambda', constraint });
  }
  return { ...parameters, lambda };
}

/** Reads every parameter by name; undefined for those not given. */
export function readParameters(reader: Reader): CoreParameters {
  const parameters = PARAMETER_NAMES.map((name) => [name, readParameter(reader, name)]);
  return { ...Object.fromEntries(parameters), plan: undefined } as unknown as CoreParameters;
}

/** Reads a mechanism given by its name, with its parameters. */
export function readNamed(reader: Reader, mechanism: MechanismName): CoreFactorization {
  return { mechanism, ...readProblem(reader), parameters: readParameters(reader) };
}

/** Returns the mechanism of a problem if none is named. */
export function defaultOf({ numSteps, workload }: CoreProblem): MechanismName {
  const { kind, momentum } = workload;
  const decays = kind === 'momentum' && momentum === 0;
  return defaultMechanism(numSteps, kind === 'prefix' || decays);
}

function sameWorkload(a: CoreWorkload, b: CoreWorkload): boolean {
  return (
    a.kind === b.kind &&
    a.momentum === b.momentum &&
    a.decay === b.decay &&
    a.width === b.width &&
    a.values?.length === b.values?.length &&
    (a.values?.every((value, i) => value === b.values![i]) ?? true)
  );
}

/**
 * Reads a saved mechanism. Horizon and workload are those it was made for, and so is the
 * participation unless another one is given.
 */
export function readSaved(reader: Reader, saved: ReadStrategy): CoreFactorization {
  const { where } = reader;
  const { mechanism, numSteps, plan } = saved;
  const problem = readProblem(reader);
  if (problem.numSteps !== numSteps) {
    const wanted = `${numSteps}, that of the saved strategy`;
    throw outOfRange(where, 'numSteps', wanted, problem.numSteps);
  }
  const whose = within(where, 'saved strategy');
  const workload = readWorkload(whose, saved.workload, numSteps);
  const { participation: own } = saved;
  const participation = readParticipation(new Reader(whose, { participation: own }), numSteps);
  if (reader.has('workload') && !sameWorkload(problem.workload, workload)) {
    const constraint = `must be that of the saved strategy, ${workload.kind}`;
    const { kind } = problem.workload;
    const value = kind === workload.kind ? 'another one' : kind;
    throw makeError('invalid_argument', where, { parameter: 'workload', constraint, value });
  }
  return {
    ...problem,
    ...(!reader.has('participation') && { participation }),
    mechanism,
    workload,
    parameters: { ...readParameters(reader), plan },
  };
}

/** Reads a mechanism for a problem, by name or saved. */
export function readFactorization(
  reader: Reader,
  mechanisms: readonly MechanismName[],
  fallback?: (problem: CoreProblem) => MechanismName,
): CoreFactorization {
  const given = reader.raw('mechanism');
  if (typeof given === 'object' && given !== null) {
    return readSaved(reader, readStrategy(reader.where, given, mechanisms));
  }
  if (given === undefined && fallback) return readNamed(reader, fallback(readProblem(reader)));
  return readNamed(reader, reader.oneOf('mechanism', mechanisms));
}

export function readMechanism(
  reader: Reader,
  mechanisms: readonly MechanismName[],
  fallback: (problem: CoreProblem) => MechanismName = () => DEFAULT_MECHANISM,
  pure = false,
): CoreMechanism {
  return {
    ...readFactorization(reader, mechanisms, fallback),
    epsilon: reader.number('epsilon'),
    delta: pure ? 0 : reader.number('delta'),
    clipNorm: reader.numberOr('clipNorm', DEFAULT_CLIP_NORM),
    neighbours: reader.oneOfOr('neighbours', NEIGHBOURS),
  };
}

/** Refuses workloads that are not of one of these kinds. */
export function requireWorkload(
  { where }: Reader,
  { workload: { kind } }: CoreMechanism,
  kinds: readonly CoreWorkload['kind'][],
  constraint: string,
): void {
  if (kinds.includes(kind)) return;
  const value = kind;
  throw makeError('invalid_argument', where, { parameter: 'workload', constraint, value });
}

/** As readMechanism, for running totals only. */
export function readPrefixMechanism(
  reader: Reader,
  mechanisms: readonly MechanismName[],
): CoreMechanism {
  const mechanism = readMechanism(reader, mechanisms);
  const constraint = "must be 'prefix', the only one that is released here";
  requireWorkload(reader, mechanism, ['prefix'], constraint);
  return mechanism;
}

/** As readMechanism, for a mechanism whose sums are released. */
export function readSumsMechanism(
  reader: Reader,
  mechanisms: readonly MechanismName[],
  pure: boolean,
): CoreMechanism {
  const quickest = (problem: CoreProblem): MechanismName => {
    const name = defaultOf(problem);
    // Small modules have neither that mechanism nor its workload, and refuse the workload.
    return mechanisms.includes(name) ? name : DEFAULT_MECHANISM;
  };
  if (!pure) return readMechanism(reader, mechanisms, quickest);
  const { kind, width } = readProblem(reader).workload;
  const name = pureMechanism(kind === 'window' && width === 1);
  const mechanism = readMechanism(reader, [name], () => name, true);
  if (name !== PURE_STEPS_MECHANISM) {
    requireWorkload(
      reader,
      mechanism,
      ['prefix'],
      "must be 'prefix' or a window of 1 with {delta} = 0",
    );
  }
  return mechanism;
}

/** Reads a table whose lengths agree; the core checks its numbers. */
export function readTable(where: Where, value: unknown): CoreTable {
  const known = ['numRows', 'numColumns', 'values', 'labels'];
  const reader = readNested(where, 'table', value, 'an object', known);
  const numRows = reader.count('numRows');
  const numColumns = reader.count('numColumns');
  if (numRows < 1) throw outOfRange(where, 'numRows', 'at least 1', numRows);
  if (numColumns < 1) throw outOfRange(where, 'numColumns', 'at least 1', numColumns);
  const values = float64s(where, 'values', reader.raw('values'));
  if (values.length !== numRows * numColumns) {
    const wanted = `{numRows} * {numColumns} = ${counted(numRows * numColumns, 'entry', 'entries')}`;
    throw wrongLength(where, 'values', wanted, values.length);
  }
  if (!reader.has('labels')) return { numRows, numColumns, values, labels: undefined };
  const labels = float64s(where, 'labels', reader.raw('labels'));
  if (labels.length !== numRows) {
    throw wrongLength(
      where,
      'labels',
      `{numRows} = ${counted(numRows, 'entry', 'entries')}`,
      labels.length,
    );
  }
  return { numRows, numColumns, values, labels };
}

/** Returns the number of records in an array, which must hold whole ones. */
export function countRecords(
  where: Where,
  records: Float64Array,
  dimension: number,
  name = 'records',
): number {
  if (records.length % dimension !== 0) {
    const wanted = `a multiple of {dimension} = ${counted(dimension, 'entry', 'entries')}`;
    throw wrongLength(where, name, wanted, records.length);
  }
  return records.length / dimension;
}

export function requireLength(where: Where, name: string, got: number, wanted: number): void {
  if (got !== wanted) throw wrongLength(where, name, counted(wanted, 'entry', 'entries'), got);
}
