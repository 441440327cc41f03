// SPDX-License-Identifier: Apache-2.0

// Feeds rows to a learner, in this run only or, with --state, over several runs.

import { scaled } from '../../../api/learning/model.js';
import { rowsPerLook, TailAverage } from '../../../api/learning/tail-average.js';
import { refusalOf } from '../../../core/errors.js';
import type { DpFtrl, Learner, ModelInput } from '../../../types/all.js';
import type { Weights } from '../../../types/streams/readings.js';
import type { Async } from '../../../types/async.js';
import type { Stream } from '../../../types/streams/stream.js';
import type { WeightsChart } from '../../charts/weights.js';
import { addNote, inOptions, Misuse } from '../../base/failure.js';
import { ExampleRows, RowsHash } from '../../input/examples.js';
import { placeOf, placeText } from '../../input/place.js';
import type { RowBatch } from '../../input/rows.js';
import { pastHorizon } from '../../input/steps.js';
import { Interruption } from '../../base/signals.js';
import { entryText } from '../../input/columns.js';
import { State, type Continuation } from '../../state/state.js';
import { unfinished } from '../../state/state-file.js';
import type { Hindsight } from './hindsight.js';
import type { LearnerSettings } from '../../options/learner.js';
import type { LearnProblem } from './problem.js';
import { lossesOf, type ProgressiveLosses } from './progressive.js';
import type { LearnSettings } from './settings.js';

type ExampleLearner = Stream<[features: ArrayLike<number>, label: number], Weights> & Learner;

/** A learner of this run only, or of several runs with columns in the order of the first. */
interface LearnerSource {
  learner: ExampleLearner | Async<ExampleLearner>;
  examples: ExampleRows;
  inputs: readonly ModelInput[];
  /** Present for a learner over several runs. */
  state: State | undefined;
}

/** A learner in a file, which can be stored before its first step. */
type KeptLearner = Async<ExampleLearner> & { identity: string; begin(): Promise<void> };

/** Facts of a run that the next run must repeat, beyond the options of the learner. */
function continuedBy(
  { label, intercept }: LearnSettings,
  { rows, inputs }: LearnProblem,
): Continuation {
  const ranged = inputs.filter(({ low }) => low !== undefined);
  const ranges = ranged
    .map(({ name, low, high }) => entryText({ name, low: low!, high: high! }))
    .sort();
  return {
    ...{ command: 'learn', columns: rows.columns },
    ...{ by: undefined, domain: undefined, people: undefined, times: undefined },
    others: {
      label,
      ...(!intercept && { 'no-intercept': '' }),
      ...(ranges.length > 0 && { columns: ranges.join(',') }),
    },
  };
}

async function makeLearner(
  dp: DpFtrl,
  settings: LearnSettings,
  { how, problem }: { how: LearnerSettings; problem: LearnProblem },
): Promise<LearnerSource> {
  const { rows, examples, inputs } = problem;
  const { state: file, label } = settings;
  if (!file) return { learner: dp.learner(how), examples, inputs, state: undefined };
  const state = await State.open(file, continuedBy(settings, problem));
  try {
    const learner = await state.open(
      {},
      (options) => dp.learner({ ...how, ...options }) as unknown as Promise<KeptLearner>,
    );
    rows.arrange(state.columns);
    const own = new ExampleRows(state.columns, label);
    const arranged = own.features.map((column) => inputs.find(({ name }) => name === column)!);
    return { learner, examples: own, inputs: arranged, state };
  } catch (error) {
    await state.close();
    throw error;
  }
}

/** Parameters that a refusal names only if the row alone is at fault. */
const OF_INPUT = ['label', 'features'];

/** A learner and its progress. */
export class Learning {
  /** Number of rows that this run has learned from; with --state, only stored rows count. */
  private numLearned = 0;
  /** Number of rows after these that a failed save may or may not have stored. */
  private numInDoubt = 0;
  /** Steps known to be stored. */
  step: number;
  /** Present if the learner is evaluated on the data. */
  hindsight: Hindsight | undefined;
  /** Present if the weights are drawn. */
  chart: WeightsChart | undefined;
  readonly learner: ExampleLearner | Async<ExampleLearner>;
  /** Computes the losses of scores. */
  readonly losses: ProgressiveLosses;
  readonly inputs: readonly ModelInput[];
  readonly state: State | undefined;
  /** Present if the model is the average of the later weights. */
  readonly tail: TailAverage | undefined;
  private readonly examples: ExampleRows;
  /** Rows in the learner's format, kept for batches that are read again. */
  private readonly readied = new WeakMap<
    RowBatch,
    { features: Float64Array; labels: Float64Array }
  >();
  /** Present with --state, with which the next run can continue a partial batch. */
  private readonly interruption: Interruption | undefined;

  private readonly batchSize: number;
  private readonly dimension: number;
  /** Examples that earlier runs learned from. */
  private readonly numBefore: number;

