// SPDX-License-Identifier: Apache-2.0

import { float64s, overwrite, Scratch, writableLength } from './check.js';
import type { Core, CoreLearnerState, CorePrefixSum } from './core.js';
import { CoreHandle, type Backstop } from './handle.js';
import { withKey } from './key.js';
import { LOSS_OPTIONS, readLoss } from './loss.js';
import { MECHANISM_OPTIONS, readOptions, readPrefixMechanism, requireLength } from './options.js';
import { MODEL_FORMAT, MODEL_VERSION } from './model.js';
import { MODE_OPTIONS, readMode } from './totals.js';
import type { Certificate, LearnedModel, Learner, LossName, MechanismName } from './types.js';

const OPTIONS = [
  ...MECHANISM_OPTIONS,
  ...MODE_OPTIONS,
  'dimension',
  ...LOSS_OPTIONS,
  'doubling',
  'batchSize',
  'mechanismLambda',
  'grid',
  'insecureSeed',
];

class CoreLearnerHandle extends CoreHandle implements Learner {
  readonly certificate: Certificate;
  readonly grid: number;
  private readonly features = new Scratch();
  private readonly labels = new Scratch();

  constructor(
    core: Core,
    backstop: Backstop,
    made: CorePrefixSum,
    readonly dimension: number,
    readonly batchSize: number,
    readonly loss: LossName,
    readonly insecure: boolean,
  ) {
    super(core, backstop, made.id, 'learner');
    this.certificate = Object.freeze(made.certificate);
    this.grid = made.grid;
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

  endBatch(): void {
    this.core.call('learnerEndBatch', this.id);
  }

  losses(predictions: ArrayLike<number>, labels: ArrayLike<number>): Float64Array {
    const where = 'losses';
    const values = float64s(where, 'predictions', predictions).slice();
    const known = this.labels.copy(where, 'labels', labels);
    requireLength(where, 'labels', known.length, values.length);
    this.core.call('learnerLosses', this.id, values, known);
    return values;
  }

  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): void {
    const where = 'learn';
    const known = this.labels.copy(where, 'labels', labels);
    const rows = this.features.copy(where, 'features', features);
    requireLength(where, 'features', rows.length, known.length * this.dimension);
    if (predictions !== undefined) {
      const length = writableLength(where, 'predictions', predictions);
      requireLength(where, 'predictions', length, known.length);
    }
    try {
      this.core.call('learnerLearn', this.id, rows, known);
    } catch (error) {
      throw this.nameExample(error);
    }
    if (predictions !== undefined) overwrite(predictions, known);
  }

  model(): LearnedModel {
    const last = new Float64Array(this.dimension);
    const average = new Float64Array(this.dimension);
    this.core.call('learnerWeights', this.id, last, average);
    return {
      format: MODEL_FORMAT,
      version: MODEL_VERSION,
      loss: this.loss,
      inputs: Array.from(last, (_, i) => ({ name: `x${i + 1}` })),
      intercept: false,
      weights: Array.from(average),
      lastWeights: Array.from(last),
      numExamples: this.state().numExamples,
      private: !this.insecure,
      certificate: { ...this.certificate },
    };
  }

  private state(): CoreLearnerState {
    return this.core.call('learnerState', this.id);
  }

  private nameExample(error: unknown): unknown {
    const failed = error as Error & { released?: number; learned?: number };
    if (typeof failed.released !== 'number') return error;
    failed.learned = failed.released / this.dimension;
    delete failed.released;
    failed.message = `learn: example ${failed.learned}: ${failed.message}`;
    return failed;
  }
}

export function makeLearner(
  core: Core,
  backstop: Backstop,
  mechanisms: readonly MechanismName[],
  options: unknown,
): Learner {
  const where = 'learner';
  const reader = readOptions(where, options, OPTIONS);
  const mechanism = readPrefixMechanism(reader, mechanisms);
  const complete = {
    ...mechanism,
    // Here `lambda` is the learner's.
    parameters: { ...mechanism.parameters, lambda: reader.numberOr('mechanismLambda', undefined) },
    ...readMode(reader),
    dimension: reader.countOr('dimension', 1),
    ...readLoss(reader),
    doubling: reader.has('doubling') && reader.flag('doubling'),
    batchSize: reader.countOr('batchSize', 1),
    grid: reader.numberOr('grid', undefined),
    insecureSeed: reader.has('insecureSeed') ? reader.seed('insecureSeed') : undefined,
  };
  return withKey(where, complete, (options) => {
    const made = core.call('learnerCreate', options);
    const insecure = options.insecureSeed !== undefined;
    const { dimension, batchSize, loss } = options;
    return new CoreLearnerHandle(core, backstop, made, dimension, batchSize, loss, insecure);
  });
}
