// SPDX-License-Identifier: Apache-2.0

// Options that all commands which release statistics have in common.

import { PLOT_OPTIONS } from '../../charts/file.js';
import { FORMAT_OPTIONS } from '../../input/format.js';
import { MISSING_OPTIONS } from '../../input/missing.js';
import { TIME_OPTIONS } from '../../input/time.js';
import type { Args, Known } from '../../options/args.js';
import { PARTICIPATION_OPTIONS, STRATEGY_OPTIONS } from '../../options/mechanism.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import { BUDGET_OPTIONS } from '../../state/budget.js';
import { readSettings } from '../release/settings.js';

export const STATISTIC_OPTIONS: Known = {
  ...STRATEGY_OPTIONS,
  epsilon: 'value',
  delta: 'value',
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
  ...PLOT_OPTIONS,
  json: 'flag',
  quiet: 'flag',
  seed: 'value',
};

/** Records have no norm, which the settings want. */
const NO_CLIP = '1';

/** Settings, confidence, and how steps are shown. */
export function readStatisticSettings(args: Args) {
  const settings = readSettings(args.with('clip', NO_CLIP));
  const { json, written, times } = settings;
  return {
    settings,
    confidence: args.probability('confidence') ?? DEFAULT_CONFIDENCE,
    shown: { json, format: written, timeColumn: times?.column },
  };
}
