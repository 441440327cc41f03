// SPDX-License-Identifier: Apache-2.0

// Options of strategies and mechanisms, checked and completed with the documented defaults.

import { float64s, outOfRange, Reader, readNested, wrongType } from '../core/check.js';
import { type Fields, optionsOf } from '../core/check.js';
import type { CoreFactorization, CoreMechanism, CoreParameters, CoreTable } from '../core/core.js';
import type { CoreProblem, CoreWorkload } from '../core/core.js';
import { makeError, type ErrorPlace, within } from '../core/errors.js';
import { counted } from '../shared/counted.js';
import { columnsOf, encoderFault, type MatrixFault } from '../shared/encoder.js';
import { DEFAULT_CLIP, DEFAULT_MECHANISM, defaultMechanism } from '../shared/defaults.js';
import { NEIGHBOURS, OBJECTIVES, PURE_STEPS_MECHANISM, pureMechanism } from '../shared/defaults.js';
import { PARAMETER_NAMES, PARAMETERS } from '../shared/parameters.js';
import type { ParameterName } from '../shared/parameters.js';
import type { MechanismName } from '../types/all.js';
import { decoderFault } from './decoder.js';
import { readProblem, readStatedProblem, type StatedProblem } from './problem.js';
import { readStrategy, type ReadStrategy } from './strategy.js';

