// SPDX-License-Identifier: Apache-2.0

// Learners of linear models: streams of examples. The reading of a step has the next weights.

import { float64s, newFloat64s, outOfRange, type Reader, wrongType } from '../../core/check.js';
import type { CoreLearner } from '../../core/core.js';
import { makeError } from '../../core/errors.js';
import { factsOfLattice, listed } from '../streams/facts.js';
import type { StreamDefinition } from '../streams/kind.js';
import { readDimension, readReleaseOptions } from '../streams/numbers.js';
import type { RecordRows, Shape } from '../streams/shape.js';
import type { StreamHandle } from '../streams/stream.js';
import type { BatchLoss, LearnedModel } from '../../types/all.js';
import type { Weights } from '../../types/streams/readings.js';
import { countRecords, readPrefixMechanism, requireLength } from '../options.js';
import { algorithmText, descentOf } from './algorithm.js';
import { readBatchSize } from './gradient-learner.js';
import { factsOfLoss, readDoublingAndPenalty, readLearnerLoss, RULE_OPTIONS } from './loss.js';
import { MODEL } from './model.js';

/** Properties of a learner that its members need. */
interface LearnerShape extends Pick<CoreLearner, 'loss' | 'numClasses'> {
  dimension: number;
  batchLoss: BatchLoss | undefined;
}

/** A shape of examples that also keeps these properties. */
interface ExampleShape extends Shape<Weights> {
  readonly facts: LearnerShape;
}

const factsOf = (stream: StreamHandle<Weights>): LearnerShape =>
  (stream.given.shape as ExampleShape).facts;

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

/**
 * Examples as rows: features, label and, for a caller's loss, the slope, filled in once the weights
 * of the step are known.
 */
function shapeOf(facts: LearnerShape, perStep: number): ExampleShape {
  const { dimension, numClasses, batchLoss } = facts;
  const width = dimension + (batchLoss ? 2 : 1);
  const shape: ExampleShape = {
    facts,
    one: ['features', 'label'],
    many: ['features', 'labels'],
    numSums: dimension * numClasses,
    isCopied: false,
    isCheckedByCore: true,
    perStep,
    row(where, features, label) {
      const row = new Float64Array(width);
      const given = float64s(where, 'features', features);
      requireLength(where, 'features', given.length, dimension);
      if (typeof label !== 'number') throw wrongType(where, 'label', 'a number', label);
      row.set(given);
      row[dimension] = label;
      return row;
    },
    rows(where, features, labels) {
      const known = float64s(where, 'labels', labels);
      const given = float64s(where, 'features', features);
      requireLength(where, 'features', given.length, known.length * dimension);
      const rows = newFloat64s(where, 'features', known.length * width);
      for (let i = 0; i < known.length; ++i) {
        rows.set(given.subarray(i * dimension, (i + 1) * dimension), i * width);
        rows[i * width + dimension] = known[i]!;
      }
      return { rows, numRecords: known.length };
    },
    read: (weights, step) => ({ step, weights }),
  };
  if (!batchLoss) return shape;
  const fill = (stream: RecordRows, rows: Float64Array): void => {
    const count = rows.length / width;
    if (count === 0) return;
    const features = new Float64Array(count * dimension);
    const labels = new Float64Array(count);
    for (let i = 0; i < count; ++i) {
      const own = rows.subarray(i * width, (i + 1) * width);
      features.set(own.subarray(0, dimension), i * dimension);
      labels[i] = own[dimension]!;
    }
    const predictions = new Float64Array(count);
    stream.core.call('learnerScores', stream.id, features, predictions);
    const slopes = outcome(batchLoss, predictions, labels).slopes();
    slopes.forEach((slope, i) => (rows[(i + 1) * width - 1] = slope));
  };
  return { ...shape, fill };
}

function weightsOf(stream: StreamHandle<Weights>): { last: Float64Array; average: Float64Array } {
  const [last, average] = [new Float64Array(stream.size), new Float64Array(stream.size)];
  stream.core.call('learnerWeights', stream.id, last, average);
  return { last, average };
}

