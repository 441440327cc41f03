// SPDX-License-Identifier: Apache-2.0

// Reads the options that all commands with a stream share, and checks their combination.

import type { DpFtrl } from '../../../types/all.js';
import { PLOT_OPTIONS, PlotFile } from '../../charts/file.js';
import { FORMAT_OPTIONS, inputFormat, outputFormat } from '../../input/format.js';
import { Missing, STEPS_MISSING } from '../../input/missing.js';
import { participationOf, PEOPLE_OPTIONS, readPeople } from '../../input/people.js';
import { readColumns } from '../../input/columns.js';
import { readTimes, TIME_OPTIONS } from '../../input/time.js';
import { readWorkloadOptions } from '../../input/workload.js';
import type { Args } from '../../options/args.js';
import { STRATEGY_OPTIONS } from '../../options/mechanism.js';
import { readMode } from '../../options/mode.js';
import { STEPS } from '../../options/numbers.js';
import { under } from '../../options/option.js';
import { DRY_OPTION, OUTPUT_OPTION, QUIET_OPTION, SEED_OPTION } from '../../options/output.js';
import { PARTICIPATION_OPTIONS } from '../../options/participation.js';
import { readNeighbours, readTarget } from '../../options/privacy.js';
import { chosenParticipation, readChosen, stepsOf } from '../../options/strategy.js';
import { SharedBudget, BUDGET_OPTIONS } from '../../state/budget.js';
import { readState } from '../../state/state-file.js';
import { STATE_OPTIONS } from '../../state/state.js';

export type ReleaseCommand = 'release' | 'count' | 'active' | 'moments' | 'histogram';

export const OUTPUT_OPTIONS = {
  ...OUTPUT_OPTION,
  output: {
    ...OUTPUT_OPTION.output,
    meaning:
      'written whole or not at all, instead of standard output; with --state, a run that stops ' +
      'early writes the steps that it released',
  },
  ...PLOT_OPTIONS,
  ...QUIET_OPTION,
  ...DRY_OPTION,
  ...SEED_OPTION,
};

/** Options common to release, moments and histogram. */
export const STREAM_OPTIONS = {
  ...TIME_OPTIONS,
  ...PEOPLE_OPTIONS,
  ...PARTICIPATION_OPTIONS,
  'min-separation': {
    ...PARTICIPATION_OPTIONS['min-separation'],
    meaning:
      'least distance of two steps of a user, or with --user-column of two that count (default 1)',
  },
  ...FORMAT_OPTIONS,
  ...STEPS_MISSING,
  ...STRATEGY_OPTIONS,
  ...BUDGET_OPTIONS,
  ...under('State', {
    steps: {
      value: 'N',
      number: STEPS,
      meaning:
        'horizon: number of rows (or buckets) the noise is calibrated for. With it, a saved ' +
        '--strategy, or --from and --to, rows are released as they arrive, and stay valid if ' +
        'a later one is bad. Otherwise all of the input is read first, and a bad row means ' +
        'that nothing is written',
      brief: 'largest number of rows, which are then released as they come',
    },
  }),
  ...STATE_OPTIONS,
  ...OUTPUT_OPTIONS,
};

/** Maximum number of steps of a stream without a horizon, as in the package. */
const ENDLESS_STEPS = 2 ** 20;

export async function readSettings(dp: DpFtrl, command: ReleaseCommand, args: Args) {
  const people = readPeople(args);
  const { texts: workloads, names: sums } = readWorkloadOptions(args);
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
    budget: SharedBudget.read(args),
    state: readState(args, dp.strategies),
    ...readMode(args),
    seed: args.seed(),
    showTrue: args.has('show-nonprivate'),
    output: args.text('output'),
    written: outputFormat(args),
    plot: PlotFile.read(args),
    json: args.has('json'),
    quiet: args.has('quiet'),
    isDry: args.has('dry-run'),
    /** Whether there is no horizon. */
    isEndless: args.has('endless'),
    ...readColumns(args),
    confidence: args.number('confidence'),
    decoder: args.text('decoder'),
    workloads,
    /** Names of the sums of several workloads. */
    sums,
    format: inputFormat(command, args),
    missing: Missing.read(args, { areSteps: times === undefined }),
  };
  const chosen = await readChosen(args, dp.strategies);
  const participation = people ? participationOf(people) : chosenParticipation(args, chosen);
  const steps = settings.isEndless ? ENDLESS_STEPS : stepsOf(args, chosen);
  return { ...settings, chosen, participation, steps };
}

export type ReleaseSettings = Awaited<ReturnType<typeof readSettings>>;
