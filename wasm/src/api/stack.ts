// SPDX-License-Identifier: Apache-2.0

// Options of several workloads that share their noise.

import { float64s, outOfRange, type Reader, wrongType } from '../core/check.js';
import type { CoreFactorization, CoreProblem, CoreWorkload } from '../core/core.js';
import { within } from '../core/errors.js';
import { defaultMechanism } from '../shared/defaults.js';
import type { MechanismName } from '../types/all.js';
import { readFactorization, requireLength } from './options.js';
import { readWorkload } from './problem.js';

/** Default mechanism of several workloads: the one for windows. */
export const defaultOfStack = ({ steps }: CoreProblem): MechanismName =>
  defaultMechanism(steps, false);

export function readWorkloads(reader: Reader, steps: number): CoreWorkload[] {
  const { where } = reader;
  const given = reader.raw('workloads');
  if (!Array.isArray(given)) throw wrongType(where, 'workloads', 'an array of workloads', given);
  return given.map((workload, i) => {
    const name = `workloads[${i}]`;
    if (workload === undefined) throw wrongType(where, name, "'prefix' or an object", workload);
    return readWorkload(within(where, name), workload, steps);
  });
}

export function readImportance(reader: Reader, numWorkloads: number): Float64Array | undefined {
  const { where } = reader;
  if (!reader.has('importance')) return undefined;
  const given = float64s(where, 'importance', reader.raw('importance'));
  requireLength(where, 'importance', given.length, numWorkloads);
  given.forEach((weight, i) => {
    if (weight > 0 && weight < Infinity) return;
    throw outOfRange(where, `importance[${i}]`, 'positive and finite', weight);
  });
  return given;
}

/** Reads the mechanism of several workloads. */
export function readStackFactorization(
  reader: Reader,
  mechanisms: readonly MechanismName[],
): CoreFactorization {
  if (!reader.has('workload')) return readFactorization(reader, mechanisms, defaultOfStack);
  throw outOfRange(reader.where, 'workload', 'left out with {workloads}', reader.raw('workload'));
}
