// SPDX-License-Identifier: Apache-2.0

// dp-ftrl learn: learns a private linear model from a CSV.

import { load } from '../../index.js';
import type { DpFtrl } from '../../types/all.js';
import { WeightsChart } from '../charts/weights.js';
import { publicCount } from '../input/protection.js';
import type { RowStream } from '../input/stream.js';
import type { Args } from '../options/args.js';
import type { Command } from '../options/command.js';
import type { LearnerSettings } from '../options/learner.js';
import { whatIsProtected } from '../options/strategy.js';
import { NOT_PRIVATE, say, SEEDED, warn, warnNotPrivate } from '../output/notices.js';
import { StepProgress } from '../output/step-progress.js';
import { warnWeak } from '../output/weak.js';
import { spendingOf } from '../state/budget.js';
import { ended } from '../state/state-file.js';
import { refuseState } from './stream/forecast.js';
import { forecast } from './learn/forecast.js';
import { Hindsight, warnTest } from './learn/hindsight.js';
import { Learning } from './learn/learning.js';
import { describe, modelOf, weightNames, writeShown } from './learn/model-report.js';
import { LEARN_OPTIONS } from './learn/options.js';
import { open, prepare, promiseOf, type LearnPreparation } from './learn/prepare.js';
import { readSettings, type LearnSettings } from './learn/settings.js';
import { momentsFirst, runWhole } from './learn/whole.js';

export const command: Command = {
  summary: 'a linear model, learned privately',
  usage: '--label NAME --epsilon E --delta D [FILE.csv]',
  about:
    'Learns a linear model of one column of a CSV file (or standard input) from the others, ' +
    '(E, D)-differentially private for one row. A FILE is learned by private gradient descent in ' +
    '120 passes, rows seen once by DP-FTRL in one pass; --algorithm names one. Clip norm, ' +
    'steps and rate are set from public numbers.',
  details: [
    'Each row is an example. Gradients are clipped, their running totals get noise, and the ' +
      'weights are computed from those alone. With --epochs or --participations the ' +
      'model is private for one user with several rows, as these promise. No rows are left out: if a user has more ' +
      'of them than promised, remove the surplus first.',
    'Without --clip and other options of the learner, all of it is set from the numbers of rows ' +
      'and features, epsilon and delta: a FILE is learned in 120 steps of all its rows, rows ' +
      'seen once (standard input, --steps, --batch, --state) in one pass. That is for losses ' +
      'whose labels are classes; the others, and runs with another option of the learner, ' +
      'mechanism or participation, get a clip norm that clips no gradient, and defaults as below; ' +
      'squared needs --clip. With --clip the default is one pass.',
    'To learn well give every feature a range in --columns: a gradient is the row of features times the ' +
      'slope of the loss, and when a long one is clipped, large features leave little of the ' +
      'others. With ranges a row of m features and the intercept has norm at most sqrt(m + 1). A ' +
      'larger --clip adds noise. If it rules out that gradients are clipped, a bound on the ' +
      'expected regret is printed. Try options on data that is not secret, with ' +
      '--show-nonprivate: every try on the rows themselves costs privacy.',
  ],
  options: LEARN_OPTIONS,
  essentials: [
    ...['epsilon', 'delta', 'label', 'loss', 'columns', 'clip', 'algorithm'],
    ...['model', 'dry-run', 'json', 'plot'],
  ],
  examples: [
    "dp-ftrl learn --label label --epsilon 1 --delta 1e-6 --columns '*=-0.5:0.5' " +
      'examples/pendulum.csv',
    'dp-ftrl learn --label label --epsilon 4 --delta 1e-6 --clip 1 --no-intercept --json ' +
      'examples/pendulum.csv > model.json && head -c 300 model.json',
    'dp-ftrl learn --loss squared --label height --columns hour=0:1007 --epsilon 4 --delta 1e-6 ' +
      '--clip 2 --strategy honaker --radius 5 examples/tide.csv',
    'head -n 1001 examples/pendulum.csv | dp-ftrl learn --label label --epsilon 4 --delta 1e-6 ' +
      '--clip 1 --no-intercept --steps 2000 --state pendulum.state',
    'sed 2,1001d examples/pendulum.csv | dp-ftrl learn --label label --epsilon 4 --delta 1e-6 ' +
      '--clip 1 --no-intercept --steps 2000 --state pendulum.state',
  ],
  run,
};

