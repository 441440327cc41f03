// SPDX-License-Identifier: Apache-2.0

// Options of commands that release moments or histograms.

import type { DpFtrl } from '../../../types/all.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import { Misuse } from '../../base/failure.js';
import { requireZeroOut } from '../../input/histogram.js';
import type { Args, Known } from '../../options/args.js';
import { readSettings, STREAM_OPTIONS, type Command } from './settings.js';

export const STATISTIC_OPTIONS: Known = {
  ...STREAM_OPTIONS,
  'fixed-times': 'flag',
  confidence: 'value',
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
