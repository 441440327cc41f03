// SPDX-License-Identifier: Apache-2.0

// dp-ftrl histogram: computes private counts and shares of the categories in a column of a CSV.

import { load } from '../../index.js';
import type { Histogram } from '../../types/streams/readings.js';
import { EstimatesChart } from '../charts/estimates.js';
import { Misuse } from '../base/failure.js';
import { CATEGORY_OPTIONS, readCategories } from '../input/categories.js';
import { requireAll } from '../input/needed.js';
import type { Args, Known } from '../options/args.js';
import { HistogramWriter } from './histogram/writer.js';
import { answer, type Run } from './stream/run.js';
import { readStatistic, STATISTIC_OPTIONS } from './stream/statistics.js';

export const options: Known = {
  ...STATISTIC_OPTIONS,
  ...CATEGORY_OPTIONS,
  total: 'flag',
  'post-process': 'value',
};

const POST_PROCESSING = ['none', 'non-negative', 'monotone'] as const;

/** Returns the categories of one-hot encoded rows. */
function recordsOf(rows: Float64Array, labels: readonly string[]): string[] {
  const num = labels.length;
  return Array.from({ length: rows.length / num }, (_, i) => {
    let j = 0;
    while (rows[i * num + j] !== 1) ++j;
    return labels[j]!;
  });
}

function chartOf(
  { settings }: Run<Histogram<string>>,
  labels: readonly string[],
  confidence: number,
) {
  const num = labels.length;
  const panel = (label: string, first: number) => ({
    label,
    series: labels.map((name, j) => ({ name, index: first + j })),
  });
  return new EstimatesChart<Histogram<string>>({
    title: 'Private counts of categories',
    sharesScale: true,
    timeColumn: settings.times?.axis,
    confidence,
    names: [
      'total',
      ...['count', 'share'].flatMap((kind) => labels.map((name) => `${name}_${kind}`)),
    ],
    panels: [panel('count', 1), panel('share', 1 + num)],
    estimates: ({ total, count, share }) => [
      total,
      ...labels.map((name) => count[name]!),
      ...labels.map((name) => share[name]!),
    ],
  });
}

function readPostProcessing(args: Args) {
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
  return kind;
}

export async function run(args: Args): Promise<void> {
  const domain = '--domain lists what may be in the column, not what is in it';
  requireAll(args, { epsilon: '1', delta: '1e-6', by: 'NAME', domain: 'A,B,C' }, { domain });
  const dp = await load();
  const { settings, fixedTimes, confidence, shown, clippedTo } = await readStatistic(dp, {
    command: 'histogram',
    args,
    counted: 'counted once, in a category of --domain',
  });
  const categories = readCategories(args)!;
  const { column, labels, hasOther } = categories;
  const kind = readPostProcessing(args);
  const total = args.has('total');
  return answer<Histogram<string>>(dp, {
    settings,
    wanted: { columns: [], onlyTexts: true, categories },
    name: 'histogram',
    options: (_, [workload]) => ({
      categories: hasOther ? labels.slice(0, -1) : labels,
      ...(hasOther && { other: labels.at(-1) }),
      total,
      fixedTimes,
      workload,
    }),
    records: recordsOf,
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
            : { kind, apply: (readings) => dp.consistent(readings, kind) },
      }),
    chart: (run) => chartOf(run, labels, confidence),
  });
}