/** Prints warnings and, if the run is private, the guarantee; returns the claim for figures. */
function announce(
  { seed, fromData, showTrue, test, quiet }: LearnSettings,
  { sentence, without }: { sentence: string; without: string },
): string {
  warnNotPrivate('learn', {
    [SEEDED]: seed !== undefined,
    '--ranges-from-data reads the ranges off the data': fromData,
    '--show-nonprivate adds losses on the data': showTrue,
  });
  if (showTrue && without !== '') warn('learn', without);
  warnTest(test);
  const isPrivate = seed === undefined && !showTrue;
  if (!quiet && isPrivate) say('learn', sentence);
  return isPrivate ? sentence : NOT_PRIVATE;
}

/** Learns from all rows, after charging the budget. */
async function learn(
  dp: DpFtrl,
  learning: Learning,
  { settings, prepared }: { settings: LearnSettings; prepared: LearnPreparation },
): Promise<void> {
  const { passes, showTrue, budget, quiet } = settings;
  const { chosen, participation, problem, how, test } = prepared;
  const { learner, state } = learning;
  const { numSteps, batchSize } = problem;
  const numRows = (numSteps / passes) * batchSize;
  if (settings.plot) learning.chart = new WeightsChart(learner, batchSize);
  if (showTrue) learning.hindsight = new Hindsight(dp, learning.losses, { how, numRows });
  const { protects, whom, about, sentence } = promiseOf(learner.certificate, settings, prepared);
  // Later runs must recognise this charge, even if this run learns from no row.
  await budget?.spend(dp, spendingOf(learner.certificate, about), state);
  warnWeak('learn', learner.certificate, publicCount(protects));
  const { optimisedFor } = learner.certificate;
  const other = optimisedFor && whatIsProtected(participation, chosen, optimisedFor);
  if (other) warn('learn', other);
  if (prepared.warning !== undefined) warn('learn', prepared.warning);
  const claim = announce(settings, { sentence, without: prepared.without });
  const progress = new StepProgress(numSteps, { quiet });
  try {
    await learning.learnAll(problem, { passes, report: () => progress.report(learner.step) });
  } finally {
    progress.end();
  }
  // After a crash the budget may be ahead of what was shown, but never behind.
  await budget?.reached(learning.step);
  await writeModel(dp, learning, { settings, how, protects: whom.unit, claim, test });
}

async function writeModel(
  dp: DpFtrl,
  learning: Learning,
  {
    settings,
    how,
    protects,
    claim,
    test,
  }: {
    settings: LearnSettings;
    how: LearnerSettings;
    protects: string;
    claim: string;
    test: RowStream | undefined;
  },
): Promise<void> {
  const model = await modelOf(dp, settings, { learning, protects, test });
  const isGuarded = learning.state !== undefined;
  const lambda = await learning.learner.lambda();
  const text = () => describe(dp, model, { learner: learning.learner, how, lambda });
  await writeShown(settings, model, { text, isGuarded });
  const { chart } = learning;
  if (!chart) return;
  const figure = chart.figure(model, weightNames(model));
  await settings.plot!.write(figure, { claim, isGuarded });
}

async function run(args: Args): Promise<void> {
  const dp = await load();
  const settings = readSettings(dp, args);
  if (settings.isDry) refuseState(settings.state);
  const opened = await open(dp, args, settings);
  const { problem } = opened;
  const moments = momentsFirst(dp, settings, problem);
  if (settings.isDry) return forecast(dp, args, { settings, opened, moments });
  if (moments) {
    return runWhole(dp, args, { settings, moments, problem }).catch((error: unknown) => {
      settings.budget?.noteCharge(error);
      throw error;
    });
  }
  const prepared = await prepare(dp, args, { settings, opened });
  const learning = await Learning.open(dp, settings, prepared);
  let failure: unknown;
  try {
    await learn(dp, learning, { settings, prepared });
  } catch (error) {
    failure = error;
  }
  learning.endMeasuring();
  const finish = () => settings.budget?.finish(learning.step);
  failure = await ended(failure, [finish, () => learning.close()]);
  if (failure === undefined) return;
  if (!learning.state) settings.budget?.noteCharge(failure);
  throw learning.withRows(failure);
}
