// SPDX-License-Identifier: Apache-2.0

// Prepares a release: determines the columns and their order, the horizon and the mechanism.

import { counted } from '../../../shared/counted.js';
import { Span } from '../../../shared/span.js';
import type { DpFtrl, Participation, Workload } from '../../../types/all.js';
import type { PrivacyTarget } from '../../../types/streams/options.js';
import { Misuse } from '../../base/failure.js';
import { isRegularFile } from '../../input/input.js';
import { personOf } from '../../input/people.js';
import { faultAt, placeOf, placeText, type RowPlace } from '../../input/place.js';
import type { RowRequest } from '../../input/rows.js';
import { stepsOf, textColumns, type StepOptions } from '../../input/steps.js';
import { RowStream } from '../../input/stream.js';
import { Clock, keyOf, timeOf, type TimeColumn } from '../../input/time.js';
import { readWorkloads, workloadText } from '../../input/workload.js';
import {
  hasLaplace,
  parametersOf,
  requireDecoder,
  withDefault,
  type ChosenStrategy,
} from '../../options/strategy.js';
import { findFirst } from '../../output/progress.js';
import type { State } from '../../state/state.js';
import { chooseNoise, targetOf, type ChoiceProblem, type ChosenNoise } from './choice.js';
import type { ReleaseSettings } from './settings.js';

/** Request for numeric columns; text columns are appended. */
export type TableColumns = Omit<RowRequest, 'texts' | 'format' | 'missing' | 'ids'>;

/** A strategy and the problem that it solves. */
export interface ReleaseProblem extends Pick<ChosenStrategy, 'strategy'> {
  steps: number;
  participation: Participation;
  workload?: Workload;
}

/** A table and a mechanism that are ready for a release. */
export interface ReleasePlan {
  chosen: ChosenStrategy;
  rows: RowStream;
  /** Whether all rows are checked before the budget is charged. */
  isRehearsed: boolean;
  /** Workloads that are released together. */
  workloads: readonly Workload[];
  problem: ReleaseProblem;
  target: PrivacyTarget;
  /** Present if the noise was chosen for the question. */
  choice: ChosenNoise | undefined;
}

/** The part of a question that is about the table and the mechanism. */
export interface TableQuestion {
  wanted: TableColumns;
  /** Workloads of the question; by default from --workload. */
  workloads?: readonly Workload[];
  /** Whether the stream chooses its strategy. */
  isOfPeople?: boolean;
  /** How to choose the noise if no strategy is named; undefined if there is no choice. */
  compared?(asked: ComparedQuestion): Compared | undefined;
}

/** A question about a table whose noise can be chosen. */
export interface ComparedQuestion {
  dp: DpFtrl;
  columns: readonly string[];
  workload: Workload;
  numSteps: number;
}

/** How the kinds of noise for a question are compared. */
export interface Compared extends Pick<ChoiceProblem, 'stdOf'> {
  /**
   * Whether Laplace noise is available, as it is for records that are one number or a one-hot
   * vector.
   */
  hasLaplace: boolean;
  /**
   * Names the numbers to which the standard deviation applies; absent if it applies to all numbers.
   */
  of?: string;
}

/** Sorts the rows, whose columns must be in their final order. */
export function sortByTime(rows: RowStream, times: TimeColumn): Promise<void> {
  return rows.sort((batch, i) => {
    const texts = batch.texts.at(-1)!;
    return keyOf(timeOf(texts, i, { times, batch }), times);
  });
}

