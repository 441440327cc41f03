// SPDX-License-Identifier: Apache-2.0

// Converts optimised mechanisms between the core's numbers and plain data for JSON. The core checks
// lengths and ranges of the numbers.

import { float64s, optionsObject, outOfRange, Reader, wrongType } from '../core/check.js';
import { requireFinite, requireFormat } from '../core/check.js';
import type { CorePlan, CorePlannerResult } from '../core/core.js';
import { makeError, within, type Where } from '../core/errors.js';
import { camelCase } from '../core/names.js';
import { OBJECTIVES } from '../shared/defaults.js';
import type { MechanismName, SavedStrategy } from '../types/all.js';

const FORMAT = { format: 'dp-ftrl strategy', version: 1 } as const;

const STATUSES = ['converged', 'stopped', 'not converged', 'infeasible'] as const;
const FIELDS: readonly (keyof SavedStrategy)[] = [
  'format',
  'version',
  'mechanism',
  'numSteps',
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

/** The problem that was optimised for: fields that are copied into the saved object. */
export type Asked = Pick<
  SavedStrategy,
  'mechanism' | 'numSteps' | 'workload' | 'participation' | 'objective' | 'queryWeights'
>;

/**
 * Returns the least dimension of records for a bound that rests on all participations:
 * docs/math/optimal.md, section 5.
 */
function leastDimension({ participation, numSteps }: Asked): number {
  if (participation === 'single') return 1;
  const most =
    'epochs' in participation
      ? participation.epochs
      : Math.min(participation.participations, Math.ceil(numSteps / participation.minSeparation));
  let dimension = 1;
  while (((dimension + 1) * (dimension + 2)) / 2 <= most) ++dimension;
  return dimension;
}

/** The same as `Array.from`, but allocated at once: half the memory for millions of numbers. */
function listOf(values: Float64Array): number[] {
  const list = new Array<number>(values.length);
  for (let i = 0; i < values.length; ++i) list[i] = values[i]!;
  return list;
}

/** @param asList  makes the lists; default: plain arrays for JSON. */
export function saveStrategy(
  asked: Asked,
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
    // Files of the usual kind, where both dimensions are 1, keep the fields that they always had.
    // In others a missing dimension means that the file predates it, so it is written even if it is
    // 1.
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

/** A saved strategy of the right shape, and its numbers for the core. */
export interface ReadStrategy {
  mechanism: MechanismName;
  numSteps: number;
  workload: unknown;
  participation: unknown;
  objective: 'max' | 'mean';
  plan: CorePlan;
}

/** Reads the fields of an object that claims to be a saved strategy of this version. */
function readFields(where: Where, value: object): Reader {
  requireFormat(where, value, FORMAT);
  return new Reader(where, optionsObject(where, value, FIELDS));
}

function readNumbers(where: Where, value: unknown): CorePlan['numbers'] {
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
  outer: Where,
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
    mechanism: reader.oneOf('mechanism', mechanisms),
    numSteps: reader.count('numSteps'),
    workload: reader.raw('workload'),
    participation: reader.raw('participation'),
    objective,
    plan: { objective, numbers: readNumbers(where, reader.raw('parameters')) },
  };
}
