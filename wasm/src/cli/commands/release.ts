// SPDX-License-Identifier: Apache-2.0

// dp-ftrl release: releases private running totals of a CSV.

import { load } from '../../index.js';
import type { DpFtrl } from '../../types/all.js';
import type { Totals } from '../../types/streams/readings.js';
import { Misuse } from '../base/failure.js';
import { TotalsChart } from '../charts/totals.js';
import { DECIMAL_OPTIONS } from '../input/format.js';
import { requireAll } from '../input/needed.js';
import { requireRanges } from '../input/ranges.js';
import { PICKS } from '../input/rows.js';
import { readImportance } from '../input/workload.js';
import { required, type Args, type Known } from '../options/args.js';
import { MODE_OPTIONS } from '../options/mode.js';
import { clipNotices, longestRow } from './release/columns-clip.js';
import { answerSums, requireTogether } from './release/stack.js';
import { Writer } from './release/writer.js';
import { answer, type Question } from './stream/run.js';
import { readSettings, STREAM_OPTIONS, type Settings } from './stream/settings.js';
import { areTold } from './stream/told.js';

export const options: Known = {
  ...STREAM_OPTIONS,
  workload: 'values',
  importance: 'value',
  pure: 'flag',
  clip: 'value',
  column: 'values',
  range: 'values',
  count: 'flag',
  'show-nonprivate': 'flag',
  ...DECIMAL_OPTIONS,
  ...MODE_OPTIONS,
};

/** How rows are summed. */
interface Summed {
  /** Whether each row counts as 1. */
  counts: boolean;
  /** Undefined if it follows from the ranges, or is 1 for counts. */
  clip: number | undefined;
  /** Option that says how large rows may be, if one does. */
  bound: string | undefined;
}

function readSummed(args: Args): Summed {
  const counts = args.has('count');
  const why =
    '--clip is the largest length of a row, chosen without looking at the rows; it ' +
    'follows from --range NAME=LOW:HIGH of every column';
  const isKnown = counts || args.has('range');
  const needed = {
    epsilon: '1',
    ...(!args.has('pure') && { delta: '1e-6' }),
    ...(!isKnown && { clip: 'C' }),
  };
  requireAll(args, needed, { clip: why });
  const other = ['column', 'range'].find((option) => args.has(option));
  if (counts && other !== undefined) {
    throw new Misuse(`--count sums no column: give it or --${other}`);
  }
  const clip = args.positive('clip');
  const bound = ['clip', 'range'].find((name) => args.has(name));
  return { counts, clip: isKnown ? clip : required('clip', clip), bound };
}

/** Returns the parts of the question that do not depend on the number of workloads. */
function sumsOf(settings: Settings, { counts, clip, bound }: Summed) {
  const { columns, ranges, target } = settings;
  const inL1 = target.delta === 0;
  const rangesOf = (names: readonly string[]) => {
    if (ranges.length === 0) return undefined;
    if (names.length > 0) return requireRanges(ranges, names);
    throw new Misuse(
      '--range is for columns that are summed, but here each row counts as 1: leave it out',
    );
  };
  const clipOf = (names: readonly string[]): number => {
    const known = clip === undefined ? rangesOf(names) : undefined;
    return known ? longestRow(known, inL1) : (clip ?? 1);
  };
  return {
    settings,
    wanted: {
      columns,
      ranges: rangesOf,
      instead: `${PICKS}, --count counts rows`,
      onlyTexts: counts,
    },
    records: (values: Float64Array) => values,
    bound,
    clipOf,
    notices: ({ prepared: { rows } }: { prepared: { rows: { columns: string[] } } }) =>
      clipNotices(rows.columns, {
        ranges: rangesOf(rows.columns),
        clipNorm: clipOf(rows.columns),
        inL1,
      }),
  };
}

function answerTotals(dp: DpFtrl, settings: Settings, summed: Summed): Promise<void> {
  const { json, written: format, showTrue, times, target, how } = settings;
  const { clipOf, ...sums } = sumsOf(settings, summed);
  const shown = { json, format, showTrue, timeColumn: times?.heading };
  const question: Question<Totals> = {
    ...sums,
    name: 'totals',
    options: (columns, [workload]) => ({
      dimension: columns.length,
      clip: clipOf(columns),
      workload,
      ...('latticeNoise' in how && { lattice: how.latticeNoise }),
    }),
    isTold: areTold,
    writer: ({ sink, prepared }) =>
      new Writer(sink, prepared.rows.columns, shown, target.delta === 0),
    chart: ({ prepared }) =>
      new TotalsChart({
        columns: prepared.rows.columns,
        timeColumn: times?.axis,
        workload: prepared.workloads[0]!,
      }),
  };
  return answer(dp, question);
}

export async function run(args: Args): Promise<void> {
  const summed = readSummed(args);
  const importance = readImportance(args);
  const isStack = args.texts('workload').length > 1;
  if (isStack) requireTogether(args);
  const dp = await load();
  const settings = await readSettings(dp, 'release', args);
  if (!isStack) return answerTotals(dp, settings, summed);
  return answerSums(dp, { ...sumsOf(settings, summed), importance });
}
