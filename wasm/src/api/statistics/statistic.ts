// SPDX-License-Identifier: Apache-2.0

// Statistics of one process.

import { asErrorsOf } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import type { Moments, PrefixSum, Statistic } from '../../types/all.js';
import { readOptions } from '../options.js';
import { prefixSumOf } from '../sums/prefix-sum.js';
import { inGiven, readStatistic, STATISTIC_OPTIONS, StatisticHandle } from './columns.js';

class CoreStatistic extends StatisticHandle<PrefixSum> implements Statistic {
  release(record: ArrayLike<number>): Moments {
    const columns = this.columnsOfOne('release', record);
    const { step } = this;
    return this.momentsOf(this.sums.release(columns), step)[0]!;
  }

  releaseMany(records: ArrayLike<number>): Moments[] {
    const columns = this.columnsOf('releaseMany', 'records', records);
    return this.several(() => this.sums.releaseMany(columns));
  }

  contribute(records: ArrayLike<number>): void {
    this.sums.contribute(this.columnsOf('contribute', 'records', records));
  }

  endSteps(numSteps?: number): Moments[] {
    return this.several(() => this.sums.endSteps(numSteps));
  }

  /** Moments of steps; an error on the way has those of the steps before it. */
  private several(release: () => Float64Array): Moments[] {
    const { step } = this;
    try {
      return this.momentsOf(release(), step);
    } catch (error) {
      const { released } = error as { released?: Float64Array };
      if (released === undefined) throw error;
      throw Object.assign(error as Error, { released: this.momentsOf(released, step) });
    }
  }
}

export function makeStatistic(instance: Instance, options: unknown): Statistic {
  const where = 'statistic';
  const reader = readOptions(where, options, STATISTIC_OPTIONS);
  const { columns, complete } = readStatistic(instance, reader);
  try {
    const sums = withKey(where, complete, (given) =>
      asErrorsOf(where, () => prefixSumOf(instance, given)),
    );
    return new CoreStatistic(instance, columns, sums);
  } catch (error) {
    columns.drop();
    throw inGiven(error, complete);
  }
}
