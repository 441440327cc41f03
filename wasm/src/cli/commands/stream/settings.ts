// SPDX-License-Identifier: Apache-2.0

// Reads the options that all commands with a stream share, and checks their combination.

import type { DpFtrl } from '../../../types/all.js';
import { PLOT_OPTIONS, PlotFile } from '../../charts/file.js';
import { FORMAT_OPTIONS, inputFormat, outputFormat } from '../../input/format.js';
import { Missing, MISSING_OPTIONS } from '../../input/missing.js';
import { participationOf, PEOPLE_OPTIONS, readPeople } from '../../input/people.js';
import { readRanges } from '../../input/ranges.js';
import { readTimes, TIME_OPTIONS } from '../../input/time.js';
import { requireNamedOrFile } from '../../input/workload.js';
import type { Args, Known } from '../../options/args.js';
import { PARTICIPATION_OPTIONS, readNeighbours, readTarget } from '../../options/mechanism.js';
import { STRATEGY_OPTIONS } from '../../options/mechanism.js';
import { readMode } from '../../options/mode.js';
import { chosenParticipation, readChosen, stepsOf } from '../../options/strategy.js';
import { Budget, BUDGET_OPTIONS } from '../../state/budget.js';
import { readState } from '../../state/state-file.js';
import { STATE_OPTIONS } from '../../state/state.js';

export type Command = 'release' | 'count' | 'moments' | 'histogram';

/** Options for the output. */
export const OUTPUT_OPTIONS: Known = {
  seed: 'value',
  output: 'value',
  ...PLOT_OPTIONS,
  json: 'flag',
  quiet: 'flag',
};

/** Options of every command whose stream may have any workload, and may continue. */
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
  ...OUTPUT_OPTIONS,
};

export async function readSettings(dp: DpFtrl, command: Command, args: Args) {
  const people = readPeople(args);
  requireNamedOrFile(args);
  const target = readTarget(args);
  const neighbours = readNeighbours(args);
  const times = readTimes(args);
  const settings = {
    command,
    files: args.files,
    people,
    target,
    neighbours,
    times,
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
    columns: args.texts('column'),
    ranges: readRanges(args),
    confidence: args.probability('confidence'),
    workloads: args.texts('workload'),
    format: inputFormat(command, args),
    missing: Missing.read(args, { areSteps: times === undefined }),
  };
  const chosen = await readChosen(args, dp.strategies);
  const participation = people ? participationOf(people) : chosenParticipation(args, chosen);
  return { ...settings, chosen, participation, steps: stepsOf(args, chosen) };
}

export type Settings = Awaited<ReturnType<typeof readSettings>>;
