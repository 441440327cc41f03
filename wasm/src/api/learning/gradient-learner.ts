// SPDX-License-Identifier: Apache-2.0

// Learners of any model: streams of gradients. The reading of a step has the next weights.

import { float64s, outOfRange, type Reader, readNested, requireFinite } from '../../core/check.js';
import type { CoreMechanism } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import type { Weights } from '../../types/streams/readings.js';
import { readPrefixMechanism, requireLength } from '../options.js';
import type { StreamDefinition } from '../streams/kind.js';
import { readDimension, rowsOf } from '../streams/numbers.js';
import { factsOfClip } from '../streams/options.js';
import type { Course, StreamFacts } from '../streams/shape.js';
import { adam, descent, ftrl, type UpdateRule } from './update-rule.js';

/** The weights, updated from one private sum of gradients to the next. */
class WeightCourse implements Course<Weights> {
  step = 0;
  /** Sum of all private gradients. */
  private total: Float64Array;

  constructor(
    private readonly rule: UpdateRule,
    private readonly current: Float64Array,
    private readonly batchSize: number,
  ) {
    this.total = new Float64Array(current.length);
  }

  weights(): Float64Array {
    return this.current.slice();
  }

  next(where: string, numbers: Float64Array): Weights {
    const { total: before, batchSize, step } = this;
    this.total = numbers.slice(0, before.length);
    this.step += 1;
    const total = this.total.map((sum) => sum / batchSize);
    const increment = this.total.map((sum, i) => (sum - before[i]!) / batchSize);
    this.rule(this.current, { increment, total });
    this.requireOpen(where);
    return { step, weights: this.weights() };
  }

  requireOpen(where: string): void {
    if (this.current.every(Number.isFinite)) return;
    const constraint = 'the weights left the doubles: the rate is too large';
    throw makeError('bad_state', where, { constraint });
  }
}

function readPositive(reader: Reader, name: string): number {
  const value = reader.number(name);
  if (value > 0 && Number.isFinite(value)) return value;
  throw outOfRange(reader.where, name, 'positive and finite', value);
}

function optionalPositive(reader: Reader, name: string): number | undefined {
  return reader.has(name) ? readPositive(reader, name) : undefined;
}

/** Reads a number in [0, 1). */
function readShare(reader: Reader, name: string, fallback: number): number {
  const value = reader.numberOr(name, fallback);
  if (value >= 0 && value < 1) return value;
  throw outOfRange(reader.where, name, 'at least 0 and below 1', value);
}

function readStart(reader: Reader, dimension: number): Float64Array | undefined {
  if (!reader.has('start')) return undefined;
  const { where } = reader;
  const start = float64s(where, 'start', reader.raw('start'));
  requireLength(where, 'start', start.length, dimension);
  requireFinite(where, 'start', start);
  return start;
}

/** Variance of the noise in one coordinate of each step's gradient. */
function variancesOf(
  mechanism: CoreMechanism,
  batchSize: number,
  noise: StreamFacts,
): Float64Array {
  const unit = noise.core.call('gradientVariances', mechanism);
  const scale = (noise.certificate.noiseStddev / batchSize) ** 2;
  // Two successive totals are rounded to the grid, each separately.
  const rounding = (noise.grid / batchSize) ** 2 / 6;
  return unit.map((variance) => scale * variance + rounding);
}

/** An update rule: its options, as a store keeps them, and a function that starts it. */
interface GradientRule {
  own: Record<string, unknown>;
  begin(start: Float64Array, variances: () => Float64Array): UpdateRule;
}

function readAdam(reader: Reader, rate: number): GradientRule {
  const wanted = "'descent', 'ftrl' or an object with adam";
  const outer = readNested(reader.where, 'rule', reader.raw('rule'), wanted, ['adam']);
  const known = ['beta1', 'beta2', 'floor'];
  const own = readNested(reader.where, 'rule.adam', outer.raw('adam'), 'an object', known);
  for (const name of ['momentum', 'radius']) {
    if (!reader.has(name)) continue;
    throw outOfRange(reader.where, name, 'left out with Adam', reader.raw(name));
  }
  const [beta1, beta2] = [readShare(own, 'beta1', 0.9), readShare(own, 'beta2', 0.999)];
  const floor = optionalPositive(own, 'floor');
  return {
    own: { rule: { adam: { beta1, beta2, floor } } },
    begin: (start, variances) =>
      adam({ rate, beta1, beta2, floor, variances: variances() }, start.length),
  };
}

function readRule(reader: Reader, rate: number): GradientRule {
  const given = reader.raw('rule');
  if (given !== undefined && typeof given !== 'string') return readAdam(reader, rate);
  const rule = reader.oneOfOr('rule', ['descent', 'ftrl']);
  const radius = optionalPositive(reader, 'radius');
  if (rule === 'ftrl') {
    if (reader.has('momentum')) {
      throw outOfRange(reader.where, 'momentum', "left out with 'ftrl'", reader.raw('momentum'));
    }
    return { own: { rule, radius }, begin: (start) => ftrl(rate, { start, radius }) };
  }
  const momentum = readShare(reader, 'momentum', 0);
  return {
    own: { rule, radius, momentum },
    begin: (start) => descent(rate, momentum, { start, radius }),
  };
}

export function readBatchSize(reader: Reader): number {
  const batchSize = reader.countOr('batchSize', 1);
  if (batchSize >= 1) return batchSize;
  throw outOfRange(reader.where, 'batchSize', 'at least 1', batchSize);
}

export const GRADIENT_LEARNER: StreamDefinition<Weights> = {
  name: 'gradientLearner',
  core: 'totals',
  options: [
    'dimension',
    'rate',
    'clip',
    'clippedTo',
    'batchSize',
    'start',
    'rule',
    'momentum',
    'radius',
    'grid',
  ],
  readMechanism: readPrefixMechanism,
  members: {
    weights: {
      arity: 0,
      act: (stream) => stream.courseAfter(stream.place().acknowledged).weights(),
    },
  },
  read(reader, complete) {
    const dimension = readDimension(reader);
    const batchSize = readBatchSize(reader);
    const rate = readPositive(reader, 'rate');
    const { own, begin } = readRule(reader, rate);
    const grid = reader.numberOr('grid', undefined);
    const start = readStart(reader, dimension);
    return {
      set: { dimension, grid },
      own: { ...factsOfClip(complete), dimension, batchSize, rate, ...own, grid },
      initial: { start: start && Array.from(start) },
      shape: {
        ...rowsOf(dimension, 'gradient'),
        numSums: dimension,
        isCopied: true,
        isCheckedByCore: complete.clippedByCaller,
        perStep: batchSize,
        begin(noise) {
          const given = noise.initial['start'] as readonly number[] | undefined;
          const first = given ? Float64Array.from(given) : new Float64Array(dimension);
          const rule = begin(first.slice(), () => variancesOf(complete, batchSize, noise));
          return new WeightCourse(rule, first, batchSize);
        },
      },
    };
  },
};
