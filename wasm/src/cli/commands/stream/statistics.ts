// SPDX-License-Identifier: Apache-2.0

// Options of commands that release moments or histograms.

import type { DpFtrl } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import { withArticle } from '../../../shared/counted.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import { Misuse } from '../../base/failure.js';
import { requireZeroOut } from '../../input/histogram.js';
import { WORKLOAD_OPTION } from '../../input/workload.js';
import type { Args } from '../../options/args.js';
import { PROBABILITY } from '../../options/numbers.js';
import { under } from '../../options/option.js';
import type { PlannedRun } from './question.js';
import { countStd, MOST_COMPARED, type CountingStream } from './choice.js';
import { optionsOf, type StreamKind } from './open.js';
import type { TableQuestion } from './prepare.js';
import {
  readSettings,
  STREAM_OPTIONS,
  type ReleaseCommand,
  type ReleaseSettings,
} from './settings.js';

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
 * Reads the settings, whether times are fixed, and how steps are shown.
 * @param counted  how a row is counted, in words.
 */
export async function readStatistic(
  dp: DpFtrl,
  { command, args, counted }: { command: ReleaseCommand; args: Args; counted: string },
) {
  const settings = await readSettings(dp, command, args);
  const { json, written, times, people, neighbours, missing } = settings;
  const fixedTimes = args.has('fixed-times');
  if (fixedTimes && neighbours !== 'replace-one') {
    throw new Misuse('--fixed-times needs --neighbours replace-one: zero-out replaces no row');
  }
  requireZeroOut(missing, neighbours);
  const first = people && times ? `only their first row of ${withArticle(times.bucket)}, ` : '';
  return {
    settings,
    clippedTo: `${first}${counted}`,
    fixedTimes,
    confidence: settings.confidence ?? DEFAULT_CONFIDENCE,
    shown: { json, format: written, timeColumn: times?.heading },
  };
}

/** Warns that the numbers of a step cover all rows so far, unless the user named the workload. */
export function soFarNotices({
  prepared,
  settings,
}: Pick<PlannedRun<Reading>, 'prepared' | 'settings'>): readonly string[] {
  const { times, workloads } = settings;
  if (!times || workloads.length > 0 || prepared.workloads[0] !== 'prefix') return [];
  const what = `the numbers of each ${times.bucket} are of all rows up to its end`;
  return [`${what}: --workload window=1 has those of the ${times.bucket} alone`];
}

/**
 * Compares the noise of counts in moments or histograms. The noise is Gaussian, and the ratios
 * between the noise of different columns are the same for every mechanism, so comparing the counts
 * suffices.
 */
export function comparedCounts(
  settings: ReleaseSettings,
  { name, options }: Pick<StreamKind, 'options'> & { name: 'moments' | 'histogram' },
): NonNullable<TableQuestion['compared']> {
  return ({ dp, columns, workload, numSteps: steps }) => {
    const { participation } = settings;
    // For a single participation, the default is optimal.
    if (steps > MOST_COMPARED || participation === 'once') return undefined;
    const make = dp[name] as unknown as (options: object) => CountingStream;
    return {
      hasLaplace: false,
      of: 'count',
      stdOf: countStd(
        ({ strategy, target }) =>
          make({
            ...optionsOf(settings, { problem: { strategy, steps, participation }, target }),
            ...options(columns, [workload], target),
          }),
        steps,
      ),
    };
  };
}