function modelOf(stream: StreamHandle<Weights>): LearnedModel {
  const { loss, numClasses, dimension } = factsOf(stream);
  const { last, average } = weightsOf(stream);
  return {
    ...MODEL,
    loss,
    ...(loss === 'softmax' && { numClasses }),
    inputs: Array.from({ length: dimension }, (_, i) => ({ name: `x${i + 1}` })),
    intercept: false,
    weights: Array.from(average),
    lastWeights: Array.from(last),
    numExamples: stream.place().records,
    private: !stream.insecure,
    certificate: { ...stream.certificate },
  };
}

function scoresOf(stream: StreamHandle<Weights>, features: unknown): Float64Array {
  const where = 'scores';
  const { dimension, numClasses } = factsOf(stream);
  const rows = float64s(where, 'features', features);
  const scores = new Float64Array(countRecords(where, rows, dimension, 'features') * numClasses);
  stream.core.call('learnerScores', stream.id, rows, scores);
  return scores;
}

function lossesOf(stream: StreamHandle<Weights>, given: unknown, labels: unknown): Float64Array {
  const where = 'losses';
  const { numClasses, batchLoss } = factsOf(stream);
  const scores = float64s(where, 'scores', given);
  const known = float64s(where, 'labels', labels);
  requireLength(where, 'scores', scores.length, known.length * numClasses);
  if (batchLoss) return outcome(batchLoss, scores, known).values();
  const values = new Float64Array(known.length);
  stream.core.call('learnerLosses', stream.id, scores, known, values);
  return values;
}

const OPTIONS = [
  ...['dimension', 'clip', 'batchSize', 'loss', 'doubling', 'penalty', 'grid', 'lattice'],
  'algorithm',
  ...RULE_OPTIONS,
];

/** Refuses a loss given as a function where it cannot be called. */
export function requireNamedLoss(reader: Reader, batchLoss: BatchLoss | undefined): void {
  if (!batchLoss) return;
  const about = {
    parameter: 'loss',
    constraint: 'must be given by name here',
    value: 'a function',
  };
  throw makeError('unsupported', reader.where, about);
}

export const LEARNER: StreamDefinition<Weights> = {
  name: 'learner',
  options: OPTIONS,
  readMechanism: readPrefixMechanism,
  members: {
    weights: { arity: 0, act: (stream) => weightsOf(stream).last },
    learn: { arity: undefined },
    model: { arity: 0, act: modelOf },
    lambda: { arity: 0, act: (stream) => stream.core.call('learnerLambda', stream.id) },
    scores: { arity: 1, act: (stream, [features]) => scoresOf(stream, features) },
    losses: { arity: 2, act: (stream, [scores, labels]) => lossesOf(stream, scores, labels) },
  },
  blames({ parameter }, reader) {
    if (parameter !== 'lambda' || reader.has('lambda') || !reader.has('radius')) return undefined;
    const radius = reader.number('radius');
    const constraint = `must be ${radius > 1 ? 'small' : 'large'} enough for finite iterates`;
    return { parameter: 'radius', constraint, value: String(radius) };
  },
  read(reader, complete) {
    const dimension = readDimension(reader);
    const batchSize = readBatchSize(reader);
    if (batchSize > 2 ** 31) throw outOfRange(reader.where, 'batchSize', 'at most 2^31', batchSize);
    const { batchLoss, ...given } = readLearnerLoss(reader);
    const loss = { ...given, descent: descentOf(reader, given.descent) };
    const steps = readDoublingAndPenalty(reader);
    const { set, lattice } = readReleaseOptions(reader);
    const { domain, radius, lambda, descent } = loss;
    const { doubling, penalty } = steps;
    return {
      set: { ...set, dimension, ...loss, ...steps, batchSize },
      own: {
        ...{ clip: complete.clip, dimension, batchSize, loss: factsOfLoss(loss) },
        ...{ domain, radius, lambda, doubling },
        ...(descent && {
          descent: { ...descent, rates: descent.rates && listed(descent.rates) },
        }),
        ...(penalty && {
          penalty: { ...penalty, groups: penalty.groups && listed(penalty.groups) },
        }),
        grid: set.grid,
        ...(lattice && { lattice: factsOfLattice(lattice) }),
      },
      shape: shapeOf(
        { loss: loss.loss, numClasses: loss.numClasses, dimension, batchLoss },
        batchSize,
      ),
      claims: { algorithm: algorithmText(complete, descent !== undefined) },
    };
  },
};
