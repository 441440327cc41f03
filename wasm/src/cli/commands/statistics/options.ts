// SPDX-License-Identifier: Apache-2.0

// Options shared by all commands that release statistics.

import { PLOT_OPTIONS } from '../../charts/file.js';
import { requireZeroOut } from '../../input/histogram.js';
import { Missing } from '../../input/missing.js';
import type { Args, Known } from '../../options/args.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import { readSettings, STREAM_OPTIONS } from '../release/settings.js';

export const STATISTIC_OPTIONS: Known = {
  ...STREAM_OPTIONS,
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
 * Reads the settings, the confidence, and how steps are shown.
 * @param counted  treatment of a row, in words
 */
export function readStatisticSettings(args: Args, counted: string) {
  const settings = readSettings(args.with('clip', NO_CLIP));
  const { json, written, times, people } = settings;
  const first = people && times ? `only their first row of a ${times.bucket}, ` : '';
  const missing = Missing.read(args, { areSteps: times === undefined });
  requireZeroOut(missing, settings.target.neighbours);
  return {
    settings,
    missing,
    clippedTo: `${first}${counted}`,
    confidence: args.probability('confidence') ?? DEFAULT_CONFIDENCE,
    shown: { json, format: written, timeColumn: times?.heading },
  };
}
