// SPDX-License-Identifier: Apache-2.0

// dp-ftrl histogram: computes private counts and shares of the categories in a column of a CSV.

import { load } from '../../index.js';
import type { Histogram } from '../../types/streams/readings.js';
import { EstimatesChart } from '../charts/estimates.js';
import { Misuse } from '../base/failure.js';
import { CATEGORY_OPTIONS, readCategories } from '../input/categories.js';
import { requireAll } from '../input/needed.js';
import type { Args } from '../options/args.js';
import { HistogramWriter } from './histogram/writer.js';
import { answer } from './stream/run.js';
import type { Question, Run } from './stream/question.js';
import {
  comparedCounts,
  readStatistic,
  soFarNotices,
  STATISTIC_OPTIONS,
} from './stream/statistics.js';
import type { Command } from '../options/command.js';
import { jsonOption } from '../options/output.js';
import { under } from '../options/option.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS } from '../options/privacy.js';

const POST_PROCESSING = ['none', 'non-negative', 'monotone'] as const;

export const command: Command = {
  summary: 'private counts and shares of categories, with intervals',
  usage: '--epsilon E --delta D --by COLUMN --domain A,B,C [FILE.csv]',
  about:
    'Private counts and shares of the categories in a column of a CSV file (or standard input), ' +
    'after each row. The whole output is (E, D)-differentially private for one row or, with ' +
    '--user-column, for one person.',
  details: [
    'The output is step,COLUMN,count,count_low,count_high,share,...,total,..., a line for each ' +
      'category. With --epochs or --participations it is private for one user with several rows, ' +
      'as these promise. Counts are unbiased: they may be negative, and may fall. An interval contains ' +
      'the number without noise with probability C. dp-ftrl count --by gives counts of each ' +
      'single day; this command gives shares, intervals, windows, replace-one and rows without a ' +
      'time.',
  ],
  options: {
    ...PRIVACY_OPTIONS,
    ...NEIGHBOURS_OPTION,
    neighbours: {
      ...NEIGHBOURS_OPTION.neighbours,
      meaning:
        'zero-out (default): a row may be there or not; replace-one: it may also be of another ' +
        'category and of any step, at sqrt(2) times the noise or a little more',
    },
    ...CATEGORY_OPTIONS,
    ...under('Categories', {
      total: {
        meaning:
          'also measures the total: it is then more accurate by about the fourth root of the ' +
          'number of categories, and counts are noisier by up to 7.1 %',
        brief: 'more accurate total, slightly noisier counts',
      },
      'post-process': {
        value: 'M',
        values: POST_PROCESSING,
        meaning:
          'adds a column: non-negative (count_non_negative), counts with 0 in place of negative ' +
          'ones; or monotone (count_monotone), the closest non-negative counts that never fall, ' +
          'written when all is read. Post-processing costs no privacy, and errors are no larger ' +
          '(of monotone: in squares over all steps), but both are biased, sums over categories ' +
          'most: use the total for these. Not monotone with --state. Default: none',
      },
    }),
    ...STATISTIC_OPTIONS,
    'fixed-times': {
      ...STATISTIC_OPTIONS['fixed-times'],
      meaning: `${STATISTIC_OPTIONS['fixed-times'].meaning}. Counts are then more precise, and the total as precise as a count`,
    },
    ...jsonOption(
      'one object: private, mode, protects, certificate, by, categories, confidence, ' +
        'postProcessing if given, rows (with total, and for each category count, share and ' +
        'consistent), complete; and error, if a row ended it early',
    ),
  },
  essentials: [
    ...['epsilon', 'delta', 'by', 'domain', 'other', 'total', 'user-column', 'max-contributions'],
    ...['time-column', 'bucket', 'workload', 'confidence', 'output', 'plot'],
  ],
  examples: [
    'dp-ftrl histogram --epsilon 1 --delta 1e-6 --by section --domain docs,shop,blog --other ' +
      '--time-column time --bucket day examples/site_visits.csv',
    'dp-ftrl histogram --epsilon 1 --delta 1e-6 --by section --domain docs,shop --other ' +
      '--neighbours replace-one --workload window=1000 --json examples/site_visits.csv',
  ],
  run,
};

/** Categories of one-hot encoded rows. */
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

async function run(args: Args): Promise<void> {
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
  const options: Question<Histogram<string>>['options'] = (_, [workload]) => ({
    categories: hasOther ? labels.slice(0, -1) : labels,
    ...(hasOther && { other: labels.at(-1) }),
    total,
    fixedTimes,
    workload,
  });
  return answer<Histogram<string>>(dp, {
    settings,
    wanted: { columns: [], onlyTexts: true, categories },
    name: 'histogram',
    options,
    compared: comparedCounts(settings, { name: 'histogram', options }),
    records: recordsOf,
    clippedTo,
    notices: soFarNotices,
    stdsOf: ({ count, total: all }) => ({
      count: Math.max(...Object.values(count).map(({ stddev }) => stddev)),
      total: all.stddev,
    }),
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
