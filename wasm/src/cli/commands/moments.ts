// SPDX-License-Identifier: Apache-2.0

// dp-ftrl moments: a CSV in, private counts, means and variances of its columns out.

import { DEFAULT_CONFIDENCE } from '../../shared/defaults.js';
import type { DpFtrl, StatisticOptions } from '../../types/all.js';
import { Misuse } from '../failure.js';
import { FORMAT_OPTIONS, inputFormat } from '../input/format.js';
import { shortName } from '../input/header.js';
import { MISSING_OPTIONS, readMissing } from '../input/missing.js';
import { requireAll } from '../input/needed.js';
import { readInputs } from '../input/ranges.js';
import { TIME_OPTIONS } from '../input/time.js';
import type { Args, Known } from '../options/args.js';
import { PARTICIPATION_OPTIONS, STRATEGY_OPTIONS } from '../options/mechanism.js';
import { BUDGET_OPTIONS } from '../state/budget.js';
import { MomentTotals } from './moments/totals.js';
import { MomentsWriter } from './moments/writer.js';
import { releaseTable, type Run } from './release.js';
import { readSettings } from './release/settings.js';

export const options: Known = {
  ...STRATEGY_OPTIONS,
  epsilon: 'value',
  delta: 'value',
  column: 'values',
  range: 'values',
  covariance: 'flag',
  confidence: 'value',
  steps: 'value',
  workload: 'value',
  ...PARTICIPATION_OPTIONS,
  ...TIME_OPTIONS,
  ...FORMAT_OPTIONS,
  ...MISSING_OPTIONS,
  ...BUDGET_OPTIONS,
  neighbours: 'value',
  output: 'value',
  json: 'flag',
  quiet: 'flag',
  seed: 'value',
};

/** Persons with several rows are not protected. */
export const protects = 'a row, not a person';

/** Rows are clipped to ranges, which the norm that the settings want has no part in. */
const NO_CLIP = '1';

/** The ranges of the columns, which must not be those of the data. */
function rangesOf(args: Args, columns: readonly string[]): [number, number][] {
  return readInputs(args, columns).map(({ name, low, high }) => {
    if (low !== undefined && high !== undefined) return [low, high];
    const column = JSON.stringify(shortName(name));
    const why = 'what is known of it without the data';
    throw new Misuse(`column ${column} needs a --range NAME=LOW:HIGH, ${why}`);
  });
}

export async function run(args: Args): Promise<void> {
  const range = '--range is what you know of a column, not what you see in it';
  requireAll(args, { epsilon: '1', delta: '1e-6', range: 'NAME=LOW:HIGH' }, { range });
  const settings = readSettings(args.with('clip', NO_CLIP));
  const { json, written, times } = settings;
  const confidence = args.probability('confidence') ?? DEFAULT_CONFIDENCE;
  const covariance = args.has('covariance');
  const totals = (dp: DpFtrl, { rows, how }: Run['prepared']): MomentTotals => {
    const { clipNorm: _norm, dimension: _length, ...others } = how;
    const what = { statistic: 'moments', ranges: rangesOf(args, rows.columns) } as const;
    const options = { ...others, ...what, covariance, confidence } as StatisticOptions;
    return new MomentTotals(dp.statistic(options));
  };
  return releaseTable(args, {
    command: 'moments',
    settings,
    wanted: {
      columns: args.texts('column'),
      format: inputFormat('moments', args),
      // A row without a number is no row: where rows are steps, there would be one without a record.
      missing: readMissing(args, { areSteps: false, known: times ? ['refuse', 'skip'] : ['refuse'] }),
    },
    totals,
    clippedTo: 'clipped to --range',
    writer: ({ sink, prepared }) =>
      new MomentsWriter(sink, {
        json,
        format: written,
        timeColumn: times?.column,
        columns: prepared.rows.columns,
        covariance,
        confidence,
      }),
  });
}
