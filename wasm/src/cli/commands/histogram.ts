// SPDX-License-Identifier: Apache-2.0

// dp-ftrl histogram: computes private counts and shares of the categories in a column of a CSV.

import type { Histogram, HistogramStatistic } from '../../types/all.js';
import { EstimatesChart } from '../charts/estimates.js';
import { Misuse } from '../base/failure.js';
import { CATEGORY_OPTIONS, readCategories } from '../input/categories.js';
import { inputFormat } from '../input/format.js';
import { requireAll } from '../input/needed.js';
import type { Args, Known } from '../options/args.js';
import { HistogramWriter } from './histogram/writer.js';
import { releaseTable, type Run } from './release.js';
import { readStatisticSettings, STATISTIC_OPTIONS } from './statistics/options.js';
import { readingsOf } from './release/readings.js';

export const options: Known = {
  ...STATISTIC_OPTIONS,
  ...CATEGORY_OPTIONS,
  total: 'flag',
  'post-process': 'value',
};

const POST_PROCESSING = ['none', 'non-negative', 'monotone'] as const;

/** Returns the categories of one-hot encoded rows. */
function recordsOf(rows: ArrayLike<number>, labels: readonly string[]): string[] {
  const num = labels.length;
  return Array.from({ length: rows.length / num }, (_, i) => {
    let j = 0;
    while (rows[i * num + j] !== 1) ++j;
    return labels[j]!;
  });
}

function chartOf({ settings }: Run, labels: readonly string[], confidence: number) {
  const num = labels.length;
  const panel = (label: string, first: number) => ({
    label,
    series: labels.map((name, j) => ({ name, index: first + j })),
  });
  return new EstimatesChart({
    title: 'Private counts of categories',
    sharesScale: true,
    timeColumn: settings.times?.axis,
    confidence,
    names: [
      'total',
      ...['count', 'share'].flatMap((kind) => labels.map((name) => `${name}_${kind}`)),
    ],
    panels: [panel('count', 1), panel('share', 1 + num)],
  });
}

export async function run(args: Args): Promise<void> {
  const domain = '--domain lists what may be in the column, not what is in it';
  requireAll(args, { epsilon: '1', delta: '1e-6', by: 'NAME', domain: 'A,B,C' }, { domain });
  const counted = 'counted once, in a category of --domain';
  const { settings, fixedTimes, confidence, missing, shown, clippedTo } = readStatisticSettings(
    args,
    counted,
  );
  const categories = readCategories(args)!;
  const { column, labels } = categories;
  const kind = args.oneOf('post-process', POST_PROCESSING);
  const isPrefix = args.text('workload') === undefined || args.text('workload') === 'prefix';
  if (kind === 'monotone' && !isPrefix) {
    throw new Misuse('--post-process monotone is for counts so far: those of a window fall');
  }
  if (kind === 'monotone' && args.has('state')) {
    throw new Misuse(
      '--post-process monotone does not go with --state: it looks at all steps at once',
    );
  }
  let histogram: Pick<HistogramStatistic, 'consistentCounts'> | undefined;
  const others = readingsOf({
    kind: 'histogram',
    fixed: '--fixed-times, --domain, --other, --total',
    takesFirst: true,
    what: () => ({ categories: labels, total: args.has('total'), fixedTimes, confidence }),
    made: (statistic) => (histogram = statistic as HistogramStatistic),
    records: (rows) => recordsOf(rows, labels),
    estimates: ({ total, count, share }: Histogram) => [total, ...count, ...share],
  });
  return releaseTable(args, {
    command: 'histogram',
    settings,
    wanted: {
      columns: [],
      onlyTexts: true,
      categories,
      format: inputFormat('histogram', args),
      missing,
    },
    others,
    clippedTo,
    writer: ({ sink }) =>
      new HistogramWriter(sink, {
        ...shown,
        by: column,
        categories: labels,
        confidence,
        postProcess:
          kind === 'none'
            ? undefined
            : { kind, apply: (all) => histogram!.consistentCounts(all, kind) },
      }),
    chart: (run) => chartOf(run, labels, confidence),
  });
}
