// SPDX-License-Identifier: Apache-2.0

// Comparisons for a learner's run: its noiseless twin, the best fixed weights, and the bounds
// of the regret theorems. The first two are NOT private.

import {
  newFloat64s,
  optionsObject,
  outOfRange,
  Reader,
  readOptions,
  wrongType,
} from '../../core/check.js';
import type { Core } from '../../core/core.js';
import { asErrorsOf, makeError, type ErrorPlace, within } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { DEFAULT_CLIP, DEFAULT_FAILURE, NEIGHBOURS } from '../../shared/defaults.js';
import type { BestFixed, Comparator, RegretBounds, Twin } from '../../types/all.js';
import { ExampleHandle } from './example-handle.js';
import { requireNamedLoss } from './learner.js';
import {
  readLearnerLoss,
  readPenalisedSteps,
  readRule,
  RULE_OPTIONS,
  STEP_OPTIONS,
} from './loss.js';

const SHARED = ['dimension', 'loss', ...RULE_OPTIONS] as const;
const TWIN_OPTIONS = [...SHARED, 'steps', 'clip', ...STEP_OPTIONS];
const COMPARATOR_OPTIONS = [
  ...SHARED.filter((name) => name !== 'lambda' && name !== 'descent'),
  'gap',
];
const RULE = ['dimension', 'numClasses', 'domain', 'radius', 'lambda', 'descent', ...STEP_OPTIONS];

/** Reads the loss, which must be given by name, the update rule and the number of features. */
function readShared(reader: Reader) {
  const { batchLoss, ...loss } = readLearnerLoss(reader);
  requireNamedLoss(reader, batchLoss);
  return { ...loss, dimension: reader.countOr('dimension', 1) };
}

class CoreTwinHandle extends ExampleHandle implements Twin {
  learn(features: ArrayLike<number>, labels: ArrayLike<number>): Float64Array {
    const where = 'learn';
    const { rows, known } = this.read(where, features, labels);
    const scores = newFloat64s(where, 'labels', known.length * this.numScores);
    this.numbered(where, () => this.core.call('twinLearn', this.id, rows, known, scores));
    return scores;
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

export function makeTwin(instance: Instance, options: unknown): Twin {
  const reader = readOptions('twin', options, TWIN_OPTIONS);
  const complete = {
    ...readShared(reader),
    steps: reader.count('steps'),
    clip: reader.numberOr('clip', DEFAULT_CLIP),
    ...readPenalisedSteps(reader),
  };
  const id = asErrorsOf('twin', () => instance.core.call('twinCreate', complete));
  const { dimension, numClasses } = complete;
  return new CoreTwinHandle(instance, id, 'twin', dimension, numClasses);
}

export function makeComparator(instance: Instance, options: unknown): Comparator {
  const reader = readOptions('comparator', options, COMPARATOR_OPTIONS);
  const complete = { ...readShared(reader), gapTolerance: reader.numberOr('gap', 1e-6) };
  const id = asErrorsOf('comparator', () => instance.core.call('comparatorCreate', complete));
  const { dimension, numClasses } = complete;
  return new CoreComparatorHandle(instance, id, 'comparator', dimension, numClasses);
}

/** Reads the fields of a certificate that the theorems need. */
function readCertificate(outer: ErrorPlace, value: unknown) {
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
    maxError: reader.number('maxError'),
  };
}

export function regretBounds(core: Core, certificate: unknown, options: unknown): RegretBounds {
  const where = 'regretBounds';
  const given = readCertificate(where, certificate);
  const reader = readOptions(where, options ?? {}, [...RULE, 'failureProbability']);
  const rule = {
    ...readRule(reader),
    dimension: reader.countOr('dimension', 1),
    numClasses: reader.countOr('numClasses', 1),
    ...readPenalisedSteps(reader),
    failureProbability: reader.numberOr('failureProbability', DEFAULT_FAILURE),
  };
  if (rule.doubling && rule.descent) {
    throw outOfRange(where, 'doubling', 'false with descent', rule.doubling);
  }
  const strength = rule.penalty?.strength ?? 0;
  if (rule.descent && strength > 0) {
    const constraint = 'must be 0 with {descent}';
    throw makeError('unsupported', where, {
      parameter: 'penalty.strength',
      constraint,
      value: String(strength),
    });
  }
  if (!(rule.numClasses >= 1 && rule.dimension % rule.numClasses === 0)) {
    throw outOfRange(
      where,
      'numClasses',
      `a divisor of dimension ${rule.dimension}`,
      rule.numClasses,
    );
  }
  if (rule.batchSize < 1) throw outOfRange(where, 'batchSize', 'at least 1', rule.batchSize);
  return core.call('regretBounds', given, rule);
}
