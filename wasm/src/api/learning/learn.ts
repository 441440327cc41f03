// SPDX-License-Identifier: Apache-2.0

// Makes a private model from a whole table: docs/math/learning.md, section 10.

import {
  float64s,
  newFloat64s,
  optionsOf,
  outOfRange,
  requireFinite,
  type Reader,
} from '../../core/check.js';
import { makeError, type ErrorPlace } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import type { LearnedModel, Learner, LearnerOptions, ModelInput } from '../../types/all.js';
import type { Weights } from '../../types/streams/readings.js';
import type { Stream } from '../../types/streams/stream.js';
import { makeStream } from '../streams/make.js';
import { readColumns } from '../streams/ranges.js';
import { memberOf } from '../streams/shape.js';
import type { StreamHandle } from '../streams/stream.js';
import { requireLength } from '../options.js';
import { LEARNER } from './learner.js';
import { readLinearLoss } from './loss.js';
import { scaled } from './model.js';
import { learnPlan, takesLatest, withRanges } from './setup.js';
import { TailAverage } from './tail-average.js';
import { counted } from '../../shared/counted.js';

const LOSSES = ['logistic', 'hinge', 'softmax'] as const;
const OF_PLAN = ['epsilon', 'delta', 'neighbours', 'loss', 'rates'] as const;
const OF_TABLE = ['features', 'labels', 'columns', 'intercept', 'precondition', 'insecureSeed'];
export const LEARN_OPTIONS = [...OF_TABLE, ...OF_PLAN];

/** A table in the form that a learner takes. */
export interface LearnTable {
  inputs: ModelInput[];
  /** True if the last feature of each example is always 1. */
  intercept: boolean;
  dimension: number;
  numRows: number;
  /**
   * Examples one after the other, each with its features in [-1, 1], the constant feature if there
   * is one, and the label.
   */
  examples: Float64Array;
}

/** Inputs x1, x2, ... for features without names, as many as there are in a row. */
function unnamed(where: ErrorPlace, numFeatures: number, numRows: number): ModelInput[] {
  const width = numFeatures / numRows;
  if (!Number.isInteger(width) || width === 0) {
    const constraint =
      `must have a multiple of ${counted(numRows, 'entry', 'entries')}, ` +
      'as many for each of {labels}';
    const value = String(numFeatures);
    throw makeError('wrong_length', where, { parameter: 'features', constraint, value });
  }
  return withRanges(Array.from({ length: width }, (_, i) => ({ name: `x${i + 1}` })));
}

/** Reads the columns of the features, in their order. */
function readInputs(reader: Reader): ModelInput[] {
  const { names, ranges } = readColumns(reader);
  const index = names.find((name) => /^\d+$/.test(name));
  if (index !== undefined) {
    const constraint = 'must not be an integer, because objects list those first';
    const parameter = memberOf('columns', index);
    throw makeError('invalid_argument', reader.where, { parameter, constraint });
  }
  return names.map((name, i) => ({ name, low: ranges[2 * i]!, high: ranges[2 * i + 1]! }));
}

export function readTable(reader: Reader): LearnTable {
  const { where } = reader;
  const labels = float64s(where, 'labels', reader.raw('labels'));
  if (labels.length === 0) throw outOfRange(where, 'labels', 'at least one', 'none');
  const features = float64s(where, 'features', reader.raw('features'));
  const inputs = reader.has('columns')
    ? readInputs(reader)
    : unnamed(where, features.length, labels.length);
  requireLength(where, 'features', features.length, labels.length * inputs.length);
  requireFinite(where, 'features', features);
  const intercept = reader.flagOr('intercept', true);
  const dimension = inputs.length + Number(intercept);
  const examples = newFloat64s(where, 'features', labels.length * (dimension + 1)).fill(1);
  let at = 0;
  labels.forEach((label, row) => {
    inputs.forEach((input, i) => {
      examples[at + i] = scaled(features[row * inputs.length + i]!, input);
    });
    at += dimension + 1;
    examples[at - 1] = label;
  });
  return { inputs, intercept, dimension, numRows: labels.length, examples };
}

/** Refuses labels 0 in one row and -1 in another: both denote the same class. */
function requireOneRule(where: ErrorPlace, { dimension, numRows, examples }: LearnTable): void {
  const label = (row: number) => examples[row * (dimension + 1) + dimension];
  let zero = -1;
  let hasMinusOne = false;
  for (let row = 0; row < numRows; ++row) {
    if (label(row) === 0 && zero < 0) zero = row;
    hasMinusOne ||= label(row) === -1;
  }
  if (zero < 0 || !hasMinusOne) return;
  throw outOfRange(where, `labels[${zero}]`, '-1 or 1, as another one is -1', 0);
}

type TableLearner = Stream<never, unknown> & Learner;

/**
 * Makes all passes of a learner with the options `how` and returns the weights of the model.
 *
 * @param pass  makes one pass over the table.
 */
export function passOver(
  { learner, how }: { learner: TableLearner; how: LearnerOptions },
  pass: () => void,
): number[] {
  const tail = new TailAverage(learner);
  for (let done = 0; done < learner.steps; ++done) {
    pass();
    tail.look();
  }
  return takesLatest(how) ? Array.from(learner.weights()) : tail.weights()!;
}

/** Settings for learning from a table, besides the options of the call. */
export interface TablePlan {
  /** Default: the epsilon of the call. */
  epsilon?: number;
  /** Factor by which the chosen clip norm is multiplied. Default 1. */
  clip?: number;
}

/** Makes the model of a table with the settings that `learn` chooses. */
export function learnFrom(
  instance: Instance,
  reader: Reader,
  table: LearnTable,
  { epsilon, clip = 1 }: TablePlan,
): LearnedModel {
  const { inputs, intercept, dimension, numRows } = table;
  const facts = { setup: 'table', rows: numRows, dimension };
  const { loss } = readLinearLoss(reader);
  if (!(LOSSES as readonly string[]).includes(loss)) {
    throw outOfRange(reader.where, 'loss', `one of ${LOSSES.join(', ')}`, loss);
  }
  if (loss !== 'softmax') requireOneRule(reader.where, table);
  const given = { ...optionsOf(reader, OF_PLAN), ...(epsilon !== undefined && { epsilon }) };
  const { options: how } = learnPlan(instance.core, { ...facts, ...given });
  const learner = makeStream(instance, LEARNER, {
    ...how,
    clip: clip * how.clip!,
    lambda: clip * how.lambda!,
    insecureSeed: reader.raw('insecureSeed'),
  }) as unknown as TableLearner & StreamHandle<Weights>;
  try {
    // All passes use one array of examples, which only the core copies.
    const rows = table.examples;
    const batch = learner.cut('learn', { people: undefined, rows, numRecords: numRows });
    const weights = passOver({ learner, how }, () => {
      learner.releaseSteps('learn', batch, { from: 0, to: batch.steps, out: undefined });
    });
    return { ...learner.model(), weights, inputs, intercept, protects: 'one row' };
  } finally {
    learner.dispose();
  }
}
