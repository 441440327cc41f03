// SPDX-License-Identifier: Apache-2.0

import { float64s, overwrite, writableLength, wrongType, type Reader } from '../../core/check.js';
import type { CoreLearnerState, CorePrefixSum } from '../../core/core.js';
import { makeError, ofStep } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { ExampleHandle } from './example-handle.js';
import { withKey } from '../../core/key.js';
import { LOSS_OPTIONS, readLearnerLoss, readPenalisedSteps, STEP_OPTIONS } from './loss.js';
import { MECHANISM_OPTIONS, readOptions, readPrefixMechanism } from '../options.js';
import { requireLength, withOwnLambda } from '../options.js';
import { MODEL } from './model.js';
import { identityOf, openStored, pack, packBase, readMemo } from '../../stores/stored.js';
import { STORE_OPTIONS, type Stored } from '../../stores/stored.js';
import { MODE_OPTIONS, readMode } from '../sums/totals.js';
import type { BatchLoss, Certificate, LearnedModel, Learner } from '../../types/all.js';
import type { LearnerLedger } from '../../types/all.js';

const OPTIONS = [
  ...MECHANISM_OPTIONS,
  ...MODE_OPTIONS,
  'dimension',
  ...LOSS_OPTIONS,
  'numClasses',
  ...STEP_OPTIONS,
  'mechanismLambda',
  'grid',
  'insecureSeed',
];

/** Facts from a learner's options that its handle keeps. */
interface Facts {
  dimension: number;
  batchSize: number;
  loss: Learner['loss'];
  /** Number of classes for softmax, else 1. */
  numClasses: number;
  batchLoss: BatchLoss | undefined;
  insecure: boolean;
}

const CALLED_BY_LOSS = { constraint: 'called by the loss of this learner' };

/** Calls the caller's loss for some examples, and checks its result. */
function outcome(loss: BatchLoss, predictions: Float64Array, labels: Float64Array) {
  const where = 'loss';
  const given: unknown = loss(predictions, labels);
  if (typeof given !== 'object' || given === null) {
    throw wrongType(where, 'result', 'an object with slopes', given);
  }
  const { slopes, values } = given as { slopes?: unknown; values?: unknown };
  const read = (name: string, value: unknown) => {
    const numbers = float64s(where, name, value);
    requireLength(where, name, numbers.length, labels.length);
    return numbers;
  };
  return {
    slopes: () => read('slopes', slopes),
    values: () => read('values', values),
  };
}

/** Some examples of a call, and an array for their scores. */
interface Examples {
  rows: Float64Array;
  labels: Float64Array;
  scores: Float64Array;
  first: number;
}

/** Base of a learner and of one whose state is stored. */
abstract class LearnerHandle extends ExampleHandle {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly batchSize: number;
  readonly loss: Learner['loss'];
  readonly insecure: boolean;
  private readonly batchLoss: BatchLoss | undefined;
  /** True while the caller's loss runs. */
  private isAsking = false;

  constructor(instance: Instance, made: CorePrefixSum, facts: Facts) {
    super(instance, made.id, 'learner', facts.dimension, facts.numClasses);
    this.certificate = Object.freeze(made.certificate);
    this.grid = made.grid;
    this.batchSize = facts.batchSize;
    this.loss = facts.loss;
    this.insecure = facts.insecure;
    this.batchLoss = facts.batchLoss;
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.state().step;
  }

  get numWaiting(): number {
    return this.state().numWaiting;
  }

  get lambda(): number {
    return this.state().lambda;
  }

  protected endBatchNow(): void {
    if (this.isAsking) throw makeError('bad_state', 'endBatch', CALLED_BY_LOSS);
    this.core.call('learnerEndBatch', this.id);
  }

  losses(predictions: ArrayLike<number>, labels: ArrayLike<number>): Float64Array {
    const where = 'losses';
    const scores = float64s(where, 'predictions', predictions);
    const known = float64s(where, 'labels', labels);
    requireLength(where, 'predictions', scores.length, known.length * this.numScores);
    if (this.batchLoss) return outcome(this.batchLoss, scores, known).values();
    const values = new Float64Array(known.length);
    this.core.call('learnerLosses', this.id, scores, known, values);
    return values;
  }

