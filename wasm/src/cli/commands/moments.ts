// SPDX-License-Identifier: Apache-2.0

// dp-ftrl moments: computes private counts, means and variances of the columns of a CSV.

import { load } from '../../index.js';
import type { Moments } from '../../types/streams/readings.js';
import { EstimatesChart } from '../charts/estimates.js';
import { DECIMAL_OPTIONS } from '../input/format.js';
import { requireAll } from '../input/needed.js';
import { requireRanges } from '../input/ranges.js';
import type { Args, Known } from '../options/args.js';
import { estimateAt, nameOf, pathsOf, type Wanted } from './moments/estimates.js';
import { MomentsWriter } from './moments/writer.js';
import { answer, type Run } from './stream/run.js';
import { readStatistic, STATISTIC_OPTIONS } from './stream/statistics.js';

export const options: Known = {
  ...STATISTIC_OPTIONS,
  ...DECIMAL_OPTIONS,
  column: 'values',
  range: 'values',
  covariance: 'flag',
  'standard-deviation': 'flag',
};

/** Returns the records of rows of numbers. */
function recordsOf(values: Float64Array, columns: readonly string[]): Record<string, number>[] {
  const width = columns.length;
  return Array.from({ length: values.length / width }, (_, i) =>
    Object.fromEntries(columns.map((name, j) => [name, values[i * width + j]!])),
  );
}

/** Chart with one panel per kind of moment. */
function chartOf({ prepared, settings }: Run<Moments<string>>, wanted: Wanted, confidence: number) {
  const paths = pathsOf(prepared.rows.columns, wanted);
  const kinds = [...new Set(paths.map(([kind]) => kind))];
  return new EstimatesChart<Moments<string>>({
    title: 'Private moments',
    sharesScale: false,
    timeColumn: settings.times?.axis,
    confidence,
    names: paths.map(nameOf),
    panels: kinds.map((kind) => ({
      label: kind.replace('_', ' '),
      series: paths.flatMap(([own, ...columns], index) =>
        own === kind ? [{ name: columns.join(', ') || kind, index }] : [],
      ),
    })),
    estimates: (reading) => paths.map((path) => estimateAt(reading, path)),
  });
}

export async function run(args: Args): Promise<void> {
  const range = '--range must be known without looking at the column';
  requireAll(args, { epsilon: '1', delta: '1e-6', range: 'NAME=LOW:HIGH' }, { range });
  const dp = await load();
  const counted = 'clipped to --range';
  const { settings, fixedTimes, confidence, shown, clippedTo } = await readStatistic(dp, {
    command: 'moments',
    args,
    counted,
  });
  const covariance = args.has('covariance');
  const moments = { covariance, standardDeviation: args.has('standard-deviation') };
  return answer<Moments<string>>(dp, {
    settings,
    wanted: { columns: settings.columns },
    name: 'moments',
    options: (columns, [workload]) => ({
      columns: Object.fromEntries(
        requireRanges(settings.ranges, columns).map(({ name, low, high }) => [name, [low, high]]),
      ),
      covariance,
      fixedTimes,
      workload,
    }),
    records: recordsOf,
    clippedTo,
    writer: ({ sink, prepared }) =>
      new MomentsWriter(sink, {
        ...shown,
        columns: prepared.rows.columns,
        wanted: moments,
        confidence,
      }),
    chart: (run) => chartOf(run, moments, confidence),
  });
}
