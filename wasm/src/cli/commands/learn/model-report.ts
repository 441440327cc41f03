// SPDX-License-Identifier: Apache-2.0

// The model that dp-ftrl learn produces, and its report.

import type { DpFtrl, LearnedModel } from '../../../types/all.js';
import type { RowStream } from '../../input/stream.js';
import { StandardOutput, writeFile } from '../../output/output.js';
import { report } from '../../output/report.js';
import { heldOut, MAX_KEPT } from './hindsight.js';
import type { LearnerSettings } from '../../options/learner.js';
import type { Learning } from './learning.js';
import { regretBoundText } from './regret-bound.js';
import type { LearnSettings } from './settings.js';
import { counted } from '../../../shared/counted.js';

const UNLESS_PUBLIC = 'NOT private unless the file is public';

/** Evaluates a model, and its latest weights, on the rows of --test. */
export async function testOf(dp: DpFtrl, given: Parameters<typeof heldOut>[1]) {
  const tested = await heldOut(dp, given);
  const { progressiveLoss: loss, progressiveAccuracy: accuracy } = tested.average.result();
  const test = { note: UNLESS_PUBLIC, numExamples: tested.average.numSeen, loss, accuracy };
  return { ...tested, test };
}

export async function modelOf(
  dp: DpFtrl,
  settings: LearnSettings,
  {
    learning,
    protects,
    test,
  }: {
    learning: Learning;
    protects: string;
    test: RowStream | undefined;
  },
): Promise<LearnedModel> {
  const { learner, inputs, hindsight, losses } = learning;
  const { intercept, seed, showTrue, label } = settings;
  const learned = await learner.model();
  const weights = settings.average === 'last' ? learned.lastWeights : learning.tail?.weights();
  const model: LearnedModel = {
    ...learned,
    ...(weights && { weights }),
    inputs: [...inputs],
    intercept,
    private: seed === undefined && !showTrue,
    protects,
  };
  const tested = test && (await testOf(dp, { learner: losses, model, label, rows: test }));
  if (tested) model.test = tested.test;
  if (!hindsight) return model;
  const heldOutLoss = tested && {
    average: tested.average.result().progressiveLoss,
    last: tested.last.result().progressiveLoss,
  };
  const nonprivate = { ...hindsight.result(), ...(heldOutLoss && { heldOutLoss }) };
  return { ...model, nonprivate };
}

/** Rows of the report on the regret, with the gap by which the true regret may be larger. */
function regretFacts(
  regret: NonNullable<LearnedModel['nonprivate']>['regret'] | null,
  { domain, radius = 1 }: LearnerSettings,
) {
  if (!regret) {
    const why = `not measured: needs more than ${MAX_KEPT} numbers of memory`;
    return { 'regret (NOT private)': why };
  }
  const { bestLoss, gap } = regret;
  const within = domain === 'whole-space' ? ` of norm at most ${radius}` : '';
  const most = gap.toPrecision(1);
  const text = (value: number) => `${Number(value.toPrecision(6))}, at most ${most} more`;
  return {
    [`loss of the best fixed weights${within} (NOT private)`]: bestLoss,
    'regret against them (NOT private)': text(regret.private),
    'regret without noise (NOT private)': text(regret.twin),
  };
}

/** Rows of the report with measurements on the data. */
function measuredFacts(nonprivate: NonNullable<LearnedModel['nonprivate']>, how: LearnerSettings) {
  const { progressiveLoss, zeroLoss, progressiveAccuracy, twin, regret, heldOutLoss } = nonprivate;
  return {
    'progressive loss (NOT private)': progressiveLoss,
    'loss of predicting 0 (NOT private)': zeroLoss,
    ...(progressiveAccuracy !== null && {
      'progressive accuracy (NOT private)': progressiveAccuracy,
    }),
    ...(twin && { 'loss without noise (NOT private)': twin.progressiveLoss }),
    ...(regret !== undefined && regretFacts(regret, how)),
    ...(heldOutLoss && {
      'held-out loss of the average (NOT private)': heldOutLoss.average,
      'held-out loss of the last (NOT private)': heldOutLoss.last,
    }),
  };
}

