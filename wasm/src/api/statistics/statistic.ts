// SPDX-License-Identifier: Apache-2.0

// Statistics of one process.

import { asErrorsOf } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import type { HistogramStatistic, PrefixSum, Statistic } from '../../types/all.js';
import { readOptions } from '../options.js';
import { prefixSumOf } from '../sums/prefix-sum.js';
import { StatisticHandle } from './columns.js';
import { inGiven, readStatistic, STATISTIC_OPTIONS } from './kinds.js';

class CoreStatistic<Reading> extends StatisticHandle<PrefixSum, Reading> {
  release(record: unknown): Reading {
    const columns = this.columns.one('release', record);
    const { step } = this;
    return this.readingsOf(this.sums.release(columns), step)[0]!;
  }

  releaseMany(records: unknown): Reading[] {
    const columns = this.columns.many('releaseMany', 'records', records);
    return this.several(() => this.sums.releaseMany(columns));
  }

  contribute(records: unknown): void {
    const { columns, sums } = this;
    for (const part of columns.parts('contribute', 'records', records)) sums.contribute(part);
  }

  endSteps(numSteps?: number): Reading[] {
    return this.several(() => this.sums.endSteps(numSteps));
  }

  /** Readings of steps; an error on the way has those of the steps before it. */
  private several(release: () => Float64Array): Reading[] {
    const { step } = this;
    try {
      return this.readingsOf(release(), step);
    } catch (error) {
      const { released } = error as { released?: Float64Array };
      if (released === undefined) throw error;
      throw Object.assign(error as Error, { released: this.readingsOf(released, step) });
    }
  }
}

export function makeStatistic(instance: Instance, options: unknown): Statistic & HistogramStatistic {
  const where = 'statistic';
  const reader = readOptions(where, options, STATISTIC_OPTIONS);
  const { columns, complete } = readStatistic(instance, reader);
  try {
    const sums = withKey(where, complete, (given) =>
      asErrorsOf(where, () => prefixSumOf(instance, given)),
    );
    // It has the record and the reading that its options say.
    return new CoreStatistic(instance, columns, sums) as unknown as Statistic & HistogramStatistic;
  } catch (error) {
    columns.drop();
    throw inGiven(error, complete);
  }
}
