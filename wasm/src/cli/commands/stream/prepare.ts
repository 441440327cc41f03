// SPDX-License-Identifier: Apache-2.0

// Reads what a release needs of its table before the first row: columns, order and horizon, and
// the mechanism for it.

import { counted } from '../../../shared/counted.js';
import { Span } from '../../../shared/span.js';
import type { DpFtrl, MechanismName, MechanismParameters } from '../../../types/all.js';
import type { Participation, SavedStrategy, Workload } from '../../../types/all.js';
import type { PrivacyTarget } from '../../../types/streams/options.js';
import { Misuse } from '../../base/failure.js';
import { isRegularFile } from '../../input/input.js';
import { personOf } from '../../input/people.js';
import { faultAt, placeOf, placeText, type Place } from '../../input/place.js';
import type { Wanted } from '../../input/rows.js';
import { stepsOf, textColumns, type StepOptions } from '../../input/steps.js';
import { RowStream } from '../../input/stream.js';
import { Clock, keyOf, timeOf, type Times } from '../../input/time.js';
import { readWorkloads } from '../../input/workload.js';
import { withDefault, type Chosen } from '../../options/strategy.js';
import { findFirst } from '../../output/progress.js';
import { boundOf } from '../../../shared/problem.js';
import { chooseNoise, type Choice } from './choice.js';
import type { Settings } from './settings.js';

/** Columns to read, except those of texts, which are added. */
export type TableColumns = Omit<Wanted, 'texts' | 'format' | 'missing' | 'ids'>;

/** A mechanism, and the problem that it is for. */
export interface Problem extends MechanismParameters {
  mechanism: MechanismName | SavedStrategy;
  numSteps: number;
  participation: Participation;
  workload?: Workload;
}

/** A table and a mechanism that are ready for a release. */
export interface ReleasePlan {
  chosen: Chosen;
  rows: RowStream;
  /** Whether the horizon was counted in an earlier pass over the input. */
  surveyed: boolean;
  /** Whether all rows are checked before the budget is charged. */
  isRehearsed: boolean;
  /** Workloads that are released together. */
  workloads: readonly Workload[];
  problem: Problem;
  target: PrivacyTarget;
  /** Present if the noise was chosen for the question. */
  choice: Choice | undefined;
}

/** The part of a question that is about the table and the mechanism. */
export interface TableQuestion {
  wanted: TableColumns;
  /** Workloads of the question; by default those of --workload. */
  workloads?: readonly Workload[];
  /** Clip norm of a question for which the noise is chosen, if no mechanism is named. */
  chosenFor?: number | undefined;
}

/** Sorts the rows, whose columns must be in their final order. */
export function sortByTime(rows: RowStream, times: Times): Promise<void> {
  return rows.sort((batch, i) => {
    const texts = batch.texts.at(-1)!;
    return keyOf(timeOf(texts, i, { times, where: placeOf(batch, i) }), times);
  });
}

/** Counts the steps of the input, which is then read twice. */
export async function countSteps({ people, times }: Settings, rows: RowStream): Promise<number> {
  let numSteps = 0;
  const timed = times && {
    clock: new Clock(times),
    span: new Span<Place>(times.bucket, times.first !== undefined),
  };
  await rows.survey((batch) => {
    const { numRows, texts } = batch;
    for (let i = 0; i < numRows; ++i) {
      if (people && !batch.blank?.has(i)) personOf(batch, i, people, texts[0]!);
      if (!timed) {
        numSteps += 1;
        continue;
      }
      const place = placeOf(batch, i);
      const step = timed.clock.advance(texts.at(-1)!, i, place);
      if (step === undefined) continue;
      timed.span.add(step, place);
      numSteps = step + 1;
    }
  });
  if (numSteps === 0) throw new Misuse('no row of the input is at or after --from');
  const excess = timed?.span.excess((place) => (place ? placeText(place) : '--from'));
  if (excess) {
    const what = `${excess.what}, or give --from and --to`;
    throw faultAt(excess.to, { code: 'past_horizon', what, column: times!.column });
  }
  return numSteps;
}