  /** True if the loss is the caller's function, which sees predictions. */
  protected get asksCaller(): boolean {
    return this.batchLoss !== undefined;
  }

  /** Learns from examples; `first` is the index of the first one within the call. */
  protected learnNow(
    features: unknown,
    labels: unknown,
    predictions?: Float64Array,
    first = 0,
  ): void {
    if (this.isAsking) throw makeError('bad_state', 'learn', CALLED_BY_LOSS);
    this.scoring({ features, labels, predictions }, (rows, known, scores) => {
      if (this.batchLoss) this.learnAlong(this.batchLoss, { rows, labels: known, scores, first });
      else {
        const learn = () => this.core.call('learnerLearn', this.id, rows, known, scores);
        this.numbered('learn', learn, first);
      }
    });
  }

  /**
   * Passes the examples up to the end of their batch, which meet the same weights, to the loss in
   * one call.
   */
  private learnAlong(loss: BatchLoss, { rows, labels, scores, first }: Examples): void {
    for (let begin = 0, end; begin < labels.length; begin = end) {
      end = Math.min(labels.length, begin + this.batchSize - this.numWaiting);
      const batch = rows.slice(begin * this.dimension, end * this.dimension);
      const predicted = new Float64Array(end - begin);
      const learn = () => {
        this.core.call('learnerPredict', this.id, batch, predicted);
        const slopes = this.slopesOf(loss, predicted.slice(), labels.slice(begin, end));
        this.core.call('learnerLearnAlong', this.id, batch, slopes);
      };
      this.numbered('learn', learn, first + begin);
      scores.set(predicted, begin);
    }
  }

  private slopesOf(loss: BatchLoss, predicted: Float64Array, labels: Float64Array): Float64Array {
    this.isAsking = true;
    try {
      return outcome(loss, predicted, labels).slopes();
    } finally {
      this.isAsking = false;
    }
  }

  protected modelNow(): LearnedModel {
    const last = new Float64Array(this.dimension * this.numScores);
    const average = new Float64Array(last.length);
    this.core.call('learnerWeights', this.id, last, average);
    return {
      ...MODEL,
      loss: this.loss,
      ...(this.loss === 'softmax' && { numClasses: this.numScores }),
      inputs: Array.from({ length: this.dimension }, (_, i) => ({ name: `x${i + 1}` })),
      intercept: false,
      weights: Array.from(average),
      lastWeights: Array.from(last),
      numExamples: this.state().numExamples,
      private: !this.insecure,
      certificate: { ...this.certificate },
    };
  }

  protected state(): CoreLearnerState {
    return this.core.call('learnerState', this.id);
  }
}

class CoreLearner extends LearnerHandle implements Learner {
  learn(features: ArrayLike<number>, labels: ArrayLike<number>, predictions?: Float64Array): void {
    this.learnNow(features, labels, predictions);
  }

  endBatch(): void {
    this.endBatchNow();
  }

  model(): LearnedModel {
    return this.modelNow();
  }
}

/** Range of the bytes that identify the key of a checkpoint: docs/math/checkpoints.md. */
const COMMITMENT = [40, 56] as const;

