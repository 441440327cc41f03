// SPDX-License-Identifier: Apache-2.0

// dp-ftrl release: releases private running totals of a CSV.

import { load } from '../../index.js';
import type { DpFtrl } from '../../types/all.js';
import type { PrivacyTarget } from '../../types/streams/options.js';
import type { Totals } from '../../types/streams/readings.js';
import { Misuse } from '../base/failure.js';
import { TotalsChart } from '../charts/totals.js';
import { DECIMAL_OPTIONS } from '../input/format.js';
import { requireAll } from '../input/needed.js';
import { COLUMNS_OPTION, entryText, readColumns, requireRanges } from '../input/columns.js';
import { PICKS } from '../input/rows.js';
import { readImportance, WORKLOADS_OPTIONS } from '../input/workload.js';
import { required, type Args } from '../options/args.js';
import { MODE_OPTIONS } from '../options/mode.js';
import { clipNotices, longestRow } from './release/columns-clip.js';
import { answerSums, requireTogether } from './release/stack.js';
import { Writer } from './release/writer.js';
import { MOST_COMPARED, sumsStd } from './stream/choice.js';
import { answer } from './stream/run.js';
import type { ReleasePlan } from './stream/prepare.js';
import type { Question } from './stream/question.js';
import { readSettings, STREAM_OPTIONS, type ReleaseSettings } from './stream/settings.js';
import { areTold } from './stream/told.js';
import { isOfSteps } from '../options/strategy.js';
import { POSITIVE } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption, SHOW_OPTION } from '../options/output.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS } from '../options/privacy.js';