/** Returns the given horizon; undefined if the input must be counted. */
export function givenSteps({ steps, times, state }: Settings): number | undefined {
  // With --state, --to only limits this run, not the horizon of all runs.
  const isRange = times?.last !== undefined && !state;
  if (!isRange) return steps;
  const range = times.last! - times.first! + 1;
  // A saved strategy has its own horizon.
  if (steps === undefined || range === steps) return range;
  throw new Misuse(`--from and --to span ${counted(range, 'step')}, the strategy is for ${steps}`);
}

/**
 * Chooses the noise of a question, unless the caller named it or gave a parameter, which is one of
 * the default mechanism. A budget has one account, in which
 * Laplace noise costs far more than Gaussian noise of the same guarantee, so that it is --pure that
 * asks for it.
 */
function choiceOf(
  dp: DpFtrl,
  { chosen, target, participation, neighbours, budget }: Settings,
  {
    numSteps,
    workloads,
    clip,
  }: { numSteps: number; workloads: readonly Workload[]; clip: number | undefined },
): Choice | undefined {
  const hasParameters = Object.keys(chosen.parameters).length > 0;
  const isNamed =
    chosen.isNamed || chosen.saved !== undefined || hasParameters || target.delta === 0;
  if (clip === undefined || isNamed || workloads.length > 1) return undefined;
  return chooseNoise(dp, {
    steps: numSteps,
    workload: workloads[0]!,
    participation: boundOf(participation),
    ...{ clip, target, neighbours },
    isGaussian: budget !== undefined,
  });
}

/** Reads the header and the horizon, and searches for parameters first if that takes long. */
export async function prepare(
  dp: DpFtrl,
  settings: Settings,
  { wanted, workloads: own, chosenFor }: TableQuestion,
): Promise<ReleasePlan> {
  const { people, times, quiet, state, budget, output, files, format, missing } = settings;
  const texts = textColumns(people, times).names;
  const table = { ...wanted, texts, ids: people?.column, format, missing };
  const rows = await RowStream.open(files, table);
  if (times?.sorts && state === undefined) await sortByTime(rows, times);
  const known = givenSteps(settings);
  const numSteps = known ?? (await countSteps(settings, rows));
  const given = own ?? (await readWorkloads(settings.workloads, numSteps));
  const workloads = given.length > 0 ? given : [settings.chosen.saved?.workload ?? 'prefix'];
  const choice = choiceOf(dp, settings, { numSteps, workloads, clip: chosenFor });
  const target = choice?.target ?? settings.target;
  const chosen = choice
    ? { ...settings.chosen, mechanism: choice.mechanism, name: choice.mechanism }
    : withDefault(settings.chosen, { numSteps, workloads, isPure: target.delta === 0 });
  const problem = {
    mechanism: chosen.mechanism,
    ...chosen.parameters,
    numSteps,
    participation: settings.participation,
    ...(given.length === 1 && { workload: given[0]! }),
  };
  // With --state, the mechanism keeps the name with which the state was begun.
  const isSearched = workloads.length === 1 && state === undefined && !quiet && target.delta !== 0;
  // Rows of standard input are otherwise released as they arrive.
  const isWhole = output !== undefined || times?.sorts === true || (await isRegularFile(files));
  return {
    chosen,
    rows,
    surveyed: known === undefined,
    isRehearsed: budget !== undefined && !state && known !== undefined && isWhole,
    workloads,
    target,
    choice,
    problem: isSearched
      ? await findFirst(dp, problem, `${settings.command}: ${chosen.name}`)
      : problem,
  };
}

/**
 * Reads all rows once, as the release will, so that their faults end a run before it is charged.
 *
 * @throws Misuse for the first fault.
 */
export async function rehearse(rows: RowStream, options: StepOptions): Promise<void> {
  const steps = stepsOf(options);
  await rows.survey(
    (batch) => {
      for (const act of steps.take(batch)) if (act.kind === 'fault') throw act.fault;
    },
    { mayBeEmpty: true },
  );
}
