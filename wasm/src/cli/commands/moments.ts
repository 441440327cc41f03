// SPDX-License-Identifier: Apache-2.0

// dp-ftrl moments: computes private counts, means and variances of the columns of a CSV.

import { load } from '../../index.js';
import type { Moments } from '../../types/streams/readings.js';
import { EstimatesChart } from '../charts/estimates.js';
import { DECIMAL_OPTIONS } from '../input/format.js';
import { requireAll } from '../input/needed.js';
import { COLUMNS_OPTION, requireRanges } from '../input/columns.js';
import type { Args } from '../options/args.js';
import { estimateAt, nameOf, pathsOf, type MomentChoice } from './moments/estimates.js';
import { MomentsWriter } from './moments/writer.js';
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

export const command: Command = {
  summary: 'private means and variances of columns, with intervals',
  usage: '--epsilon E --delta D --columns NAME=LOW:HIGH [FILE.csv]',
  about:
    'Private count, means and variances of the columns of a CSV file (or standard input), after ' +
    'each row. The whole output is (E, D)-differentially private for one row or, with ' +
    '--user-column, for one person.',
  details: [
    'The output is step,count,count_low,count_high,NAME_mean,NAME_mean_low,... With --epochs or ' +
      '--participations it is private for one user with several rows, as these promise. An interval ' +
      'contains the number without noise with probability C, whatever the rows are; it is about ' +
      'these rows, not about a population they were sampled from. A variance divides by the ' +
      'count, not by one less.',
  ],
  options: {
    ...PRIVACY_OPTIONS,
    ...NEIGHBOURS_OPTION,
    neighbours: {
      ...NEIGHBOURS_OPTION.neighbours,
      meaning:
        'zero-out (default): a row may be there or not; replace-one: it may also be another one, ' +
        'of any step, and variances, covariances and count cost nothing beside the means',
    },
    ...under('Moments', {
      columns: {
        ...COLUMNS_OPTION.columns,
        value: 'NAME=LOW:HIGH,...',
        meaning:
          'columns of numbers, and the range of each, known without the data: numbers outside are ' +
          'clipped to it, and the noise is proportional to it. Means and their intervals are those ' +
          "of the clipped numbers: neither shows that a range is too narrow. '*=LOW:HIGH' are all " +
          'others. A name with a comma or = needs quotes. May be repeated',
        brief:
          'columns, and the range of each, known without the data: numbers outside are clipped to ' +
          'it, and the noise is proportional to it',
      },
      covariance: { meaning: 'also covariances of every two columns: A_B_covariance' },
      'standard-deviation': {
        meaning:
          'root of each variance, in columns at the end: NAME_standard_deviation, with an ' +
          'interval that is right when that of the variance is',
      },
    }),
    ...STATISTIC_OPTIONS,
    ...DECIMAL_OPTIONS,
    ...jsonOption(
      'one object: private, mode, protects, certificate, columns, confidence, rows (with count, ' +
        'mean, variance, covariance, standardDeviation, of which each has value, low, high, ' +
        'stddev), complete; and error, if a row ended it early',
    ),
  },
  essentials: [
    ...['epsilon', 'delta', 'columns', 'covariance', 'user-column', 'max-contributions'],
    ...['time-column', 'bucket', 'workload', 'confidence', 'output', 'plot'],
  ],
  examples: [
    'dp-ftrl moments --epsilon 1 --delta 1e-6 --columns minutes=0:120 ' +
      '--time-column time --bucket day examples/gym_visits.csv',
    'dp-ftrl moments --epsilon 1 --delta 1e-6 --columns items=0:5,revenue=0:20 ' +
      '--covariance --json examples/shop_day.csv',
    'dp-ftrl moments --epsilon 2 --delta 1e-6 --columns minutes=0:120 ' +
      '--user-column member --max-contributions 12 --time-column time --bucket day ' +
      '--from 2026-03-02 --to 2026-05-24 examples/gym_visits.csv',
  ],
  run,
};

function recordsOf(values: Float64Array, columns: readonly string[]): Record<string, number>[] {
  const width = columns.length;
  return Array.from({ length: values.length / width }, (_, i) =>
    Object.fromEntries(columns.map((name, j) => [name, values[i * width + j]!])),
  );
}

/** Chart with one panel per kind of moment. */
function chartOf(
  { prepared, settings }: Run<Moments<string>>,
  wanted: MomentChoice,
  confidence: number,
) {
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

async function run(args: Args): Promise<void> {
  const columns = 'the range of a column must be known without looking at it';
  requireAll(args, { epsilon: '1', delta: '1e-6', columns: 'NAME=LOW:HIGH' }, { columns });
  const dp = await load();
  const counted = 'clipped to the ranges of --columns';
  const { settings, fixedTimes, confidence, shown, clippedTo } = await readStatistic(dp, {
    command: 'moments',
    args,
    counted,
  });
  const covariance = args.has('covariance');
  const moments = { covariance, standardDeviation: args.has('standard-deviation') };
  const options: Question<Moments<string>>['options'] = (columns, [workload]) => ({
    columns: Object.fromEntries(
      requireRanges(settings.ranges, columns).map(({ name, low, high }) => [name, [low, high]]),
    ),
    covariance,
    fixedTimes,
    workload,
  });
  return answer<Moments<string>>(dp, {
    settings,
    wanted: { columns: settings.columns, hasPatterns: true },
    name: 'moments',
    options,
    compared: comparedCounts(settings, { name: 'moments', options }),
    records: recordsOf,
    clippedTo,
    notices: soFarNotices,
    stdsOf: ({ count }) => ({ count: count.stddev }),
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
