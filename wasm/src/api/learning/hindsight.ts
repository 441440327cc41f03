// SPDX-License-Identifier: Apache-2.0

// Comparisons for a learner's run: its twin without noise, the best fixed weights, and the bounds
// of the regret theorems. The first two are NOT private.

import { optionsObject, outOfRange, Reader, Scratch, wrongType } from '../../core/check.js';
import { overwrite, writableLength } from '../../core/check.js';
import type { Core } from '../../core/core.js';
import { makeError, told, within, type RefusalError, type Where } from '../../core/errors.js';
import { CoreHandle, type Backstop } from '../../core/handle.js';
import { DEFAULT_CLIP_NORM, NEIGHBOURS } from '../../shared/defaults.js';
import type { BestFixed, Comparator, RegretBounds, Twin } from '../../types/all.js';
import { readOptions, requireLength } from '../options.js';
import { LOSS_OPTIONS, readLearnerLoss, readRule, readSteps } from './loss.js';

const SHARED = ['dimension', 'numClasses', ...LOSS_OPTIONS] as const;
const TWIN_OPTIONS = [...SHARED, 'numSteps', 'clipNorm', 'doubling', 'batchSize'];
const COMPARATOR_OPTIONS = [
  ...SHARED.filter((name) => name !== 'lambda' && name !== 'descent'),
  'gap',
];
const RULE = ['dimension', 'domain', 'radius', 'lambda', 'descent', 'doubling', 'batchSize'];

/** Reads the loss by name, and the number of weights. */
function readShared(reader: Reader) {
  const { batchLoss, ...loss } = readLearnerLoss(reader);
  if (batchLoss) {
    const constraint = 'must be given by name here';
    throw makeError('unsupported', reader.where, { parameter: 'loss', constraint, value: 'a function' });
  }
  return { ...loss, dimension: reader.countOr('dimension', 1) };
}

/** A handle that takes batches of examples: an error of the core says how many came before. */
abstract class ExampleHandle extends CoreHandle {
  protected readonly features = new Scratch();
  protected readonly labels = new Scratch();

  constructor(
    core: Core,
    backstop: Backstop,
    id: number,
    kind: string,
    readonly dimension: number,
    readonly numScores: number,
  ) {
    super(core, backstop, id, kind);
  }

  protected read(where: string, features: unknown, labels: unknown) {
    const known = this.labels.copy(where, 'labels', labels);
    const rows = this.features.copy(where, 'features', features);
    requireLength(where, 'features', rows.length, known.length * this.dimension);
    return { rows, known };
  }

  protected numbered(where: string, call: () => void): void {
    numbered(where, { first: 0, dimension: this.dimension }, call);
  }
}

/** Makes a call; an error of the core says which example it is about, counted from `first`. */
export function numbered(
  where: string,
  { first, dimension }: { first: number; dimension: number },
  call: () => void,
): void {
  try {
    call();
  } catch (error) {
    const failed = error as RefusalError & { released?: number; learned?: number };
    if (typeof failed?.released !== 'number') {
      // The caller's loss failed, or gave something wrong: nothing of these examples was learned
      // from.
      if (error instanceof Error) failed.learned = first;
      throw error;
    }
    const learned = first + failed.released / dimension;
    const row = { kind: 'example', index: learned } as const;
    throw Object.assign(told(failed, { call: where, row }), { learned });
  }
}

class CoreTwinHandle extends ExampleHandle implements Twin {
  private readonly scores = new Scratch();

  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): void {
    const where = 'learn';
    const { rows, known } = this.read(where, features, labels);
    const numScores = known.length * this.numScores;
    if (predictions !== undefined) {
      const length = writableLength(where, 'predictions', predictions);
      requireLength(where, 'predictions', length, numScores);
    }
    const scores = this.scores.array(where, 'predictions', numScores);
    this.numbered(where, () => this.core.call('twinLearn', this.id, rows, known, scores));
    if (predictions !== undefined) overwrite(predictions, scores);
  }

  endBatch(): void {
    this.core.call('twinEndBatch', this.id);
  }

  weights(): Float64Array {
    const weights = new Float64Array(this.dimension * this.numScores);
    this.core.call('twinWeights', this.id, weights);
    return weights;
  }
}

class CoreComparatorHandle extends ExampleHandle implements Comparator {
  append(features: ArrayLike<number>, labels: ArrayLike<number>): void {
    const where = 'append';
    const { rows, known } = this.read(where, features, labels);
    this.numbered(where, () => this.core.call('comparatorAppend', this.id, rows, known));
  }

  best(): BestFixed {
    return this.core.call('comparatorSolve', this.id);
  }
}

export function makeTwin(core: Core, backstop: Backstop, options: unknown): Twin {
  const reader = readOptions('twin', options, TWIN_OPTIONS);
  const complete = {
    ...readShared(reader),
    numSteps: reader.count('numSteps'),
    clipNorm: reader.numberOr('clipNorm', DEFAULT_CLIP_NORM),
    ...readSteps(reader),
  };
  const id = core.call('twinCreate', complete);
  const { dimension, numClasses } = complete;
  return new CoreTwinHandle(core, backstop, id, 'twin', dimension, numClasses);
}

export function makeComparator(core: Core, backstop: Backstop, options: unknown): Comparator {
  const reader = readOptions('comparator', options, COMPARATOR_OPTIONS);
  const complete = { ...readShared(reader), gapTolerance: reader.numberOr('gap', 1e-6) };
  const id = core.call('comparatorCreate', complete);
  const { dimension, numClasses } = complete;
  return new CoreComparatorHandle(core, backstop, id, 'comparator', dimension, numClasses);
}

/** Reads the fields of a certificate that the theorems need. */
function readCertificate(outer: Where, value: unknown) {
  if (typeof value !== 'object' || value === null) {
    throw wrongType(outer, 'certificate', 'a certificate', value);
  }
  const where = within(outer, 'certificate');
  const reader = new Reader(where, optionsObject(where, value, Object.keys(value)));
  if (reader.has('lattice')) {
    const constraint = 'must be absent: there is no bound for mode lattice';
    throw makeError('unsupported', where, { parameter: 'lattice', constraint });
  }
  const workload = reader.raw('workload');
  if (workload !== 'prefix') {
    throw outOfRange(where, 'workload', '"prefix", what learners follow', workload);
  }
  return {
    mechanism: String(reader.raw('mechanism')),
    numSteps: reader.count('numSteps'),
    clipNorm: reader.number('clipNorm'),
    neighbours: reader.oneOf('neighbours', NEIGHBOURS),
    noiseMultiplier: reader.number('noiseMultiplier'),
    meanError: reader.number('meanError'),
  };
}

export function regretBounds(core: Core, certificate: unknown, options: unknown): RegretBounds {
  const where = 'regretBounds';
  const given = readCertificate(where, certificate);
  const reader = readOptions(where, options ?? {}, [...RULE, 'failureProbability']);
  const rule = {
    ...readRule(reader),
    dimension: reader.countOr('dimension', 1),
    ...readSteps(reader),
    failureProbability: reader.numberOr('failureProbability', 0.05),
  };
  if (rule.doubling && rule.descent) {
    throw outOfRange(where, 'doubling', 'false with descent', rule.doubling);
  }
  if (rule.batchSize < 1) throw outOfRange(where, 'batchSize', 'at least 1', rule.batchSize);
  return core.call('regretBounds', given, rule);
}