export const command: Command = {
  summary: 'private running totals of columns, by row or by day',
  usage: '--epsilon E --delta D --clip C [FILE.csv]',
  about:
    'Private running totals of the columns of a CSV file (or standard input), after each row. All ' +
    'of them together are (E, D)-differentially private for one row or, with --user-column, for ' +
    'one person.',
  details: [
    'The output is step,COLUMN...,std: the total (or the sum that --workload names, such as that ' +
      'of the last W rows) plus noise, and the standard deviation of that noise. step counts the ' +
      'rows so far. With --epochs or --participations all of it is private for one user with ' +
      'several rows, as these promise.',
  ],
  options: {
    ...PRIVACY_OPTIONS,
    ...under('Privacy', {
      pure: {
        meaning:
          'instead of --delta: no delta, by discrete Laplace noise on a tree (tree-k) with ' +
          'the least error, unless --strategy has another one. --clip is then an l1-norm',
        brief: 'instead of --delta: no delta; --clip is then an l1-norm',
      },
    }),
    ...NEIGHBOURS_OPTION,
    ...under('Sums', {
      clip: {
        value: 'C',
        number: POSITIVE,
        meaning:
          'largest l2-norm of a row over its columns, with --pure its l1-norm: longer rows ' +
          'are scaled down to it, and the noise grows with it. Choose it without the data: a ' +
          'legal limit, never the maximum that you see. Default: what follows from the ranges ' +
          'of --columns; 1 with --count',
        brief:
          'largest length of a row: longer ones are scaled down to it. Choose it without the ' +
          'data: 1 for counts of one, or a legal limit, never the maximum that you see',
      },
      columns: {
        ...COLUMNS_OPTION.columns,
        meaning:
          'columns to sum, and the range of each, known without the data: numbers outside ' +
          "count as the nearest one inside. '*=LOW:HIGH' are all others; if one has a range, " +
          'all need one. A name with a comma or = needs quotes. May be repeated. Default: all ' +
          'without another role; if there is none, each row counts as 1',
        brief: 'columns to sum. Default: all',
      },
      count: { meaning: 'sums no column: each row counts as 1, and the default of --clip is 1' },
    }),
    ...WORKLOADS_OPTIONS,
    workload: {
      ...WORKLOADS_OPTIONS.workload,
      meaning:
        'prefix (default); window=W: sums of the last W rows (or buckets); ' +
        'momentum=0,decay=A: decaying sums, where a row k steps ago counts A^k; ' +
        'momentum=B[,decay=A]; a CSV file of numbers without a header: learning rates ' +
        '(FILE,momentum=B with momentum), or a square lower-triangular matrix. The noise is ' +
        'made for it, in mode grid and not with --pure. Unless you name a strategy, it is the ' +
        'least that is known: of prefix and window=1 Laplace noise, whose guarantee has no delta, ' +
        'or Gaussian noise, and else Gaussian noise. It is Gaussian, too, for several columns ' +
        'without ranges or with --clip, and under a --budget',
      brief: 'window=W: sums of the last W rows (or days and so on)',
    },
    workloads: {
      ...WORKLOADS_OPTIONS.workloads,
      meaning: `${WORKLOADS_OPTIONS.workloads.meaning}. The output has COLUMN_week, ..., week_std, ... Not with --strategy, --pure`,
    },
    ...STREAM_OPTIONS,
    'time-column': {
      ...STREAM_OPTIONS['time-column'],
      meaning: `${STREAM_OPTIONS['time-column'].meaning}. Each row is clipped, or with --user-column all rows of a person in a bucket together`,
    },
    'user-column': {
      ...STREAM_OPTIONS['user-column'],
      meaning: `${STREAM_OPTIONS['user-column'].meaning}. Rows that do not count are released as rows of zeros`,
    },
    ...SHOW_OPTION,
    ...DECIMAL_OPTIONS,
    ...MODE_OPTIONS,
    ...jsonOption(
      'one object: private, mode, choice (of the noise, if it was chosen), protects, certificate, ' +
        'columns, rows, complete; and error, ' +
        'with code, row, line and column but no cell, if a row ended it early. With Laplace noise also ' +
        'halfWidthProbability (0.05) and in rows halfWidth, which the noise exceeds with at most ' +
        'that probability. With --workloads also workloads, with the errors of each, and rows ' +
        'have sums and std by name',
    ),
  },
  essentials: [
    ...[
      'epsilon',
      'delta',
      'clip',
      'pure',
      'columns',
      'steps',
      'workload',
      'time-column',
      'bucket',
    ],
    ...['user-column', 'max-contributions', 'output', 'plot'],
  ],
  examples: [
    'dp-ftrl release --epsilon 1 --delta 1e-6 --clip 1 --columns count examples/shop_day.csv',
    'head -n 100 examples/shop_day.csv | dp-ftrl release --epsilon 1 ' +
      '--delta 1e-6 --clip 1 --columns count --steps 1000 --strategy honaker --json',
    'dp-ftrl release --epsilon 2 --delta 1e-6 --clip 90 --columns minutes --user-column member ' +
      '--max-contributions 12 --min-separation 7 --time-column time --bucket day ' +
      '--from 2026-03-02 --to 2026-05-24 examples/gym_visits.csv',
    'dp-ftrl release --epsilon 0.5 --delta 1e-7 --clip 1 --columns count --output counts.csv ' +
      '--budget shop.json --budget-epsilon 1 --budget-delta 1e-6 examples/shop_day.csv',
    'dp-ftrl release --pure --epsilon 1 --clip 1 --columns count examples/shop_day.csv',
    'dp-ftrl release --workload momentum=0,decay=0.98 --epsilon 1 --delta 1e-6 --clip 1 ' +
      '--columns count examples/shop_day.csv',
    'dp-ftrl release --workload window=60 --epsilon 1 --delta 1e-6 --clip 1 --columns count ' +
      'examples/shop_day.csv',
    'dp-ftrl release --workloads total=prefix,hour=window:60 --importance 1,4 --epsilon 1 ' +
      '--delta 1e-6 --clip 1 --columns count examples/shop_day.csv',
  ],
  run,
};

/** How rows are summed. */
interface SumSettings {
  /** Whether each row counts as 1. */
  counts: boolean;
  /** Undefined if it follows from the ranges, or is 1 for counts. */
  clip: number | undefined;
  /** Option that bounds the length of rows, if any. */
  bound: string | undefined;
}

