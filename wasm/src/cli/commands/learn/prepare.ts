// SPDX-License-Identifier: Apache-2.0

// Reads the table, chooses the learner of dp-ftrl learn, and states its guarantee.

import type { Certificate, DpFtrl, Participation } from '../../../types/all.js';
import { guarantee, protection } from '../../input/protection.js';
import type { RowStream } from '../../input/stream.js';
import type { Args } from '../../options/args.js';
import { lossOf, type LearnerSettings } from '../../options/learner.js';
import { readChosen, requireDecoder, stepsOf } from '../../options/strategy.js';
import type { ChosenStrategy } from '../../options/strategy.js';
import { requireWritable } from '../../output/output.js';
import { findFirst } from '../../output/progress.js';
import { optionsFor, reasonFor } from './defaults.js';
import { openTest } from './hindsight.js';
import { penaltyFor } from './penalty.js';
import { readProblem, unscaledText, type LearnProblem } from './problem.js';
import { readPattern, type LearnSettings } from './settings.js';
import { withoutText } from './whole.js';

/** Inputs that a run reads before it chooses how to learn. */
export interface LearnInputs {
  chosen: ChosenStrategy;
  participation: Participation;
  problem: LearnProblem;
}

/** Settings of a run, complete before it learns. */
export interface LearnPreparation extends LearnInputs {
  how: LearnerSettings;
  /** Clauses of the guarantee about features without a range and about chosen settings. */
  notes: string;
  /** Warning about features without a range, if they are clipped. */
  warning: string | undefined;
  /** Why second moments are not estimated first; '' if there is nothing to say. */
  without: string;
  /** Rows of --test. */
  test: RowStream | undefined;
}

/** Reads the mechanism; steps over all rows always use independent noise. */
async function readMechanism(
  dp: DpFtrl,
  args: Args,
  { setup }: LearnSettings,
): Promise<ChosenStrategy> {
  if (setup !== 'table') return readChosen(args, dp.strategies);
  const name = 'independent';
  return { strategy: { name }, name, saved: undefined };
}

/** Defaults for options that were not given. */
function chosenFor(
  dp: DpFtrl,
  { target, setup, passes, rates }: LearnSettings,
  { problem, dimension }: { problem: LearnProblem; dimension: number },
): LearnerSettings | undefined {
  if (setup === undefined) return undefined;
  const { numSteps, batchSize } = problem;
  const rows = (numSteps / passes) * batchSize;
  return optionsFor(dp, setup, { target, rates, rows, batchSize, dimension });
}

export async function open(dp: DpFtrl, args: Args, settings: LearnSettings): Promise<LearnInputs> {
  const chosen = await readMechanism(dp, args, settings);
  await requireDecoder(args.text('decoder'), chosen, ['prefix']);
  const participation = readPattern(args, chosen, settings);
  await requireWritable(settings.model, 'model');
  await settings.plot?.check();
  const problem = await readProblem(args, settings, stepsOf(args, chosen));
  return { chosen, participation, problem };
}

/**
 * Completes the options with defaults, and searches for the parameters of the mechanism in advance,
 * to show the progress.
 */
export async function prepare(
  dp: DpFtrl,
  args: Args,
  { settings, opened }: { settings: LearnSettings; opened: LearnInputs },
): Promise<LearnPreparation> {
  const { target, intercept, seed, quiet, state, penalty } = settings;
  const { chosen, participation, problem } = opened;
  const { features } = problem.examples;
  const { label } = settings;
  const columns = [...features, label];
  const test = settings.test && (await openTest(settings.test, { columns, label, target }));
  const dimension = problem.inputs.length + Number(intercept);
  // With --state, the strategy keeps the name under which the state was begun.
  const isSearched = state === undefined && !quiet;
  const { numSteps } = problem;
  const { epsilon, delta, neighbours } = target;
  const { strategy: given } = chosen;
  const sought = { strategy: given, steps: numSteps, participation, neighbours, epsilon, delta };
  const { strategy } = isSearched ? await findFirst(dp, sought, `learn: ${chosen.name}`) : sought;
  const { numClasses: _classes, quantile: _level, huberThreshold: _from, ...others } = target;
  const how: LearnerSettings = {
    ...others,
    ...chosenFor(dp, settings, { problem, dimension }),
    loss: lossOf(target),
    batchSize: problem.batchSize,
    participation,
    strategy,
    steps: numSteps,
    dimension,
    ...(penalty && { penalty: penaltyFor(penalty, { inputs: problem.inputs, intercept }) }),
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  const { setup } = settings;
  const { note, warning } = unscaledText(args, problem.inputs, setup);
  const numRows = (problem.numSteps / settings.passes) * problem.batchSize;
  const reason = setup && `; ${reasonFor(dp, setup, { target, how, numRows })}`;
  const without = withoutText(dp, settings, problem);
  const notes = `${note}${reason ?? ''}${without && `; ${without}`}`;
  return { ...opened, how, notes, warning, without, test };
}

/** Says whom a run protects, and its guarantee in one sentence. */
export function promiseOf(
  certificate: Certificate,
  { passes, mode, missing }: LearnSettings,
  { chosen, participation, problem, notes }: LearnPreparation,
) {
  const protects = {
    participation: passes > 1 ? 'once' : participation,
    people: undefined,
    times: undefined,
    numSteps: problem.numSteps,
    passes,
    batchSize: problem.batchSize,
  } as const;
  const instead = '--participations, a promise that is not checked';
  const whom = protection({ ...protects, instead });
  const about = { mechanism: chosen.name, columns: problem.rows.columns, unit: whom.unit };
  const { claim } = missing;
  const spoken = { name: chosen.name, mode, whom, what: 'its gradient ', missing: claim };
  const sentence = `${guarantee(certificate, spoken)}; ${certificate.algorithm}${notes}`;
  return { protects, whom, about, sentence };
}