/** Counts the steps of the input in a separate pass over it. */
export async function countSteps(
  { people, times }: ReleaseSettings,
  rows: RowStream,
): Promise<number> {
  let numSteps = 0;
  const timed = times && {
    clock: new Clock(times),
    span: new Span<RowPlace>(times.bucket, times.first !== undefined),
  };
  await rows.survey((batch) => {
    const { numRows, texts } = batch;
    for (let i = 0; i < numRows; ++i) {
      if (people && !batch.blank?.has(i)) personOf(batch, i, people, texts[0]!);
      if (!timed) {
        numSteps += 1;
        continue;
      }
      const step = timed.clock.advance(texts.at(-1)!, i, batch);
      if (step === undefined) continue;
      timed.span.add(step, placeOf(batch, i));
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

/** The horizon that the options determine; undefined if the steps of the input must be counted. */
export function givenSteps(settings: ReleaseSettings): number | undefined {
  const { steps, times, state, isEndless } = settings;
  // With --state, --to only limits this run, not the horizon of all runs.
  const isRange = times?.last !== undefined && !state && !isEndless;
  if (!isRange) return steps;
  const range = times.last! - times.first! + 1;
  // `steps` is then the horizon of a saved strategy.
  if (steps === undefined || range === steps) return range;
  throw new Misuse(`--from and --to span ${counted(range, 'step')}, the strategy is for ${steps}`);
}

/**
 * The workloads of --workload or --workloads or, without these, the workload of the saved strategy
 * or prefix sums.
 */
function workloadsOf({ chosen }: ReleaseSettings, given: readonly Workload[]): readonly Workload[] {
  return given.length > 0 ? given : [chosen.saved?.workload ?? 'prefix'];
}

/** Options that determine the choice of the noise. Later runs of a --state must repeat them. */
export function noiseOptions(
  settings: ReleaseSettings,
  { given }: OpenTable,
): Readonly<Record<string, string>> {
  const { chosen, target, mode } = settings;
  const { isNamed, saved, name } = chosen;
  const parameters = Object.entries(isNamed ? {} : parametersOf(chosen));
  return {
    delta: target.delta === 0 ? '' : String(target.delta),
    workload: workloadsOf(settings, given).map(workloadText).join(),
    mode,
    ...((isNamed || saved) && { strategy: name }),
    ...Object.fromEntries(parameters.map(([option, value]) => [option, String(value)])),
  };
}

/** Whether the user named the noise, or gave a parameter of the default mechanism. */
export function isNoiseNamed({ chosen, target }: ReleaseSettings): boolean {
  const hasParameters = Object.keys(parametersOf(chosen)).length > 0;
  return chosen.isNamed || chosen.saved !== undefined || hasParameters || target.delta === 0;
}

/**
 * Chooses the noise for a question, unless the user named it. Under a budget, both kinds of noise
 * are charged to one account, in which Laplace noise costs far more than Gaussian noise with the
 * same guarantee, so only --pure selects Laplace noise there.
 */
function choiceOf(
  dp: DpFtrl,
  settings: ReleaseSettings,
  {
    numSteps,
    workload,
    compared,
  }: { numSteps: number; workload: Workload; compared: Compared | undefined },
): ChosenNoise | undefined {
  if (compared === undefined) return undefined;
  const { target, participation, budget } = settings;
  const isKnown = compared.hasLaplace && hasLaplace(workload);
  const laplace = !isKnown ? 'unknown' : budget === undefined ? 'allowed' : 'named';
  const { stdOf, of } = compared;
  const problem = { steps: numSteps, workload, participation, target, stdOf };
  return { ...chooseNoise(dp, { ...problem, laplace }), of };
}

/** The choice made by the run that began a state; undefined if the noise was named. */
function keptChoice({ noise }: State, target: PrivacyTarget): ChosenNoise | undefined {
  const kept = noise as ChosenNoise | undefined;
  return kept && { ...kept, target: targetOf(kept.noise, target) };
}

/** Rows of a table, and the number of steps that they make. */
export interface OpenTable {
  rows: RowStream;
  numSteps: number;
  /** Whether the horizon was counted in an earlier pass over the input. */
  surveyed: boolean;
  /** Workloads of --workload or --workloads. */
  given: readonly Workload[];
}

/** Reads the header and the horizon. */
export async function openTable(
  settings: ReleaseSettings,
  { wanted }: TableQuestion,
): Promise<OpenTable> {
  const { people, times, state, files, format, missing } = settings;
  const texts = textColumns(people, times).names;
  const table = { ...wanted, texts, ids: people?.column, format, missing };
  const rows = await RowStream.open(files, table);
  if (times?.sorts && state === undefined) await sortByTime(rows, times);
  const known = givenSteps(settings);
  const numSteps = known ?? (await countSteps(settings, rows));
  const given = await readWorkloads(settings.workloads, numSteps);
  return { rows, numSteps, surveyed: known === undefined, given };
}

/**
 * Chooses the noise, and searches for the parameters of the mechanism in advance, to show the
 * progress.
 *
 * @param state  state whose first run chose the noise; undefined if this run chooses it.
 */
export async function prepare(
  dp: DpFtrl,
  settings: ReleaseSettings,
  {
    question,
    table,
    state,
  }: { question: TableQuestion; table: OpenTable; state?: State | undefined },
): Promise<ReleasePlan> {
  const { compared, isOfPeople = false } = question;
  const { times, quiet, budget, output, files } = settings;
  const { rows, numSteps, surveyed } = table;
  const given = question.workloads ?? table.given;
  const workloads = workloadsOf(settings, given);
  await requireDecoder(settings.decoder, settings.chosen, workloads);
  const [workload, ...others] = workloads as [Workload, ...Workload[]];
  const isChosen = others.length === 0 && !isNoiseNamed(settings);
  const asked = { dp, columns: rows.columns, workload, numSteps };
  const choice = state?.isBegun
    ? keptChoice(state, settings.target)
    : choiceOf(dp, settings, {
        ...{ numSteps, workload },
        compared: isChosen ? compared?.(asked) : undefined,
      });
  const target = choice?.target ?? settings.target;
  const chosen = choice
    ? { ...settings.chosen, strategy: choice.strategy, name: choice.mechanism }
    : withDefault(settings.chosen, { numSteps, workloads, isPure: target.delta === 0 });
  const problem = {
    strategy: chosen.strategy,
    steps: numSteps,
    participation: settings.participation,
    ...(given.length === 1 && { workload: given[0]! }),
  };
  // With --state, the mechanism keeps the name under which the state was begun.
  const isSearched =
    workloads.length === 1 && !isOfPeople && state === undefined && !quiet && target.delta !== 0;
  // Otherwise, rows of standard input are released as they arrive.
  const isWhole = output !== undefined || times?.sorts === true || (await isRegularFile(files));
  return {
    chosen,
    rows,
    isRehearsed: budget !== undefined && !state && !surveyed && isWhole,
    workloads,
    target,
    choice,
    problem: isSearched
      ? await findFirst(dp, problem, `${settings.command}: ${chosen.name}`)
      : problem,
  };
}

/**
 * Reads all rows once, as the release will do, so that a fault ends the run before the budget is
 * charged.
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