function wrongLength(where: ErrorPlace, name: string, wanted: string, got: number): Error {
  const constraint = `must have ${wanted}`;
  return makeError('wrong_length', where, { parameter: name, constraint, value: String(got) });
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

/** Reads every parameter by name; undefined for those not given. */
export function readParameters(reader: Reader): CoreParameters {
  const parameters = PARAMETER_NAMES.map((name) => [name, readParameter(reader, name)]);
  return { ...Object.fromEntries(parameters), plan: undefined } as unknown as CoreParameters;
}

/** Default strategy of a problem. */
export function defaultOf({ steps, workload }: CoreProblem): MechanismName {
  const { kind, momentum } = workload;
  const decays = kind === 'momentum' && momentum === 0;
  return defaultMechanism(steps, kind === 'prefix' || decays);
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
 * Reads a saved strategy for a problem with the same steps and, if stated, the same workload. What
 * the problem does not state of workload and participation is that of the strategy.
 */
export function readSaved(
  where: ErrorPlace,
  { name, steps, participation, workload: made, plan }: ReadStrategy,
  problem: StatedProblem,
): CoreFactorization {
  if (problem.steps !== steps) {
    throw outOfRange(where, 'steps', `${steps}, that of the saved strategy`, problem.steps);
  }
  const whose = within(where, 'saved strategy');
  const own = readProblem(new Reader(whose, { steps, participation, workload: made }));
  const { workload } = own;
  if (problem.states.workload && !sameWorkload(problem.workload, workload)) {
    const constraint = `must be that of the saved strategy, ${workload.kind}`;
    const { kind } = problem.workload;
    const value = kind === workload.kind ? 'another one' : kind;
    throw makeError('invalid_argument', where, { parameter: 'workload', constraint, value });
  }
  return {
    ...own,
    ...(problem.states.participation && { participation: problem.participation }),
    strategy: name,
    parameters: { ...readParameters(new Reader(where, {})), plan },
  };
}

/** The core's name for an encoder given by all of its columns. */
const OF_ENCODER: MechanismName = 'banded';

function readRows(where: ErrorPlace, name: string, value: unknown): Float64Array[] {
  if (!Array.isArray(value)) throw wrongType(where, name, 'an array of rows', value);
  return value.map((row: unknown, i) => float64s(where, `${name}[${i}]`, row));
}

function requireMatrix(where: ErrorPlace, name: string, fault: MatrixFault | undefined): void {
  if (!fault) return;
  const { row, column, ...refusal } = fault;
  const place = [row, column].map((it) => (it === undefined ? '' : `[${it}]`)).join('');
  const code = column === undefined ? 'wrong_length' : 'invalid_argument';
  throw makeError(code, where, { parameter: `${name}${place}`, ...refusal });
}

/**
 * Makes the factorization with an encoder of the caller, for any workload.
 *
 * @param name  path of the object that holds the encoder, for errors.
 */
export function ofEncoder(
  where: ErrorPlace,
  given: object,
  {
    problem,
    known,
    name = 'strategy',
  }: { problem: CoreProblem; known: readonly MechanismName[]; name?: string },
): CoreFactorization {
  const own = readNested(where, name, given, 'an object', ['encoder', 'decoder']);
  if (!known.includes(OF_ENCODER)) {
    throw outOfRange(where, name, `one of ${known.join(', ')}`, 'an encoder');
  }
  const [nameOfEncoder, nameOfDecoder] = [`${name}.encoder`, `${name}.decoder`] as const;
  const encoder = readRows(where, nameOfEncoder, own.raw('encoder'));
  requireMatrix(where, nameOfEncoder, encoderFault(encoder));
  const { steps, workload } = problem;
  if (encoder.length !== steps) {
    const wanted = `${counted(steps, 'row')}, one per step`;
    throw wrongLength(where, nameOfEncoder, wanted, encoder.length);
  }
  if (own.has('decoder')) {
    const decoder = readRows(where, nameOfDecoder, own.raw('decoder'));
    requireMatrix(where, nameOfDecoder, decoderFault(decoder, { encoder, workload }));
  }
  const values = columnsOf(encoder);
  const numbers = [{ name: 'columns', values }];
  const plan = { objective: OBJECTIVES[0], numbers, encoder: nameOfEncoder };
  const parameters = { ...readParameters(new Reader(where, {})), plan };
  return { ...problem, strategy: OF_ENCODER, parameters };
}

/** A strategy as given: saved, an encoder, or a name, which is undefined if none is given. */
export type GivenStrategy =
  | { saved: object }
  | { own: object }
  | { name: unknown; parameters: Fields };

export function givenStrategy(reader: Reader): GivenStrategy {
  const { where } = reader;
  const given = reader.raw('strategy');
  if (typeof given !== 'object' || given === null) return { name: given, parameters: {} };
  if ('format' in given || 'version' in given) return { saved: given };
  if ('encoder' in given) return { own: given };
  const wanted = 'a name, an object with a name and parameters, a saved strategy or an encoder';
  const own = readNested(where, 'strategy', given, wanted, ['name', ...PARAMETER_NAMES]);
  if (!own.has('name')) throw wrongType(where, 'strategy.name', 'a string', own.raw('name'));
  return { name: own.raw('name'), parameters: optionsOf(own, PARAMETER_NAMES) };
}

/** Reads a strategy for a problem: by name, saved or as an encoder. */
export function readFactorization(
  reader: Reader,
  known: readonly MechanismName[],
  fallback?: (problem: CoreProblem) => MechanismName,
): CoreFactorization {
  const { where } = reader;
  const given = givenStrategy(reader);
  const stated = readStatedProblem(reader);
  if ('saved' in given) return readSaved(where, readStrategy(where, given.saved, known), stated);
  const { states: _, ...problem } = stated;
  if ('own' in given) {
    const { decoder } = given.own as { decoder?: unknown };
    if (decoder !== undefined && reader.has('workloads')) {
      const wanted = 'left out with {workloads}, each of which has its own';
      throw outOfRange(where, 'strategy.decoder', wanted, decoder);
    }
    return ofEncoder(where, given.own, { problem, known });
  }
  const named = new Reader(where, { strategy: given.name });
  const isLeftOut = given.name === undefined && fallback;
  if (!isLeftOut && typeof given.name !== 'string')
    throw wrongType(where, 'strategy', 'a name, a saved strategy or an encoder', given.name);
  return {
    strategy: isLeftOut ? fallback(problem) : named.oneOf('strategy', known),
    ...problem,
    parameters: readParameters(new Reader(where, given.parameters)),
  };
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
    clip: reader.numberOr(reader.has('clippedTo') ? 'clippedTo' : 'clip', DEFAULT_CLIP),
    neighbours: reader.oneOfOr('neighbours', NEIGHBOURS),
  };
}

/** Refuses workloads of any kind that is not listed. */
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

/** Like readMechanism, for prefix sums only. */
export function readPrefixMechanism(
  reader: Reader,
  mechanisms: readonly MechanismName[],
  fallback?: (problem: CoreProblem) => MechanismName,
): CoreMechanism {
  const mechanism = readMechanism(reader, mechanisms, fallback);
  const constraint = "must be 'prefix', the only one that is released here";
  requireWorkload(reader, mechanism, ['prefix'], constraint);
  return mechanism;
}

/** Largest horizon at which the noise of individual steps is known for every mechanism. */
const MAX_INCREMENTS_STEPS = 4096;

/** Like readPrefixMechanism, for increments, whose noise must be known. */
export function readIncrementsMechanism(
  reader: Reader,
  mechanisms: readonly MechanismName[],
): CoreMechanism {
  const known = ({ steps }: CoreProblem): MechanismName =>
    steps <= MAX_INCREMENTS_STEPS ? DEFAULT_MECHANISM : 'blt';
  return readPrefixMechanism(reader, mechanisms, known);
}

/** Like readMechanism, for a mechanism whose sums are released. */
export function readSumsMechanism(
  reader: Reader,
  mechanisms: readonly MechanismName[],
  pure: boolean,
): CoreMechanism {
  const quickest = (problem: CoreProblem): MechanismName => {
    const name = defaultOf(problem);
    // The counter module lacks the defaults of some workloads, which it refuses later.
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
export function readTable(where: ErrorPlace, value: unknown): CoreTable {
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

/** Counts the records in an array, whose length must be a multiple of the length of a record. */
export function countRecords(
  where: ErrorPlace,
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

export function requireLength(where: ErrorPlace, name: string, got: number, wanted: number): void {
  if (got !== wanted) throw wrongLength(where, name, counted(wanted, 'entry', 'entries'), got);
}
