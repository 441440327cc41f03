// SPDX-License-Identifier: Apache-2.0

import { asErrorsOf } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import type { PrefixSum, Release } from '../../types/all.js';
import { readOptions, requireLength } from '../options.js';
import { asRelease } from './release.js';
import { NoisyTotals, readTotals, TOTALS_OPTIONS, type CompleteOptions } from './totals.js';

const NAMES = {
  kind: 'prefix sum',
  step: 'prefixSumStep',
  stddev: 'prefixSumStddev',
  halfWidth: 'prefixSumHalfWidth',
  endSteps: 'prefixSumEndSteps',
} as const;

class CorePrefixSumHandle extends NoisyTotals implements PrefixSum {
  release(record: ArrayLike<number>): Release;
  release(record: ArrayLike<number>, out: Float64Array | undefined): Float64Array;
  release(record: ArrayLike<number>, out?: Float64Array): Float64Array {
    const values = this.input('release', 'record', record, out);
    requireLength('release', 'record', values.length, this.dimension);
    this.requireOut('release', out, values.length);
    asErrorsOf('release', () => this.core.call('prefixSumRelease', this.id, values));
    if (out !== undefined) return this.handOut(values, out);
    const step = this.step - 1;
    return asRelease(values, step, this.stddev(step));
  }

  releaseMany(records: ArrayLike<number>, out?: Float64Array): Float64Array {
    const values = this.records('releaseMany', records, out);
    this.requireOut('releaseMany', out, values.length);
    try {
      this.core.call('prefixSumRelease', this.id, values);
    } catch (error) {
      throw this.nameReleased('releaseMany', error, values, out);
    }
    return this.handOut(values, out);
  }

  contribute(records: ArrayLike<number>): void {
    const values = this.records('contribute', records, undefined);
    try {
      this.core.call('prefixSumContribute', this.id, values);
    } catch (error) {
      throw this.nameContributed(error);
    }
  }
}

/** Makes a running total from complete options with their key; `make` calls the core. */
export function prefixSumOf(
  instance: Instance,
  complete: CompleteOptions,
  make = (given: CompleteOptions) => instance.core.call('prefixSumCreate', given),
): PrefixSum {
  const made = make(complete);
  const { dimension, insecureSeed } = complete;
  const insecure = insecureSeed !== undefined;
  return new CorePrefixSumHandle(instance, made, { dimension, insecure, names: NAMES });
}

export function makePrefixSum(instance: Instance, options: unknown): PrefixSum {
  const where = 'prefixSum';
  const reader = readOptions(where, options, TOTALS_OPTIONS);
  const complete = readTotals(reader, instance.mechanisms);
  return withKey(where, complete, (given) => prefixSumOf(instance, given));
}
