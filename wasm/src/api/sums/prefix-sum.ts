// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../../core/core.js';
import { told, type RefusalError } from '../../core/errors.js';
import type { Backstop } from '../../core/handle.js';
import type { MechanismName, PrefixSum } from '../../types/all.js';
import { requireLength } from '../options.js';
import { makeTotals, NoisyTotals } from './totals.js';

const NAMES = {
  kind: 'prefix sum',
  step: 'prefixSumStep',
  stddev: 'prefixSumStddev',
  endSteps: 'prefixSumEndSteps',
} as const;

class CorePrefixSumHandle extends NoisyTotals implements PrefixSum {
  release(record: ArrayLike<number>, out?: Float64Array): Float64Array {
    const values = this.input('release', 'record', record, out);
    requireLength('release', 'record', values.length, this.dimension);
    this.requireOut('release', out, values.length);
    try {
      this.core.call('prefixSumRelease', this.id, values);
    } catch (error) {
      throw told(error as RefusalError, { call: 'release' });
    }
    return this.handOut(values, out);
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

export function makePrefixSum(
  core: Core,
  backstop: Backstop,
  mechanisms: readonly MechanismName[],
  options: unknown,
): PrefixSum {
  return makeTotals('prefixSum', mechanisms, options, (complete) => {
    const made = core.call('prefixSumCreate', complete);
    const { dimension, insecureSeed } = complete;
    const insecure = insecureSeed !== undefined;
    return new CorePrefixSumHandle(core, backstop, made, { dimension, insecure, names: NAMES });
  });
}
