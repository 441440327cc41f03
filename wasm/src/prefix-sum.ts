// SPDX-License-Identifier: Apache-2.0

import { float64s, outOfRange, wrongType } from './check.js';
import type { Core, CorePrefixSum } from './core.js';
import { makeError } from './errors.js';
import { CoreHandle, type Backstop } from './handle.js';
import { countRecords, readMechanism, readOptions, requireLength } from './options.js';
import { MECHANISM_OPTIONS } from './options.js';
import type { Certificate, PrefixSum } from './types.js';

const OPTIONS = [...MECHANISM_OPTIONS, 'dimension', 'grid', 'insecureSeed'];

class CorePrefixSumHandle extends CoreHandle implements PrefixSum {
  readonly certificate: Certificate;
  readonly grid: number;

  constructor(
    core: Core,
    backstop: Backstop,
    made: CorePrefixSum,
    readonly dimension: number,
  ) {
    super(core, backstop, made.id, 'prefix sum');
    this.certificate = Object.freeze(made.certificate);
    this.grid = made.grid;
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.core.call('prefixSumStep', this.id);
  }

  stddev(step: number): number {
    if (typeof step !== 'number') throw wrongType('stddev', 'step', 'a number', step);
    if (!Number.isInteger(step) || step < 0 || step >= this.numSteps) {
      throw outOfRange('stddev', 'step', `an integer from 0 to ${this.numSteps - 1}`, step);
    }
    return this.core.call('prefixSumStddev', this.id, step);
  }

  release(record: ArrayLike<number>): Float64Array {
    const values = float64s('release', 'record', record);
    requireLength('release', 'record', values.length, this.dimension);
    try {
      return this.core.call('prefixSumRelease', this.id, values);
    } catch (error) {
      if (error instanceof Error) delete (error as { released?: unknown }).released;
      throw error;
    }
  }

  releaseMany(records: ArrayLike<number>, out?: Float64Array): Float64Array {
    const values = float64s('releaseMany', 'records', records);
    countRecords('releaseMany', values, this.dimension);
    if (out !== undefined) {
      if (!(out instanceof Float64Array)) {
        throw wrongType('releaseMany', 'out', 'a Float64Array', out);
      }
      requireLength('releaseMany', 'out', out.length, values.length);
    }
    let totals: Float64Array;
    try {
      totals = this.core.call('prefixSumRelease', this.id, values);
    } catch (error) {
      throw this.nameRecord(error, out);
    }
    if (!out) return totals;
    out.set(totals);
    return out;
  }

  /** The error says which record was refused; `out` gets the totals before it. */
  private nameRecord(error: unknown, out: Float64Array | undefined): unknown {
    const { released } = error as { released?: Float64Array };
    if (!released) return error;
    const failed = error as Error;
    failed.message = `releaseMany: record ${released.length / this.dimension}: ${failed.message}`;
    out?.set(released);
    return failed;
  }
}

/** Asked here, because the core would stop for good where the platform has no generator. */
function requireEntropy(): void {
  try {
    globalThis.crypto.getRandomValues(new Uint8Array(1));
  } catch (cause) {
    throw makeError('entropy_unavailable', 'prefixSum: the platform gave no random bytes', cause);
  }
}

export function makePrefixSum(
  core: Core,
  backstop: Backstop,
  mechanisms: readonly string[],
  options: unknown,
): PrefixSum {
  const reader = readOptions('prefixSum', options, OPTIONS);
  const complete = {
    ...readMechanism(reader, mechanisms),
    dimension: reader.countOr('dimension', 1),
    grid: reader.numberOr('grid', undefined),
    insecureSeed: reader.has('insecureSeed') ? reader.seed('insecureSeed') : undefined,
  };
  if (complete.insecureSeed === undefined) requireEntropy();
  const made = core.call('prefixSumCreate', complete);
  return new CorePrefixSumHandle(core, backstop, made, complete.dimension);
}
