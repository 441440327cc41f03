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
import { MAX_KEPT, unscaledText, type Problem } from './problem.js';
import type { Settings } from './settings.js';

const PROTECTS = 'one row';

interface WholeRun {
  settings: Settings;
  /** Budgets of the second moments and of the learner after them. */
  moments: LearnPlan;
  problem: Problem;
}

const dimensionOf = ({ intercept }: Settings, { inputs }: Problem) =>
  inputs.length + Number(intercept);

/** Returns the budgets of second moments and of the learner after them. */
function momentsOf(dp: DpFtrl, settings: Settings, problem: Problem): LearnPlan {
  const { epsilon, delta, neighbours } = settings.target;
  const dimension = dimensionOf(settings, problem);
  return dp.learnPlan({ epsilon, delta, neighbours, rows: problem.batchSize, dimension });
}

/** @throws Misuse if second moments cannot be estimated, before any budget is charged. */
function requireMoments({ momentsEpsilon }: LearnPlan, dimension: number, delta: number): void {
  if (dimension > MAX_MOMENTS_DIMENSION) {
    const limit = `${MAX_MOMENTS_DIMENSION} features, the intercept included`;
    throw new Misuse(`--precondition is for up to ${limit}, got ${dimension}`);
  }
  if (momentsEpsilon === 0)
    throw new Misuse(`--precondition needs a smaller --delta, got ${delta}`);
}

/** Whether a table is small enough to be kept in memory by default. */
const isKept = (settings: Settings, problem: Problem) =>
  problem.batchSize * dimensionOf(settings, problem) <= MAX_KEPT;

/** Returns the budgets if second moments come first, else undefined. */
export function momentsFirst(
  dp: DpFtrl,
  settings: Settings,
  problem: Problem,
): LearnPlan | undefined {
  const { whole } = settings;
  if (!whole || whole.without !== undefined) return undefined;
  const moments = momentsOf(dp, settings, problem);
  const { precondition = moments.precondition && isKept(settings, problem) } = whole;
  if (!precondition) return undefined;
  requireMoments(moments, dimensionOf(settings, problem), settings.target.delta);
  return moments;
}

/** Says why second moments are not estimated first, if by default they would be. */
export function withoutText(dp: DpFtrl, settings: Settings, problem: Problem): string {
  const { whole } = settings;
  if (!whole || whole.precondition === false) return '';
  if (!momentsOf(dp, settings, problem).precondition) return '';
  const why =
    whole.without === undefined
      ? `as the table has more than ${MAX_KEPT.toLocaleString('en')} cells (--precondition keeps it in memory)`
      : `because of --${whole.without}`;
  return `without second moments first, ${why}`;
}

interface Rows {
  features: Float64Array;
  labels: Float64Array;
}

/** Returns all rows, read again if they were not kept. */
async function readRows({ rows, examples, inputs, batchSize, digest }: Problem): Promise<Rows> {
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

/** States the guarantee, its split and the chosen settings, before anything is learned. */
function sentenceOf(dp: DpFtrl, { settings, moments, problem }: WholeRun): string {
  const { target, rates } = settings;
  const { epsilon, delta, neighbours } = target;
  const numRows = problem.batchSize;
  const rounded = (value: number) => Number(value.toPrecision(4));
  const preconditioned =
    `second moments of the features come first, with epsilon ${rounded(moments.momentsEpsilon)}, ` +
    `and leave ${rounded(moments.learnerEpsilon)} to the learner`;
  const dimension = dimensionOf(settings, problem);
  const chosen = optionsFor(dp, 'table', { target, rates, rows: numRows, batchSize: 1, dimension });
  return (
    `(${epsilon}, ${delta})-differentially private: one row is protected, not a person with several; ` +
    `${preconditioned}; ${neighbours} neighbours, all ${counted(numRows, 'row')} together, whose number is public; ` +
    `${passesText(chosen)}; clip norm and rate set by ${counted(numRows, 'row')}, ` +
    `${counted(dimension, 'weight')} per score, epsilon and delta`
  );
}

function learn(dp: DpFtrl, { settings, problem }: WholeRun, rows: Rows): LearnedModel {
  const { target, intercept, seed, rates } = settings;
  const { epsilon, delta, neighbours } = target;
  const { inputs } = problem;
  // A column of the table may have any name, that of a column of the library none that is an integer.
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

/** Returns the model with its evaluation on the rows of --test. */
async function measured(
  dp: DpFtrl,
  model: LearnedModel,
  {
    settings: { target, label },
    test,
    dimension,
  }: {
    settings: Settings;
    test: RowStream | undefined;
    dimension: number;
  },
): Promise<LearnedModel> {
  if (!test) return model;
  // Only its loss is used.
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

export async function runWhole(dp: DpFtrl, args: Args, run: WholeRun): Promise<void> {
  const { settings, problem } = run;
  const { target, label, seed, budget, quiet, setup } = settings;
  const { epsilon, delta, neighbours } = target;
  const { inputs, batchSize: numRows, examples } = problem;
  const columns = [...examples.features, label];
  const test = settings.test && (await openTest(settings.test, { columns, label, target }));
  const dimension = dimensionOf(settings, problem);
  const { mu, rho } = dp.calibrate({ epsilon, delta });
  // Read before spending, so that nothing is charged if the rows changed since they were counted.
  const rows = await readRows(problem);
  await budget?.spend(dp, {
    ...{ cost: { mu, rho }, epsilon, delta, neighbours, unit: PROTECTS, columns },
    mechanism: 'moments and independent',
    numSteps: problem.numSteps,
  });
  warnTest(settings.test);
  warnWeak('learn', target, { count: numRows, units: 'rows' });
  warnNotPrivate('learn', { [SEEDED]: seed !== undefined });
  const { note, warning } = unscaledText(args, inputs, setup);
  if (warning !== undefined) warn('learn', warning);
  if (!quiet && seed === undefined) say('learn', `${sentenceOf(dp, run)}${note}`);
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
