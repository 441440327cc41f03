// SPDX-License-Identifier: Apache-2.0

// Options shared by all commands that release statistics.

import { PLOT_OPTIONS } from '../../charts/file.js';
import { Misuse } from '../../base/failure.js';
import { requireZeroOut } from '../../input/histogram.js';
import { Missing } from '../../input/missing.js';
import type { Args, Known } from '../../options/args.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import { readSettings, STREAM_OPTIONS } from '../release/settings.js';

export const STATISTIC_OPTIONS: Known = {
  ...STREAM_OPTIONS,
  'fixed-times': 'flag',
  confidence: 'value',
  output: 'value',
  ...PLOT_OPTIONS,
  json: 'flag',
  quiet: 'flag',
  seed: 'value',
};

/** Placeholder, because settings require a clip norm but records of statistics have no norm. */
const NO_CLIP = '1';

/**
 * Reads the settings, the promise of fixed times, the confidence, and how steps are shown.
 * @param counted  treatment of a row, in words
 */
export function readStatisticSettings(args: Args, counted: string) {
  const settings = readSettings(args.with('clip', NO_CLIP));
  const { json, written, times, people, target } = settings;
  const fixedTimes = args.has('fixed-times');
  if (fixedTimes && target.neighbours !== 'replace-one') {
    throw new Misuse('--fixed-times needs --neighbours replace-one: zero-out replaces no row');
  }
  const first = people && times ? `only their first row of a ${times.bucket}, ` : '';
  const missing = Missing.read(args, { areSteps: times === undefined });
  requireZeroOut(missing, target.neighbours);
  return {
    settings,
    missing,
    clippedTo: `${first}${counted}`,
    fixedTimes,
    confidence: args.probability('confidence') ?? DEFAULT_CONFIDENCE,
    shown: { json, format: written, timeColumn: times?.heading },
  };
}
