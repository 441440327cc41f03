// SPDX-License-Identifier: Apache-2.0

// Feeds rows to a learner, in this run only or, with --state, over several runs.

import { scaled } from '../../../api/learning/model.js';
import { TailAverage } from '../../../api/learning/tail-average.js';
import { refusalOf } from '../../../core/errors.js';
import type {
  DpFtrl,
  Learner,
  LearnerLedger,
  LearnerOptions,
  ModelInput,
} from '../../../types/all.js';
import type { WeightsChart } from '../../charts/weights.js';
import { addNote, inOptions, Misuse } from '../../base/failure.js';
import { Examples, RowsHash } from '../../input/examples.js';
import { placeOf, placeText } from '../../input/place.js';
import type { Batch } from '../../input/rows.js';
import { pastHorizon } from '../../input/steps.js';
import type { Chosen } from '../../options/strategy.js';
import { Interruption } from '../../base/signals.js';
import { LearnerState, optionsOf } from '../../state/learn-state.js';
import { unfinished } from '../../state/state-file.js';
import type { Hindsight } from './hindsight.js';
import type { Problem } from './problem.js';
import type { Settings } from './settings.js';

/** A learner of this run only, or of several runs with columns in the order of the first. */
interface Made {
  learner: Learner | LearnerLedger;
  examples: Examples;
  inputs: readonly ModelInput[];
  /** Present for a learner over several runs. */
  state: LearnerState | undefined;
}

async function makeLearner(
  dp: DpFtrl,
  settings: Settings,
  { how, chosen, problem }: { how: LearnerOptions; chosen: Chosen; problem: Problem },
): Promise<Made> {
  const { rows, examples, inputs } = problem;
  const { state: file, label } = settings;
  if (!file) return { learner: dp.learner(how), examples, inputs, state: undefined };
  const options = optionsOf(how, { ...settings, chosen });
  const wanted = { options, columns: rows.columns, inputs };
  const state = await LearnerState.open(dp, file, { how, wanted });
  rows.arrange(state.columns);
  const { learner, columns } = state;
  return { learner, examples: new Examples(columns, label), inputs: state.inputs, state };
}

/** Parameters that a refusal names where the row alone is at fault. */
const OF_INPUT = ['label', 'features'];

/** A learner and its progress. */
export class Learning {
  /** Number of rows learned from so far; with --state, only those stored. */
  private numLearned = 0;
  /** Number of rows after these that a failed save may or may not have stored. */
  private numInDoubt = 0;
  /** Number of steps known to be stored. */
  step: number;
  /** Present if the learner is evaluated on the data. */
  hindsight: Hindsight | undefined;
  /** Present if the weights are drawn. */
  chart: WeightsChart | undefined;
  readonly learner: Learner | LearnerLedger;
  readonly inputs: readonly ModelInput[];
  readonly state: LearnerState | undefined;
  /** Present if the model is the average of the later weights. */
  readonly tail: TailAverage | undefined;
  private readonly examples: Examples;
  /** Rows of batches that may be read again, in the learner's format. */
  private readonly readied = new WeakMap<Batch, { features: Float64Array; labels: Float64Array }>();
  /** Present with --state, where the next run continues a batch that is not full. */
  private readonly interruption: Interruption | undefined;

  private constructor({ learner, examples, inputs, state }: Made, average: Settings['average']) {
    this.learner = learner;
    this.examples = examples;
    this.inputs = inputs;
    this.state = state;
    this.step = learner.step;
    if (average === 'tail' && !state) this.tail = new TailAverage(learner as Learner);
    if (state) this.interruption = new Interruption();
  }

  static async open(
    dp: DpFtrl,
    settings: Settings,
    given: { how: LearnerOptions; chosen: Chosen; problem: Problem },
  ): Promise<Learning> {
    return new Learning(await makeLearner(dp, settings, given), settings.average);
  }

  /** Makes all passes, each over the same rows. */
  async learnAll(
    { rows, digest }: Problem,
    { passes, report }: { passes: number; report: () => void },
  ): Promise<void> {
    const { interruption, learner, hindsight } = this;
    for (let pass = 1; pass <= passes; ++pass) {
      if (pass > 1) await rows.rewind();
      const hash = new RowsHash();
      const batches = rows.rows();
      for await (const batch of interruption?.of(batches) ?? batches) {
        if (passes > 1) hash.see(batch);
        if (batch.numRows > 0) await this.learnFrom(batch, pass === 1);
        if (batch.fault) throw batch.fault;
        report();
        interruption?.check();
      }
      if (!interruption && learner.numWaiting > 0) {
        await learner.endBatch();
        hindsight?.endBatch();
        await this.look();
      }
      // A row that changed between passes may be another person's.
      if (passes > 1 && hash.digest() !== digest) {
        throw new Misuse(`the rows of pass ${pass} are not those that were read before`);
      }
    }
  }

