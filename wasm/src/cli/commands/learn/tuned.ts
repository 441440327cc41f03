// SPDX-License-Identifier: Apache-2.0

// A run of dp-ftrl learn with --tune: several models, of which one is chosen privately.

import type { Candidate, DpFtrl, LearnedModel, TuningCost } from '../../../types/all.js';
import { Misuse } from '../../failure.js';
import { RowsHash } from '../../input/examples.js';
import type { RowStream } from '../../input/stream.js';
import type { Args } from '../../options/args.js';
import { say, SEEDED, warnNotPrivate } from '../../output/notices.js';
import { requireWritable } from '../../output/output.js';
import { warnWeak } from '../../output/weak.js';
import { optionsFor } from './defaults.js';
import { openTest } from './hindsight.js';
import { describeTuned, testOf, writeShown } from './model-report.js';
import { readProblem, unscaledText, type Problem } from './problem.js';
import type { Settings } from './settings.js';

const PROTECTS = 'one row';

interface Tuned {
  settings: Settings;
  candidates: readonly Required<Candidate>[];
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

/** Says what is promised and what it costs, before anything is learned. */
function sentenceOf(
  { settings, candidates }: Tuned,
  { learnerEpsilon, selectionEpsilon }: TuningCost,
  numRows: number,
): string {
  const { epsilon, delta, neighbours } = settings.target;
  const each = `each learned with epsilon ${learnerEpsilon.toPrecision(4)} in place of ${epsilon}`;
  const rest = 'from nine tenths of the rows';
  const choice = `the others choose, with epsilon ${Number(selectionEpsilon.toPrecision(4))}`;
  return (
    `(${epsilon}, ${delta})-differentially private, ${neighbours} neighbours: one row is protected, ` +
    `not a person with several; the model is one of ${candidates.length} candidates, ${each}, ` +
    `${rest}; ${choice}. All ${numRows} rows together; their number is public`
  );
}

async function learn(
  dp: DpFtrl,
  { settings, candidates }: Tuned,
  problem: Problem,
): Promise<LearnedModel & Required<Pick<LearnedModel, 'tuning'>>> {
  const { target, intercept, seed, budget, linearRates } = settings;
  const { epsilon, delta, neighbours, loss, numClasses } = target;
  const model = dp.learnTuned({
    ...(await readRows(problem)),
    inputs: problem.inputs,
    intercept,
    loss: loss as 'logistic',
    ...(numClasses !== undefined && { numClasses }),
    rates: linearRates ? 'linear' : 'constant',
    ...{ epsilon, delta, neighbours, candidates, composes: budget !== undefined },
    ...(seed !== undefined && { insecureSeed: seed }),
  });
  return { ...model, tuning: model.tuning! };
}

/** Returns the model with what it reaches on the rows of --test. */
async function measured<M extends LearnedModel>(
  dp: DpFtrl,
  model: M,
  { settings: { target, label }, test, dimension }: {
    settings: Settings;
    test: RowStream | undefined;
    dimension: number;
  },
): Promise<M> {
  if (!test) return model;
  // For its loss alone.
  const facts = { numRows: 1, batchSize: 1, dimension, linearRates: false };
  const how = optionsFor(dp, 'table', { target, ...facts });
  const learner = dp.learner({ ...how, dimension });
  try {
    return { ...model, test: (await testOf(dp, { learner, model, label, rows: test })).test };
  } finally {
    learner.dispose();
  }
}

export async function runTuned(dp: DpFtrl, args: Args, tuned: Tuned): Promise<void> {
  const { settings, candidates } = tuned;
  const { target, label, intercept, seed, budget, quiet, setup } = settings;
  const { epsilon, delta, neighbours } = target;
  await requireWritable(settings.model, 'model');
  const problem = await readProblem(args, settings, undefined);
  const { inputs, batchSize: numRows, examples } = problem;
  const columns = [...examples.features, label];
  const test = settings.test && (await openTest(settings.test, { columns, label, target }));
  const dimension = inputs.length + Number(intercept);
  const numCandidates = candidates.length;
  const cost = dp.tuningCost({ epsilon, delta, numCandidates, composes: budget !== undefined });
  const { mu, rho } = cost;
  await budget?.spend(dp, {
    ...{ costs: { mu, rho }, epsilon, delta, neighbours, unit: PROTECTS, columns },
    mechanism: `${numCandidates} candidates`,
    numSteps: problem.numSteps,
  });
  warnWeak('learn', target, { count: numRows, units: 'rows' });
  warnNotPrivate('learn', { [SEEDED]: seed !== undefined });
  const notes = unscaledText(args, inputs, setup);
  if (!quiet && seed === undefined) say('learn', `${sentenceOf(tuned, cost, numRows)}${notes}`);
  const model = await measured(dp, await learn(dp, tuned, problem), { settings, test, dimension });
  await writeShown(settings, model, { text: () => describeTuned(model, numRows), isGuarded: false });
}
