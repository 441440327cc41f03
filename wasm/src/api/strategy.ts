// SPDX-License-Identifier: Apache-2.0

// Converts optimised mechanisms between the core's numbers and plain data for JSON. The core checks
// lengths and ranges of the numbers.

import { float64s, optionsObject, outOfRange, Reader, wrongType } from '../core/check.js';
import { requireFinite, requireFormat } from '../core/check.js';
import type { CorePlan, CorePlannerResult } from '../core/core.js';
import { makeError, type ErrorPlace, within } from '../core/errors.js';
import { camelCase } from '../core/names.js';
import { OBJECTIVES } from '../shared/defaults.js';
import type { MechanismName, SavedStrategy } from '../types/all.js';

const FORMAT = { format: 'dp-ftrl strategy', version: 2 } as const;

const STATUSES = ['converged', 'stopped', 'not converged', 'infeasible'] as const;
const FIELDS: readonly (keyof SavedStrategy)[] = [
  'format',
  'version',
  'name',
  'steps',
  'workload',
  'participation',
  'objective',
  'queryWeights',
  'error',
  'lowerBound',
  'boundMethod',
  'lowerBoundMinDimension',
  'lowerBoundEveryDimension',
  'ratio',
  'status',
  'iterations',
  'parameters',
];

/** Converts to the core's spelling: `columnWeights` -> `column_weights`. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Fields of the optimised problem, copied into the saved object. */
export type SearchProblem = Pick<
  SavedStrategy,
  'name' | 'steps' | 'workload' | 'participation' | 'objective' | 'queryWeights'
>;

/**
 * Smallest dimension of records for which dual variables for all participations prove a bound:
 * docs/math/optimal.md, section 5.
 */
function leastDimension({ participation, steps }: SearchProblem): number {
  if (participation === 'once') return 1;
  const most =
    'epochs' in participation
      ? participation.epochs
      : Math.min(participation.times, Math.ceil(steps / participation.apart));
  let dimension = 1;
  while (((dimension + 1) * (dimension + 2)) / 2 <= most) ++dimension;
  return dimension;
}

/** Does what `Array.from` does, but allocates once: half the memory for millions of numbers. */
function listOf(values: Float64Array): number[] {
  const list = new Array<number>(values.length);
  for (let i = 0; i < values.length; ++i) list[i] = values[i]!;
  return list;
}

/** @param asList  makes the lists; default: plain arrays for JSON. */
export function saveStrategy(
  asked: SearchProblem,
  result: CorePlannerResult,
  asList: (values: Float64Array) => ArrayLike<number> = listOf,
): SavedStrategy {
  const { error, lowerBound, boundMethod, status, iterations, numbers } = result;
  const { lowerBoundMinDimension, lowerBoundEveryDimension } = result;
  return {
    ...FORMAT,
    ...asked,
    error,
    lowerBound,
    boundMethod,
    // Left out if the bound holds for every dimension, except where dual variables for all
    // participations would prove it for larger dimensions only: there 1 is stated.
    ...(lowerBoundMinDimension !== null &&
      Math.max(lowerBoundMinDimension, leastDimension(asked)) > 1 && {
        lowerBoundMinDimension,
        lowerBoundEveryDimension: lowerBoundEveryDimension ?? 0,
      }),
    ratio: lowerBound === null ? null : error / lowerBound,
    status,
    iterations,
    parameters: Object.fromEntries(
      numbers.map(({ name, values }) => [camelCase(name), asList(values)]),
    ) as SavedStrategy['parameters'],
  };
}

/** A well-formed saved strategy, and its numbers for the core. */
export interface ReadStrategy {
  name: MechanismName;
  steps: number;
  workload: unknown;
  participation: unknown;
  objective: 'max' | 'mean';
  plan: CorePlan;
}

/** Reads the fields of an object that claims to be a saved strategy of this version. */
function readFields(where: ErrorPlace, value: object): Reader {
  requireFormat(where, value, FORMAT);
  return new Reader(where, optionsObject(where, value, FIELDS));
}

function readNumbers(where: ErrorPlace, value: unknown): CorePlan['numbers'] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(where, 'parameters', 'an object', value);
  }
  return Object.entries(value).map(([name, list]) => {
    const values = float64s(where, `parameters.${name}`, list);
    requireFinite(where, `parameters.${name}`, values);
    return { name: snakeCase(name), values };
  });
}

export function readStrategy(
  outer: ErrorPlace,
  value: object,
  mechanisms: readonly MechanismName[],
): ReadStrategy {
  const where = within(outer, 'saved strategy');
  const reader = readFields(where, value);
  const objective = reader.oneOf('objective', OBJECTIVES);
  reader.oneOf('status', STATUSES);
  for (const name of ['error', 'iterations'] as const) reader.number(name);
  for (const name of ['lowerBound', 'ratio'] as const) {
    if (reader.raw(name) !== null) reader.number(name);
  }
  const dimension = reader.countOr('lowerBoundMinDimension', 1);
  if (dimension < 1) throw outOfRange(where, 'lowerBoundMinDimension', 'at least 1', dimension);
  if (reader.has('lowerBoundEveryDimension')) reader.number('lowerBoundEveryDimension');
  if (reader.has('queryWeights')) float64s(where, 'queryWeights', reader.raw('queryWeights'));
  if (!reader.has('workload')) {
    const refusal = { parameter: 'workload', constraint: 'must be given', value: 'nothing' };
    throw makeError('wrong_type', where, refusal);
  }
  return {
    name: reader.oneOf('name', mechanisms),
    steps: reader.count('steps'),
    workload: reader.raw('workload'),
    participation: reader.raw('participation'),
    objective,
    plan: {
      objective,
      numbers: readNumbers(where, reader.raw('parameters')),
      encoder: undefined,
    },
  };
}