  /** Stops handling signals and measuring. */
  endMeasuring(): void {
    this.interruption?.end();
    this.hindsight?.dispose();
  }

  async close(): Promise<void> {
    if (this.state) await this.state.close();
    else this.learner.dispose();
  }

  /** Adds to the error that ends a run with --state which rows the next run must leave out. */
  withRows(failure: unknown): unknown {
    const { state, numLearned, numInDoubt } = this;
    if (!state) return failure;
    const done = `rows 1 to ${numLearned} of this input were learned from: leave them`;
    const error = numLearned === 0 ? failure : unfinished(failure, done);
    if (numInDoubt > 0 && error instanceof Error) {
      const rows = `rows ${numLearned + 1} to ${numLearned + numInDoubt}`;
      const tells = 'a run on the header alone says how many examples were';
      addNote(error, `it is not known whether ${rows} were learned from: ${tells}`);
    }
    return error;
  }

  /** Learns from a batch; an error names the row that was refused. */
  private async learnFrom(batch: Batch, areNew: boolean): Promise<void> {
    const { learner, hindsight, tail, chart } = this;
    const { numRows } = batch;
    const { dimension, numScores } = learner;
    const { features, labels } = this.ready(batch);
    const predictions = hindsight && new Float64Array(numRows * numScores);
    const size = Math.min(tail?.pieceSize ?? numRows, chart?.pieceSize ?? numRows);
    for (let begin = 0, end; begin < numRows; begin = end) {
      end = Math.min(numRows, begin + size);
      try {
        await learner.learn(
          features.subarray(begin * dimension, end * dimension),
          labels.subarray(begin, end),
          predictions?.subarray(begin * numScores, end * numScores),
        );
      } catch (error) {
        const { learned, code } = error as { learned?: number; code?: string };
        if (code === 'store_failed') this.numInDoubt = end - begin;
        if (learned === undefined) throw error;
        this.count(learned);
        throw this.refusedRow(error, batch, begin + learned);
      }
      this.count(end - begin);
      await this.look();
    }
    hindsight?.learn(features, labels, { predictions: predictions!, areNew });
  }

  /** Passes the current weights to the tail average and the chart. */
  private async look(): Promise<void> {
    this.tail?.look();
    await this.chart?.look();
  }

  /** Returns the rows in the learner's format, computed once per batch. */
  private ready(batch: Batch): { features: Float64Array; labels: Float64Array } {
    const before = this.readied.get(batch);
    if (before) return before;
    const { examples, inputs } = this;
    const { numRows } = batch;
    const { dimension } = this.learner;
    const features = new Float64Array(numRows * dimension).fill(1);
    const labels = new Float64Array(numRows);
    for (let i = 0; i < numRows; ++i) {
      if (batch.blank?.has(i)) {
        // Zero features make its gradient zero.
        features.fill(0, i * dimension, (i + 1) * dimension);
        continue;
      }
      const row = examples.row(batch, i).map((value, j) => scaled(value, inputs[j]!));
      features.set(row, i * dimension);
      labels[i] = examples.label(batch, i);
    }
    const readied = { features, labels };
    this.readied.set(batch, readied);
    return readied;
  }

  private count(numRows: number): void {
    this.numLearned += numRows;
    this.step = this.learner.step;
  }

  /** Names the row of the batch at which the learner stopped, if the row alone is at fault. */
  private refusedRow(error: unknown, batch: Batch, i: number): Error {
    const { code = 'internal' } = error as { code?: string };
    if (code === 'past_horizon') return pastHorizon(this.learner, batch, i);
    const place = placeOf(batch, i);
    // Left out of the message, because the value may belong to a private row.
    const { value, row: example, ...refusal } = refusalOf(error);
    const what = refusal.constraint === undefined ? (error as Error).message : inOptions(refusal);
    // Others depend on noisy weights as well, which the number of the row would tell.
    if (!OF_INPUT.includes(refusal.parameter ?? '')) return new Error(what, { cause: error });
    return new Misuse(`${placeText(place)}: ${what}`, { code, ...place }, value);
  }
}