  private constructor(
    { learner, examples, inputs, state }: LearnerSource,
    { average, target }: LearnSettings,
    { batchSize = 1, dimension }: LearnerSettings,
  ) {
    this.learner = learner;
    this.losses = lossesOf(target, learner);
    this.batchSize = batchSize;
    this.dimension = dimension;
    this.numBefore = learner.records;
    this.examples = examples;
    this.inputs = inputs;
    this.state = state;
    this.step = learner.step;
    if (average === 'tail' && !state) this.tail = new TailAverage(learner as ExampleLearner);
    if (state) this.interruption = new Interruption();
  }

  static async open(
    dp: DpFtrl,
    settings: LearnSettings,
    given: { how: LearnerSettings; problem: LearnProblem },
  ): Promise<Learning> {
    return new Learning(await makeLearner(dp, settings, given), settings, given.how);
  }

  /** Makes all passes, each over the same rows. */
  async learnAll(
    { rows, digest }: LearnProblem,
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
      if (!interruption && learner.waiting > 0) {
        await learner.end();
        hindsight?.endBatch();
        await this.look();
      }
      // A row that changed between passes may belong to another person.
      if (passes > 1 && hash.digest() !== digest) {
        throw new Misuse(`the rows of pass ${pass} are not those that were read before`);
      }
    }
    if (learner.records === 0) await this.state?.keep();
  }

  /** Stops handling signals and measuring. */
  endMeasuring(): void {
    this.interruption?.end();
    this.hindsight?.dispose();
  }

  async close(): Promise<void> {
    if (this.state) await this.state.close();
    else await this.learner.dispose();
  }

  /**
   * With --state, adds to the error that ends the run a note on the rows that the next run must
   * leave out.
   */
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

  /** Learns from a batch; an error names the refused row. */
  private async learnFrom(batch: RowBatch, areNew: boolean): Promise<void> {
    const { learner, hindsight, tail, chart, dimension } = this;
    const { numRows } = batch;
    const { features, labels } = this.ready(batch);
    const scores: Float64Array[] = [];
    const size = tail ? rowsPerLook(learner.steps, this.batchSize) : numRows;
    const most = Math.min(size, chart?.pieceSize ?? numRows);
    for (let begin = 0, end; begin < numRows; begin = end) {
      // All examples of a step are scored with the same weights.
      const room = hindsight ? this.batchSize - learner.waiting : most;
      end = Math.min(numRows, begin + Math.min(most, room));
      const rows = features.subarray(begin * dimension, end * dimension);
      const before = learner.records;
      try {
        if (hindsight) scores.push(await learner.scores(rows));
        await learner.learn(rows, labels.subarray(begin, end));
      } catch (error) {
        const { code } = error as { code?: string };
        if (code?.startsWith('store_')) this.numInDoubt = end - begin;
        else await this.learnBefore(refusalOf(error).row?.index ?? 0, rows, labels.subarray(begin));
        throw this.refusedRow(error, batch, { begin, done: learner.records - before });
      }
      this.count();
      await this.look();
    }
    if (!hindsight) return;
    const predictions = Float64Array.from(scores.flatMap((some) => Array.from(some)));
    await hindsight.learn(features, labels, { predictions, areNew });
  }

  /**
   * Learns from the examples before a refused one, because the failed call learned from none of its
   * rows.
   */
  private async learnBefore(count: number, rows: Float64Array, labels: Float64Array) {
    if (count > 0) {
      await this.learner.learn(rows.subarray(0, count * this.dimension), labels.subarray(0, count));
    }
    this.count();
  }

  /** Passes the current weights to the tail average and the chart. */
  private async look(): Promise<void> {
    this.tail?.look();
    await this.chart?.look();
  }

  /** Converts rows to the learner's format, once per batch. */
  private ready(batch: RowBatch): { features: Float64Array; labels: Float64Array } {
    const before = this.readied.get(batch);
    if (before) return before;
    const { examples, inputs } = this;
    const { numRows } = batch;
    const { dimension } = this;
    const features = new Float64Array(numRows * dimension).fill(1);
    const labels = new Float64Array(numRows);
    for (let i = 0; i < numRows; ++i) {
      if (batch.blank?.has(i)) {
        // With zero features, the gradient of the row is zero.
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

  private count(): void {
    const { records, step } = this.learner;
    this.numLearned = records - this.numBefore;
    this.step = step;
  }

  /** Names the row at which the learner stopped, if the row alone is at fault. */
  private refusedRow(
    error: unknown,
    batch: RowBatch,
    { begin, done }: { begin: number; done: number },
  ): unknown {
    const { code = 'internal' } = error as { code?: string };
    if (code === 'past_horizon') {
      return pastHorizon({ numSteps: this.learner.steps }, batch, begin + done);
    }
    // The value is left out of the message, because it may belong to a private row.
    const { value, row: example, ...refusal } = refusalOf(error);
    if (!example) return error;
    const place = placeOf(batch, begin + example.index);
    const what = refusal.constraint === undefined ? (error as Error).message : inOptions(refusal);
    // Other errors also depend on the noisy weights, and the row number would reveal something
    // about these.
    if (!OF_INPUT.includes(refusal.parameter ?? '')) return new Error(what, { cause: error });
    return new Misuse(`${placeText(place)}: ${what}`, { code, ...place }, value);
  }
}
