// SPDX-License-Identifier: Apache-2.0

import { overwrite, Scratch, writableLength } from './check.js';
import type { Core, CoreLearner } from './core.js';
import { CoreHandle, type Backstop } from './handle.js';
import { withKey } from './key.js';
import { MECHANISM_OPTIONS, readOptions, readPrefixMechanism, requireLength } from './options.js';
import { MODEL_FORMAT, MODEL_VERSION } from './model.js';
import { MODE_OPTIONS, readMode } from './totals.js';
import type { Certificate, LearnedModel, Learner, LossName, MechanismName } from './types.js';

const OPTIONS = [
  ...MECHANISM_OPTIONS,
  ...MODE_OPTIONS,
  'dimension',
  'loss',
  'domain',
  'radius',
  'mechanismLambda',
  'grid',
  'insecureSeed',
];

class CoreLearnerHandle extends CoreHandle implements Learner {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly lambda: number;
  private readonly features = new Scratch();
  private readonly labels = new Scratch();

  constructor(
    core: Core,
    backstop: Backstop,
    made: CoreLearner,
    readonly dimension: number,
    readonly loss: LossName,
    readonly insecure: boolean,
  ) {
    super(core, backstop, made.id, 'learner');
    this.certificate = Object.freeze(made.certificate);
    this.grid = made.grid;
    this.lambda = made.lambda;
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.core.call('learnerStep', this.id);
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
      numExamples: this.step,
      private: !this.insecure,
      certificate: { ...this.certificate },
    };
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
  const loss = reader.oneOfOr('loss', ['logistic', 'squared'], 'logistic');
  const complete = {
    ...mechanism,
    // Here `lambda` is the learner's.
    parameters: { ...mechanism.parameters, lambda: reader.numberOr('mechanismLambda', undefined) },
    ...readMode(reader),
    dimension: reader.countOr('dimension', 1),
    loss,
    domain: reader.oneOfOr('domain', ['ball', 'whole-space'], 'ball'),
    radius: reader.numberOr('radius', 1),
    lambda: reader.numberOr('lambda', undefined),
    grid: reader.numberOr('grid', undefined),
    insecureSeed: reader.has('insecureSeed') ? reader.seed('insecureSeed') : undefined,
  };
  return withKey(where, complete, (options) => {
    const made = core.call('learnerCreate', options);
    const insecure = options.insecureSeed !== undefined;
    return new CoreLearnerHandle(core, backstop, made, options.dimension, loss, insecure);
  });
}
