// SPDX-License-Identifier: Apache-2.0

// A run of dp-ftrl learn that keeps the table in memory, to estimate second moments first.

import type { DpFtrl, LearnedModel, LearnPlan } from '../../../types/all.js';
import { counted } from '../../../shared/counted.js';
import { MAX_MOMENTS_DIMENSION } from '../../../shared/defaults.js';
import { Misuse } from '../../base/failure.js';
import { RowsHash } from '../../input/examples.js';
import type { RowStream } from '../../input/stream.js';
import type { Args } from '../../options/args.js';
import { say, SEEDED, warn, warnNotPrivate } from '../../output/notices.js';
import { ProgressLine } from '../../output/progress.js';
import { warnWeak } from '../../output/weak.js';
import { optionsFor, passesText } from './defaults.js';
import { openTest, warnTest } from './hindsight.js';
import { lossOf } from '../../options/learner.js';
import { lossesOf } from './progressive.js';
import { describeWhole, testOf, writeShown } from './model-report.js';
import { MAX_KEPT, unscaledText, type LearnProblem } from './problem.js';
import type { LearnSettings } from './settings.js';

const PROTECTS = 'one row';

interface WholeRun {
  settings: LearnSettings;
  /** How the privacy budget is split between the second moments and the learner. */
  moments: LearnPlan;
  problem: LearnProblem;
}

const dimensionOf = ({ intercept }: LearnSettings, { inputs }: LearnProblem) =>
  inputs.length + Number(intercept);

/** How the privacy budget is split between the second moments and the learner. */
function momentsOf(dp: DpFtrl, settings: LearnSettings, problem: LearnProblem): LearnPlan {
  const { epsilon, delta, neighbours } = settings.target;
  const dimension = dimensionOf(settings, problem);
  return dp.learnPlan({ epsilon, delta, neighbours, rows: problem.batchSize, dimension });
}

/** @throws Misuse if second moments cannot be estimated; called before any budget is charged. */
function requireMoments({ momentsEpsilon }: LearnPlan, dimension: number, delta: number): void {
  if (dimension > MAX_MOMENTS_DIMENSION) {
    const limit = `${MAX_MOMENTS_DIMENSION} features, the intercept included`;
    throw new Misuse(`--precondition is for up to ${limit}, got ${dimension}`);
  }
  if (momentsEpsilon === 0)
    throw new Misuse(`--precondition needs a smaller --delta, got ${delta}`);
}

/** Whether a table is small enough to be kept in memory by default. */
const isKept = (settings: LearnSettings, problem: LearnProblem) =>
  problem.batchSize * dimensionOf(settings, problem) <= MAX_KEPT;

/** The split of the privacy budget; undefined unless second moments are estimated first. */
export function momentsFirst(
  dp: DpFtrl,
  settings: LearnSettings,
  problem: LearnProblem,
): LearnPlan | undefined {
  const { whole } = settings;
  if (!whole || whole.without !== undefined) return undefined;
  const moments = momentsOf(dp, settings, problem);
  const { precondition = moments.precondition && isKept(settings, problem) } = whole;
  if (!precondition) return undefined;
  requireMoments(moments, dimensionOf(settings, problem), settings.target.delta);
  return moments;
}

/** Says why second moments are not estimated first although that is the default; '' otherwise. */
export function withoutText(dp: DpFtrl, settings: LearnSettings, problem: LearnProblem): string {
  const { whole } = settings;
  if (!whole || whole.precondition === false) return '';
  if (!momentsOf(dp, settings, problem).precondition) return '';
  const why =
    whole.without === undefined
      ? `as the table has more than ${MAX_KEPT.toLocaleString('en')} cells (--precondition keeps it in memory)`
      : `because of --${whole.without}`;
  return `without second moments first, ${why}`;
}

interface ExampleRows {
  features: Float64Array;
  labels: Float64Array;
}

/** Reads all rows again if they were not kept. */
async function readRows({
  rows,
  examples,
  inputs,
  batchSize,
  digest,
}: LearnProblem): Promise<ExampleRows> {
  const features = new Float64Array(batchSize * inputs.length);
  const labels = new Float64Array(batchSize);
  const hash = new RowsHash();
  let numRows = 0;
  for await (const batch of rows.rows()) {
    if (batch.fault) throw batch.fault;
    hash.see(batch);
    for (let i = 0; i < batch.numRows && numRows < batchSize; ++i, ++numRows) {
      features.set(examples.row(batch, i), numRows * inputs.length);
      labels[numRows] = examples.label(batch, i);
    }
  }
  if (hash.digest() !== digest) {
    throw new Misuse('the rows are not those that were read before');
  }
  return { features, labels };
}

/**
 * Settings and certificate, except for the clip norm, of the learner that runs after the second
 * moments.
 */