function readSummed(args: Args): SumSettings {
  const counts = args.has('count');
  const why =
    '--clip is the largest length of a row, chosen without looking at the rows; it ' +
    'follows from ranges, --columns NAME=LOW:HIGH';
  const hasRanges = readColumns(args).ranges.length > 0;
  const isKnown = counts || hasRanges;
  const needed = {
    epsilon: '1',
    ...(!args.has('pure') && { delta: '1e-6' }),
    ...(!isKnown && { clip: 'C' }),
  };
  requireAll(args, needed, { clip: why });
  if (counts && args.has('columns')) {
    throw new Misuse('--count sums no column: give it or --columns');
  }
  const clip = args.number('clip');
  const bound = args.has('clip') ? 'clip' : hasRanges ? 'columns' : undefined;
  return { counts, clip: isKnown ? clip : required('clip', clip), bound };
}

/** The parts of the question that are the same for one workload and for several. */
function sumsOf(settings: ReleaseSettings, { counts, clip, bound }: SumSettings) {
  const { columns, ranges } = settings;
  const rangesOf = (names: readonly string[]) =>
    ranges.length === 0 ? undefined : requireRanges(ranges, names);
  // Without a delta, rows are clipped in l1-norm.
  const clipOf = (names: readonly string[], { delta }: PrivacyTarget): number => {
    const known = clip === undefined ? rangesOf(names) : undefined;
    return known ? longestRow(known, delta === 0) : (clip ?? 1);
  };
  const entries = ranges.map(entryText).sort();
  return {
    settings,
    // Numbers are clamped to their ranges before they reach the stream.
    ...(entries.length > 0 && { repeated: { columns: entries.join(',') } }),
    wanted: {
      columns,
      hasPatterns: true,
      ranges: rangesOf,
      instead: `${PICKS}, --count counts rows`,
      onlyTexts: counts,
    },
    records: (values: Float64Array) => values,
    bound,
    clipOf,
    notices: ({ prepared: { rows, target } }: { prepared: Pick<ReleasePlan, 'rows' | 'target'> }) =>
      clipNotices(rows.columns, {
        ranges: rangesOf(rows.columns),
        clipNorm: clipOf(rows.columns, target),
        inL1: target.delta === 0,
      }),
  };
}

function answerTotals(dp: DpFtrl, settings: ReleaseSettings, summed: SumSettings): Promise<void> {
  const { json, written: format, showTrue, times, how, participation, neighbours } = settings;
  const { clipOf, ...sums } = sumsOf(settings, summed);
  const shown = { json, format, showTrue, timeColumn: times?.heading };
  const question: Question<Totals> = {
    ...sums,
    name: 'totals',
    compared: ({ dp: core, columns, workload, numSteps: steps }) => {
      const isNamed = 'latticeNoise' in how;
      if (isNamed || (steps > MOST_COMPARED && !isOfSteps(workload, steps))) return undefined;
      const asked = { steps, workload, participation, neighbours };
      return {
        // With several columns, --clip is an l2-norm, which implies Gaussian noise.
        hasLaplace: columns.length === 1 || summed.clip === undefined,
        stdOf: (noise) => sumsStd(core, { ...asked, clip: clipOf(columns, noise.target) })(noise),
      };
    },
    options: (columns, [workload], target) => ({
      dimension: columns.length,
      clip: clipOf(columns, target),
      workload,
      ...('latticeNoise' in how && { lattice: how.latticeNoise }),
    }),
    isTold: areTold,
    writer: ({ sink, prepared }) =>
      new Writer(sink, prepared.rows.columns, shown, prepared.target.delta === 0),
    chart: ({ prepared }) =>
      new TotalsChart({
        columns: prepared.rows.columns,
        timeColumn: times?.axis,
        workload: prepared.workloads[0]!,
      }),
  };
  return answer(dp, question);
}

async function run(args: Args): Promise<void> {
  const summed = readSummed(args);
  const importance = readImportance(args);
  const isStack = args.has('workloads');
  const dp = await load();
  if (isStack) requireTogether(args, dp.strategies);
  const settings = await readSettings(dp, 'release', args);
  if (!isStack) return answerTotals(dp, settings, summed);
  return answerSums(dp, { ...sumsOf(settings, summed), importance });
}
