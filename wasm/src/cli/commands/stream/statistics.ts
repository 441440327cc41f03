// SPDX-License-Identifier: Apache-2.0

// Options of commands that release moments or histograms.

import type { DpFtrl } from '../../../types/all.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import { Misuse } from '../../base/failure.js';
import { requireZeroOut } from '../../input/histogram.js';
import { WORKLOAD_OPTION } from '../../input/workload.js';
import type { Args } from '../../options/args.js';
import { PROBABILITY } from '../../options/numbers.js';
import { under } from '../../options/option.js';
import { readSettings, STREAM_OPTIONS, type Command } from './settings.js';

export const STATISTIC_OPTIONS = {
  ...STREAM_OPTIONS,
  ...under('Intervals', {
    confidence: {
      value: 'C',
      number: PROBABILITY,
      meaning: 'confidence of each single interval, between 0 and 1 (default 0.95)',
      brief: 'confidence of each interval (default 0.95)',
    },
  }),
  ...under('Privacy', {
    'fixed-times': {
      meaning:
        'with replace-one: promises that times are public, so that a row is only replaced by ' +
        'others of its step; a row that may be of another day is protected less',
    },
  }),
  ...WORKLOAD_OPTION,
  workload: {
    ...WORKLOAD_OPTION.workload,
    meaning:
      'prefix (default), or window=W: only the last W rows (or buckets), W a whole number; ' +
      'window=1 with --bucket day: those of each day',
    brief: 'window=W: the last W rows (or days and so on) instead of all',
  },
  'user-column': {
    ...STREAM_OPTIONS['user-column'],
    meaning: `${STREAM_OPTIONS['user-column'].meaning}. Only the first row of a person in a bucket counts`,
  },
  missing: {
    ...STREAM_OPTIONS.missing,
    meaning: `${STREAM_OPTIONS.missing.meaning}. Not skip with replace-one, for which the number of rows is public`,
  },
  plot: {
    ...STREAM_OPTIONS.plot,
    meaning:
      'plots all of it with its intervals: FILE.svg, or FILE.html with the numbers as a table. It ' +
      'contains no true value',
  },
};

/**
 * Reads the settings, the promise of fixed times, and how steps are shown.
 * @param counted  treatment of a row, in words
 */
export async function readStatistic(
  dp: DpFtrl,
  { command, args, counted }: { command: Command; args: Args; counted: string },
) {
  const settings = await readSettings(dp, command, args);
  const { json, written, times, people, neighbours, missing } = settings;
  const fixedTimes = args.has('fixed-times');
  if (fixedTimes && neighbours !== 'replace-one') {
    throw new Misuse('--fixed-times needs --neighbours replace-one: zero-out replaces no row');
  }
  requireZeroOut(missing, neighbours);
  const first = people && times ? `only their first row of a ${times.bucket}, ` : '';
  return {
    settings,
    clippedTo: `${first}${counted}`,
    fixedTimes,
    confidence: settings.confidence ?? DEFAULT_CONFIDENCE,
    shown: { json, format: written, timeColumn: times?.heading },
  };
}
