// SPDX-License-Identifier: Apache-2.0

import { float64s, outOfRange, overwrite, writableLength, wrongType } from './check.js';
import type { Core, CorePrefixSum } from './core.js';
import { makeError } from './errors.js';
import { CoreHandle, type Backstop } from './handle.js';
import { countRecords, MECHANISM_OPTIONS, readOptions } from './options.js';
import { readPrefixMechanism, requireLength } from './options.js';
import type { Certificate, MechanismName, PrefixSum } from './types.js';

const OPTIONS = [...MECHANISM_OPTIONS, 'dimension', 'grid', 'insecureSeed'];

class CorePrefixSumHandle extends CoreHandle implements PrefixSum {
  readonly certificate: Certificate;
  readonly grid: number;

  constructor(
    core: Core,
    backstop: Backstop,
    made: CorePrefixSum,
    readonly dimension: number,
    readonly insecure: boolean,
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
      this.core.call('prefixSumRelease', this.id, values);
    } catch (error) {
      if (error instanceof Error) delete (error as { released?: unknown }).released;
      throw error;
    }
    return values;
  }

  releaseMany(records: ArrayLike<number>, out?: Float64Array): Float64Array {
    const values = float64s('releaseMany', 'records', records);
    countRecords('releaseMany', values, this.dimension);
    if (out !== undefined) {
      const length = writableLength('releaseMany', 'out', out);
      requireLength('releaseMany', 'out', length, values.length);
    }
    try {
      this.core.call('prefixSumRelease', this.id, values);
    } catch (error) {
      throw this.nameRecord(error, values, out);
    }
    if (!out) return values;
    overwrite(out, values);
    return out;
  }

  /** The error says which record was refused; it and `out` get the totals before that record. */
  private nameRecord(error: unknown, values: Float64Array, out: Float64Array | undefined): unknown {
    const failed = error as Error & { released?: number | Float64Array };
    if (typeof failed.released !== 'number') return error;
    const done = failed.released;
    failed.message = `releaseMany: record ${done / this.dimension}: ${failed.message}`;
    failed.released = values.slice(0, done);
    if (out) overwrite(out, failed.released);
    return failed;
  }
}

/**
 * 256 bits from the platform. Fetched on this side: where its generator throws, that is an error
 * like any other, while an exception that goes through the core would end the instance.
 */
function keyFromEntropy(): Uint8Array {
  const key = new Uint8Array(32);
  const what = 'prefixSum: the platform gave no random bytes';
  try {
    globalThis.crypto.getRandomValues(key);
  } catch (cause) {
    throw makeError('entropy_unavailable', what, cause);
  }
  // Probability 2^-256 of a working generator; certain of one that wrote nothing.
  const written = key.some((byte) => byte !== 0);
  if (!written) throw makeError('entropy_unavailable', `${what}, only zeros`);
  return key;
}

export function makePrefixSum(
  core: Core,
  backstop: Backstop,
  mechanisms: readonly MechanismName[],
  options: unknown,
): PrefixSum {
  const reader = readOptions('prefixSum', options, OPTIONS);
  const complete = {
    ...readPrefixMechanism(reader, mechanisms),
    dimension: reader.countOr('dimension', 1),
    grid: reader.numberOr('grid', undefined),
    insecureSeed: reader.has('insecureSeed') ? reader.seed('insecureSeed') : undefined,
  };
  const insecure = complete.insecureSeed !== undefined;
  const key = insecure ? undefined : keyFromEntropy();
  try {
    const made = core.call('prefixSumCreate', Object.assign(complete, { key }));
    return new CorePrefixSumHandle(core, backstop, made, complete.dimension, insecure);
  } finally {
    key?.fill(0);
  }
}
