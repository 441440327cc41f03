// SPDX-License-Identifier: Apache-2.0

// Measurements of a learner on the data, which are NOT private.

import type { Comparator, DpFtrl, LearnedModel, LinearLoss, Twin } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { ExampleRows, survey } from '../../input/examples.js';
import type { TableFormat } from '../../input/format.js';
import type { LabelKind } from '../../input/labels.js';
import type { Missing } from '../../input/missing.js';
import { RowStream } from '../../input/stream.js';
import { warn } from '../../output/notices.js';
import type { LearnerSettings } from '../../options/learner.js';
import { Progressive, type ProgressiveLosses } from './progressive.js';

/** Maximum number of features and labels kept to find the best fixed weights (128 MiB). */
export const MAX_KEPT = 2 ** 24;

const SHARED = ['domain', 'radius', 'dimension'] as const;
const OF_TWIN = ['steps', 'clip', 'doubling', 'batchSize', 'lambda', 'descent', 'penalty'] as const;

/** Picks the options that are given. */
function pick<K extends keyof LearnerSettings>(
  how: LearnerSettings,
  names: readonly K[],
): Pick<LearnerSettings, K> {
  const given = names.filter((name) => how[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, how[name]])) as Pick<LearnerSettings, K>;
}

/** Compares a learner with its noiseless twin and with the best fixed weights. */
export class Hindsight {
  private readonly own: Progressive;
  private readonly exact: Progressive;
  private readonly twin: Twin;
  private readonly comparator: Comparator | undefined;

  /** @param numRows  upper bound on the number of distinct rows. */
  constructor(
    dp: DpFtrl,
    learner: ProgressiveLosses,
    { how, numRows }: { how: LearnerSettings; numRows: number },
  ) {
    this.own = new Progressive(learner);
    this.exact = new Progressive(learner);
    const shared = { ...pick(how, SHARED), loss: how.loss as LinearLoss };
    this.twin = dp.study.twin({ ...shared, ...pick(how, OF_TWIN) });
    if (numRows * (how.dimension + 1) <= MAX_KEPT) this.comparator = dp.study.comparator(shared);
  }

  /**
   * Adds examples that the learner has learned from; `areNew` is true in the first pass over them.
   */
  async learn(
    features: Float64Array,
    labels: Float64Array,
    { predictions, areNew }: { predictions: Float64Array; areNew: boolean },
  ): Promise<void> {
    const exact = this.twin.learn(features, labels);
    await this.own.add(predictions, labels, areNew);
    await this.exact.add(exact, labels, areNew);
    if (areNew) this.comparator?.append(features, labels);
  }

  endBatch(): void {
    this.twin.endBatch();
  }

  result(): NonNullable<LearnedModel['nonprivate']> {
    const { progressiveLoss, progressiveAccuracy } = this.exact.result();
    const twin = { progressiveLoss, progressiveAccuracy };
    const all = { ...this.own.result(), twin };
    if (this.own.numSeen === 0) return all;
    if (!this.comparator) return { ...all, regret: null };
    const { loss: bestLoss, gap } = this.comparator.best();
    const [own, exact] = [this.own, this.exact].map((it) => it.meanLoss - bestLoss);
    return { ...all, regret: { private: own!, twin: exact!, bestLoss, gap } };
  }

  dispose(): void {
    this.twin.dispose();
    this.comparator?.dispose();
  }
}

/** Warns that measurements on --test are not private. */
export function warnTest(test: { file: string } | undefined): void {
  if (!test) return;
  const unless = 'unless it is public and shares no rows with the table';
  warn('learn', `--test measures on ${test.file}: NOT private ${unless}`);
}

/**
 * Opens the file of --test, which must have the columns of the input, and reads it once, so that
 * faults in it are reported before any budget is spent.
 */
export async function openTest(
  { file, format, missing }: { file: string; format: TableFormat; missing: Missing },
  { columns, label, target }: { columns: readonly string[]; label: string; target: LabelKind },
): Promise<RowStream> {
  try {
    const wanted = { columns, texts: [], format, missing, label: { column: label, ...target } };
    const rows = await RowStream.open([file], wanted);
    const examples = new ExampleRows(rows.columns, label);
    const how = { inputs: [], fromData: false, target, numKept: 0 };
    await survey(rows, examples, how);
    return rows;
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    throw new Misuse(`--test ${file}: ${error.message}`, error.fault);
  }
}

/** Evaluates both the weights of the model and the latest weights on held-out rows. */
export async function heldOut(
  dp: DpFtrl,
  {
    learner,
    model,
    label,
    rows,
  }: {
    learner: ProgressiveLosses;
    model: LearnedModel;
    label: string;
    rows: RowStream;
  },
): Promise<{ average: Progressive; last: Progressive }> {
  const examples = new ExampleRows(rows.columns, label);
  const [average, last] = [new Progressive(learner), new Progressive(learner)];
  for await (const batch of rows.rows()) {
    const features: number[] = [];
    const labels = new Float64Array(batch.numRows);
    labels.forEach((_, i) => {
      features.push(...examples.row(batch, i));
      labels[i] = examples.label(batch, i);
    });
    await average.add(dp.predict(model, features), labels);
    await last.add(dp.predict({ ...model, weights: model.lastWeights }, features), labels);
    if (batch.fault) throw batch.fault;
  }
  return { average, last };
}
