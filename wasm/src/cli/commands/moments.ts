// SPDX-License-Identifier: Apache-2.0

// dp-ftrl moments: computes private counts, means and variances of the columns of a CSV.

import type { Moments } from '../../types/all.js';
import { EstimatesChart } from '../charts/estimates.js';
import { DECIMAL_OPTIONS, inputFormat } from '../input/format.js';
import { requireAll } from '../input/needed.js';
import { requireRanges } from '../input/ranges.js';
import type { Args, Known } from '../options/args.js';
import { estimatesOfMoments, nameOf, pathsOf, type Wanted } from './moments/estimates.js';
import { MomentsWriter } from './moments/writer.js';
import { releaseTable, type Run } from './release.js';
import { readStatisticSettings, STATISTIC_OPTIONS } from './statistics/options.js';
import { readingsOf } from './release/readings.js';

export const options: Known = {
  ...STATISTIC_OPTIONS,
  ...DECIMAL_OPTIONS,
  column: 'values',
  range: 'values',
  covariance: 'flag',
  'standard-deviation': 'flag',
};

/** Chart with one panel per kind of moment. */
function chartOf({ prepared, settings }: Run, wanted: Wanted, confidence: number) {
  const paths = pathsOf(prepared.rows.columns, wanted);
  const kinds = [...new Set(paths.map(([kind]) => kind!))];
  return new EstimatesChart({
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
  });
}

export async function run(args: Args): Promise<void> {
  const range = '--range must be known without looking at the column';
  requireAll(args, { epsilon: '1', delta: '1e-6', range: 'NAME=LOW:HIGH' }, { range });
  const { settings, fixedTimes, confidence, missing, shown, clippedTo } = readStatisticSettings(
    args,
    'clipped to --range',
  );
  const covariance = args.has('covariance');
  const moments = { covariance, standardDeviation: args.has('standard-deviation') };
  const others = readingsOf({
    kind: 'moments',
    fixed: '--fixed-times, --range, --covariance',
    takesFirst: true,
    what: ({ columns }) => ({
      ranges: requireRanges(args, columns).map(({ low, high }): [number, number] => [low, high]),
      covariance,
      fixedTimes,
      confidence,
    }),
    records: (rows) => rows,
    estimates: (reading: Moments) => estimatesOfMoments(reading, moments),
  });
  return releaseTable(args, {
    command: 'moments',
    settings,
    wanted: {
      columns: args.texts('column'),
      format: inputFormat('moments', args),
      missing,
    },
    others,
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