/** Names of the weights, in their order. */
export function weightNames({ inputs, intercept, weights, numClasses }: LearnedModel): string[] {
  const names = [...inputs.map(({ name }) => name), ...(intercept ? ['(intercept)'] : [])];
  return weights.map((_, j) => {
    const ofClass = numClasses ? ` of class ${Math.floor(j / names.length)}` : '';
    return `${names[j % names.length]}${ofClass}`;
  });
}

/** Rows of the report that list the weights with their features. */
function weightFacts(model: LearnedModel) {
  const names = weightNames(model);
  const { inputs } = model;
  const numScaled = inputs.filter(({ low }) => low !== undefined).length;
  const which =
    numScaled === inputs.length
      ? 'features'
      : `${numScaled} of ${counted(inputs.length, 'feature')}`;
  return {
    ...(numScaled > 0 && { 'weights are for': `${which} scaled from their range to [-1, 1]` }),
    ...Object.fromEntries(model.weights.map((weight, j) => [`weight ${names[j]}`, weight])),
  };
}

/** Rows of the report with measurements on the file of --test. */
function testFacts({ test }: LearnedModel) {
  if (!test) return {};
  return {
    [`loss on ${counted(test.numExamples, 'row')} of --test (${test.note})`]: test.loss,
    ...(test.accuracy !== null && { [`accuracy on them (${test.note})`]: test.accuracy }),
  };
}

/** Formats one row per fact. */
function rowsOf(facts: Record<string, unknown>): string {
  return report(facts, false, Object.fromEntries(Object.keys(facts).map((key) => [key, key])));
}

/** Rows of the report that state the model's guarantee. */
function guaranteeFacts({ certificate, private: isPrivate, protects }: LearnedModel) {
  return {
    private: isPrivate ? 'yes' : 'NO',
    epsilon: certificate.epsilon,
    delta: certificate.delta,
    neighbours: certificate.neighbours,
    protects,
  };
}

/** Reports on a model learned from a table kept in memory. */
export function describeWhole(model: LearnedModel, numRows: number): string {
  const { preconditioning, certificate, loss } = model;
  return rowsOf({
    algorithm: certificate.algorithm,
    loss,
    examples: counted(numRows, 'row'),
    ...guaranteeFacts(model),
    ...(preconditioning && {
      'epsilon of the second moments': preconditioning.momentsEpsilon,
      'epsilon of the learner after them': preconditioning.learnerEpsilon,
    }),
    'gradients clipped to': certificate.clipNorm,
    ...testFacts(model),
    ...weightFacts(model),
  });
}

/** Writes the model to the file of --model, and the result to standard output. */
export async function writeShown(
  { model: file, json }: LearnSettings,
  model: LearnedModel,
  { text, isGuarded }: { text: () => string; isGuarded: boolean },
): Promise<void> {
  const { test: _, ...saved } = model;
  if (file !== undefined) {
    await writeFile(file, `${JSON.stringify(saved)}\n`, { option: 'model', isGuarded });
  }
  await new StandardOutput().write(json ? `${JSON.stringify(model)}\n` : text());
}

export function describe(
  dp: DpFtrl,
  model: LearnedModel,
  { learner, how, lambda }: { learner: Learning['learner']; how: LearnerSettings; lambda: number },
): string {
  const { batchSize = 1 } = how;
  const { waiting } = learner;
  const { certificate, loss, numExamples, nonprivate } = model;
  return rowsOf({
    algorithm: certificate.algorithm,
    loss,
    examples: `${numExamples} of a horizon of ${certificate.numSteps * batchSize}`,
    ...(waiting > 0 && { 'in a batch that is not full, not yet in the weights': waiting }),
    ...guaranteeFacts(model),
    'gradients clipped to': certificate.clipNorm,
    regularisation: lambda,
    'bound on the expected regret': regretBoundText(dp, model, { how, learner }),
    ...testFacts(model),
    ...(nonprivate && measuredFacts(nonprivate, how)),
    ...weightFacts(model),
  });
}