class CoreLearnerLedger extends LearnerHandle implements LearnerLedger {
  /** Number of examples and steps at the last save. */
  private saved: string;
  /** Chain of the calls, in the order in which they were made. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    instance: Instance,
    made: CorePrefixSum,
    facts: Facts,
    private readonly opened: Stored,
  ) {
    super(instance, made, facts);
    this.saved = opened.state === undefined ? '' : this.place();
  }

  get numExamples(): number {
    return this.state().numExamples;
  }

  get memo(): Uint8Array | undefined {
    return this.opened.memo?.slice();
  }

  get identity(): string {
    return identityOf(this.core.call('learnerCheckpoint', this.id).subarray(...COMMITMENT));
  }

  async learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): Promise<void> {
    const where = 'learn';
    // Copied now, because the caller may reuse the arrays.
    const known = float64s(where, 'labels', labels);
    const rows = float64s(where, 'features', features);
    const scores = new Float64Array(known.length * this.numScores);
    if (predictions !== undefined) {
      const length = writableLength(where, 'predictions', predictions);
      requireLength(where, 'predictions', length, scores.length);
    }
    requireLength(where, 'features', rows.length, known.length * this.dimension);
    await this.inTurn(async () => {
      for (let begin = 0, end; begin < known.length; begin = end) {
        // The caller's loss sees predictions, so each batch waits until the one before is stored.
        const room = this.asksCaller ? this.batchSize - this.numWaiting : known.length;
        end = Math.min(known.length, begin + room);
        const batch = rows.subarray(begin * this.dimension, end * this.dimension);
        const into = scores.subarray(begin * this.numScores, end * this.numScores);
        const [first, labelled] = [begin, known.subarray(begin, end)];
        await this.stored(() => this.learnNow(batch, labelled, into, first));
      }
    });
    // Predictions reveal the weights, so they are not returned before those were stored.
    if (predictions !== undefined) overwrite(predictions, scores);
  }

  async endBatch(): Promise<void> {
    return this.inTurn(() => this.stored(() => this.endBatchNow()));
  }

  async model(): Promise<LearnedModel> {
    return this.inTurn(() => this.stored(() => this.modelNow()));
  }

  override dispose(): void {
    this.opened.key.fill(0);
    this.opened.hold.release(this.last);
    super.dispose();
  }

  private inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.last.then(act);
    this.last = result.catch(() => undefined);
    return result;
  }

  /**
   * First stores what an earlier call failed to store, then acts and stores the outcome. Nothing is
   * returned before it is stored. An error of the store has the step of what was learned, if
   * anything was.
   */
  private async stored<T>(act: () => T): Promise<T> {
    await this.save();
    const { step } = this;
    const before = this.place();
    try {
      return act();
    } finally {
      await this.save().catch((error: unknown) => {
        throw ofStep(error, this.place() === before ? undefined : step);
      });
    }
  }

  private async save(): Promise<void> {
    const place = this.place();
    if (place === this.saved) return;
    const { store, key, memo } = this.opened;
    const state = this.core.call('learnerCheckpoint', this.id);
    await store.save(pack(key, packBase(memo, state)));
    this.saved = place;
  }

  private place(): string {
    const { numExamples, step } = this.state();
    return `${numExamples} ${step}`;
  }
}

/** Reads a learner's options, completed with defaults and of the right types. */
function readLearner(reader: Reader, { mechanisms, catalogue }: Instance) {
  const mechanism = readPrefixMechanism(reader, mechanisms);
  const { batchLoss, ...loss } = readLearnerLoss(reader);
  const complete = {
    ...mechanism,
    parameters: withOwnLambda(reader, mechanism, catalogue),
    ...readMode(reader),
    dimension: reader.countOr('dimension', 1),
    ...loss,
    ...readPenalisedSteps(reader),
    grid: reader.numberOr('grid', undefined),
    insecureSeed: reader.seedOr('insecureSeed', undefined),
  };
  const insecure = complete.insecureSeed !== undefined;
  return { complete, facts: { ...complete, batchLoss, insecure } };
}

export function makeLearner(instance: Instance, options: unknown): Learner {
  const where = 'learner';
  const { complete, facts } = readLearner(readOptions(where, options, OPTIONS), instance);
  return withKey(where, complete, (given) => {
    return new CoreLearner(instance, instance.core.call('learnerCreate', given), facts);
  });
}

export async function makeLearnerLedger(
  instance: Instance,
  options: unknown,
): Promise<LearnerLedger> {
  const where = 'learnerLedger';
  const reader = readOptions(where, options, [...OPTIONS, ...STORE_OPTIONS, 'memo']);
  const { complete, facts } = readLearner(reader, instance);
  const first = readMemo(where, reader.raw('memo'));
  return openStored(reader, complete, (given, stored) => {
    const made = instance.core.call('learnerCreate', given);
    const memo = given.state === undefined ? first : stored.memo;
    return new CoreLearnerLedger(instance, made, facts, { ...stored, memo });
  });
}