function learnerClaims(dp: DpFtrl, { settings, moments, problem }: WholeRun) {
  const { target, rates } = settings;
  const { batchSize } = problem;
  const how = optionsFor(dp, 'table', {
    target: { ...target, epsilon: moments.learnerEpsilon },
    rates,
    ...{ rows: batchSize, batchSize, dimension: dimensionOf(settings, problem) },
  });
  const learner = dp.learner(how);
  try {
    return { how, certificate: learner.certificate };
  } finally {
    learner.dispose();
  }
}

/** States the guarantee, its split and the chosen settings, before anything is learned. */
function sentenceOf(
  { settings, moments, problem }: WholeRun,
  algorithm: string,
  dimension: number,
): string {
  const { epsilon, delta, neighbours } = settings.target;
  const numRows = problem.batchSize;
  const rounded = (value: number) => Number(value.toPrecision(4));
  const preconditioned =
    `second moments of the features come first, with epsilon ${rounded(moments.momentsEpsilon)}, ` +
    `and leave ${rounded(moments.learnerEpsilon)} to the learner`;
  return (
    `(${epsilon}, ${delta})-differentially private: one row is protected, not a person with several; ` +
    `${preconditioned}; ${neighbours} neighbours, all ${counted(numRows, 'row')} together, whose number is public; ` +
    `${algorithm}; clip norm and rate set by ${counted(numRows, 'row')}, ` +
    `${counted(dimension, 'weight')} per score, epsilon and delta`
  );
}

function learn(dp: DpFtrl, { settings, problem }: WholeRun, rows: ExampleRows): LearnedModel {
  const { target, intercept, seed, rates } = settings;
  const { epsilon, delta, neighbours } = target;
  const { inputs } = problem;
  // Columns of the table may have any name, but the library accepts no column named by an integer.
  const ranges = inputs.map(({ low, high }, i) => [`x${i + 1}`, [low!, high!]] as const);
  const model = dp.learn({
    ...rows,
    ...{
      columns: Object.fromEntries(ranges),
      intercept,
      loss: lossOf(target) as 'logistic',
      precondition: true,
    },
    ...(rates && { rates }),
    ...{ epsilon, delta, neighbours },
    ...(seed !== undefined && { insecureSeed: seed }),
  });
  return { ...model, inputs };
}

/** Evaluates the model on the rows of --test. */
async function measured(
  dp: DpFtrl,
  model: LearnedModel,
  {
    settings: { target, label },
    test,
    dimension,
  }: {
    settings: LearnSettings;
    test: RowStream | undefined;
    dimension: number;
  },
): Promise<LearnedModel> {
  if (!test) return model;
  // Only the loss of this learner is used.
  const facts = { rows: 1, batchSize: 1, dimension };
  const how = optionsFor(dp, 'table', { target, ...facts });
  const learner = dp.learner(how);
  const losses = lossesOf(target, learner);
  try {
    return {
      ...model,
      test: (await testOf(dp, { learner: losses, model, label, rows: test })).test,
    };
  } finally {
    learner.dispose();
  }
}

/** The guarantee of a run and its cost. */
export function wholePromise(dp: DpFtrl, args: Args, run: WholeRun) {
  const { settings, problem } = run;
  const { epsilon, delta, neighbours } = settings.target;
  const { mu, rho } = dp.calibrate({ epsilon, delta });
  const { note, warning } = unscaledText(args, problem.inputs, settings.setup);
  const { how, certificate } = learnerClaims(dp, run);
  const spending = {
    ...{ cost: { mu, rho }, epsilon, delta, neighbours, unit: PROTECTS },
    columns: [...problem.examples.features, settings.label],
    mechanism: 'moments and independent',
    numSteps: problem.numSteps,
  };
  const { algorithm } = certificate;
  const claim = `${sentenceOf(run, `${algorithm}; ${passesText(how)}`, dimensionOf(settings, problem))}${note}`;
  return { claim, certificate: { ...certificate, epsilon, mu, rho }, spending, warning };
}

export async function runWhole(dp: DpFtrl, args: Args, run: WholeRun): Promise<void> {
  const { settings, problem } = run;
  const { target, label, seed, budget, quiet } = settings;
  const { batchSize: numRows, examples } = problem;
  const columns = [...examples.features, label];
  const test = settings.test && (await openTest(settings.test, { columns, label, target }));
  const dimension = dimensionOf(settings, problem);
  const { claim, spending, warning } = wholePromise(dp, args, run);
  // The rows are read before spending, so that nothing is charged if they changed since they were
  // counted.
  const rows = await readRows(problem);
  await budget?.spend(dp, spending);
  warnTest(settings.test);
  warnWeak('learn', target, { count: numRows, units: 'rows' });
  warnNotPrivate('learn', { [SEEDED]: seed !== undefined });
  if (warning !== undefined) warn('learn', warning);
  if (!quiet && seed === undefined) say('learn', claim);
  const line = quiet ? undefined : new ProgressLine('learn: learning for');
  let learned: LearnedModel;
  try {
    learned = learn(dp, run, rows);
  } finally {
    line?.end();
  }
  const model = await measured(dp, learned, { settings, test, dimension });
  await writeShown(settings, model, {
    text: () => describeWhole(model, numRows),
    isGuarded: false,
  });
}
