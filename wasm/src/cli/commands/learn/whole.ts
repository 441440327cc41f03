// SPDX-License-Identifier: Apache-2.0

// A run of dp-ftrl learn that keeps the table: with --tune, where one of several models is chosen
// privately, or --precondition.

import type { DpFtrl, LearnedModel, TuningCost } from '../../../types/all.js';
import { Misuse } from '../../failure.js';
import { RowsHash } from '../../input/examples.js';
import type { RowStream } from '../../input/stream.js';
import type { Args } from '../../options/args.js';
import { say, SEEDED, warnNotPrivate } from '../../output/notices.js';
import { requireWritable } from '../../output/output.js';
import { warnWeak } from '../../output/weak.js';
import { optionsFor } from './defaults.js';
import { openTest } from './hindsight.js';
import { describeWhole, testOf, writeShown } from './model-report.js';
import { readProblem, unscaledText, type Problem } from './problem.js';
import type { Settings } from './settings.js';
import type { Whole } from './tune.js';

const PROTECTS = 'one row';

interface WholeRun {
  settings: Settings;
  how: Whole;
}

/** Returns all rows, which are read once more if they could not be kept. */
async function readRows({ rows, examples, inputs, batchSize, digest }: Problem) {
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

/** Costs of the model, and what the parts of it may spend. */
interface Cost extends Pick<TuningCost, 'mu' | 'rho'> {
  tuning: TuningCost | undefined;
}

function costOf(dp: DpFtrl, { settings, how }: WholeRun): Cost {
  const { epsilon, delta } = settings.target;
  const numCandidates = how.candidates?.length;
  if (numCandidates === undefined) {
    const { mu, rho } = dp.calibrate({ epsilon, delta });
    return { mu, rho, tuning: undefined };
  }
  const composes = settings.budget !== undefined;
  const tuning = dp.tuningCost({ epsilon, delta, numCandidates, composes });
  return { mu: tuning.mu, rho: tuning.rho, tuning };
}

/** Says what is promised and what it costs, before anything is learned. */
function sentenceOf({ settings, how }: WholeRun, { tuning }: Cost, numRows: number): string {
  const { epsilon, delta, neighbours } = settings.target;
  const tuned =
    tuning &&
    `the model is one of ${how.candidates!.length} candidates, each learned with epsilon ` +
      `${tuning.learnerEpsilon.toPrecision(4)} in place of ${epsilon} from nine tenths of the rows; ` +
      `the others choose, with epsilon ${Number(tuning.selectionEpsilon.toPrecision(4))}`;
  const preconditioned =
    how.precondition && 'second moments of the features come first, with a tenth of the squared mu';
  const parts = [tuned, preconditioned].filter(Boolean).join('; ');
  return (
    `(${epsilon}, ${delta})-differentially private: one row is protected, not a person with several; ` +
    `${parts}; ${neighbours} neighbours, all ${numRows} rows together, whose number is public`
  );
}

async function learn(dp: DpFtrl, { settings, how }: WholeRun, problem: Problem): Promise<LearnedModel> {
  const { target, intercept, seed, budget, rates } = settings;
  const { epsilon, delta, neighbours, loss, numClasses } = target;
  const { candidates, precondition } = how;
  const given = {
    ...(await readRows(problem)),
    ...{ inputs: problem.inputs, intercept, loss: loss as 'logistic', precondition },
    ...(numClasses !== undefined && { numClasses }),
    ...(rates && { rates }),
    ...{ epsilon, delta, neighbours },
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  if (!candidates) return dp.learn(given);
  return dp.learnTuned({ ...given, candidates, composes: budget !== undefined });
}

/** Returns the model with what it reaches on the rows of --test. */
async function measured(
  dp: DpFtrl,
  model: LearnedModel,
  { settings: { target, label }, test, dimension }: {
    settings: Settings;
    test: RowStream | undefined;
    dimension: number;
  },
): Promise<LearnedModel> {
  if (!test) return model;
  // For its loss alone.
  const facts = { numRows: 1, batchSize: 1, dimension };
  const how = optionsFor(dp, 'table', { target, ...facts });
  const learner = dp.learner({ ...how, dimension });
  try {
    return { ...model, test: (await testOf(dp, { learner, model, label, rows: test })).test };
  } finally {
    learner.dispose();
  }
}

export async function runWhole(dp: DpFtrl, args: Args, run: WholeRun): Promise<void> {
  const { settings, how } = run;
  const { target, label, intercept, seed, budget, quiet, setup } = settings;
  const { epsilon, delta, neighbours } = target;
  await requireWritable(settings.model, 'model');
  const problem = await readProblem(args, settings, undefined);
  const { inputs, batchSize: numRows, examples } = problem;
  const columns = [...examples.features, label];
  const test = settings.test && (await openTest(settings.test, { columns, label, target }));
  const dimension = inputs.length + Number(intercept);
  const cost = costOf(dp, run);
  const { mu, rho } = cost;
  await budget?.spend(dp, {
    ...{ costs: { mu, rho }, epsilon, delta, neighbours, unit: PROTECTS, columns },
    mechanism: how.candidates ? `${how.candidates.length} candidates` : 'moments and independent',
    numSteps: problem.numSteps,
  });
  warnWeak('learn', target, { count: numRows, units: 'rows' });
  warnNotPrivate('learn', { [SEEDED]: seed !== undefined });
  const notes = unscaledText(args, inputs, setup);
  if (!quiet && seed === undefined) say('learn', `${sentenceOf(run, cost, numRows)}${notes}`);
  const model = await measured(dp, await learn(dp, run, problem), { settings, test, dimension });
  await writeShown(settings, model, { text: () => describeWhole(model, numRows), isGuarded: false });
}
