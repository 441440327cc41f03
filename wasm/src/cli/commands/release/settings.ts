// SPDX-License-Identifier: Apache-2.0

// Reads the options of dp-ftrl release and checks their combination.

import { PLOT_OPTIONS, PlotFile } from '../../charts/file.js';
import { DECIMAL_OPTIONS, FORMAT_OPTIONS, outputFormat } from '../../input/format.js';
import { MISSING_OPTIONS } from '../../input/missing.js';
import { participationOf, PEOPLE_OPTIONS, readPeople } from '../../input/people.js';
import { readTimes, TIME_OPTIONS } from '../../input/time.js';
import type { Args, Known } from '../../options/args.js';
import { PARTICIPATION_OPTIONS, readNeighbours } from '../../options/mechanism.js';
import { readParticipation, readTarget, STRATEGY_OPTIONS } from '../../options/mechanism.js';
import { MODE_OPTIONS, readMode } from '../../options/mode.js';
import { requireNamedOrFile } from '../../input/workload.js';
import { Budget, BUDGET_OPTIONS } from '../../state/budget.js';
import { readState } from '../../state/state-file.js';
import { STATE_OPTIONS } from '../../state/state.js';

/** Options of every command that releases totals. */
export const OUTPUT_OPTIONS: Known = {
  seed: 'value',
  output: 'value',
  ...PLOT_OPTIONS,
  'show-nonprivate': 'flag',
  json: 'flag',
  quiet: 'flag',
};

/** Options of every command that releases the rows of a table step by step. */
export const STREAM_OPTIONS: Known = {
  ...STRATEGY_OPTIONS,
  epsilon: 'value',
  delta: 'value',
  steps: 'value',
  workload: 'value',
  ...PARTICIPATION_OPTIONS,
  ...PEOPLE_OPTIONS,
  ...TIME_OPTIONS,
  ...FORMAT_OPTIONS,
  ...MISSING_OPTIONS,
  ...BUDGET_OPTIONS,
  ...STATE_OPTIONS,
  neighbours: 'value',
};

export const options: Known = {
  ...STREAM_OPTIONS,
  workload: 'values',
  importance: 'value',
  pure: 'flag',
  clip: 'value',
  column: 'values',
  range: 'values',
  count: 'flag',
  ...DECIMAL_OPTIONS,
  ...MODE_OPTIONS,
  ...OUTPUT_OPTIONS,
};

export function readSettings(args: Args) {
  const people = readPeople(args);
  requireNamedOrFile(args);
  return {
    target: {
      ...readTarget(args),
      neighbours: readNeighbours(args),
      participation: people ? participationOf(people) : readParticipation(args),
    },
    people,
    times: readTimes(args),
    budget: Budget.read(args),
    state: readState(args),
    ...readMode(args),
    seed: args.seed(),
    showTrue: args.has('show-nonprivate'),
    output: args.text('output'),
    written: outputFormat(args),
    plot: PlotFile.read(args),
    json: args.has('json'),
    quiet: args.has('quiet'),
  };
}

export type Settings = ReturnType<typeof readSettings>;
