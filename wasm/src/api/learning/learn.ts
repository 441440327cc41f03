// SPDX-License-Identifier: Apache-2.0

// Makes a private model from a whole table: docs/math/learning.md, section 10.

import { float64s, optionsOf, outOfRange, requireFinite, type Reader } from '../../core/check.js';
import { makeError, type Where } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import type { LearnedModel, Learner, LearnerOptions, ModelInput } from '../../types/all.js';
import type { Stream } from '../../types/streams/stream.js';
import { makeStream } from '../streams/make.js';
import { readColumns } from '../streams/ranges.js';
import { memberOf } from '../streams/shape.js';
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
export interface Table {
  inputs: ModelInput[];
  /** True if each example ends with a feature that is always 1. */
  intercept: boolean;
  /** Features in [-1, 1], and the constant feature if there is one. */
  rows: Float64Array;
  labels: Float64Array;
}

/** Returns unnamed features, as many as there are in a row. */
function unnamed(where: Where, numFeatures: number, numRows: number): ModelInput[] {
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

export function readTable(reader: Reader): Table {
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
  const width = inputs.length + Number(intercept);
  const rows = new Float64Array(labels.length * width).fill(1);
  features.forEach((value, i) => {
    const input = i % inputs.length;
    rows[((i - input) / inputs.length) * width + input] = scaled(value, inputs[input]!);
  });
  return { inputs, intercept, rows, labels };
}

type TableLearner = Stream<never, unknown> & Learner;

/** Makes all passes of a learner with the options `how`; returns the weights of the model. */
export function passOver(
  { rows, labels }: Pick<Table, 'rows' | 'labels'>,
  { learner, how }: { learner: TableLearner; how: LearnerOptions },
): number[] {
  const tail = new TailAverage(learner);
  for (let pass = 0; pass < learner.steps; ++pass) {
    learner.learn(rows, labels);
    tail.look();
  }
  return takesLatest(how) ? Array.from(learner.weights()) : tail.weights()!;
}

/** How to learn from a table, besides the options of the call. */
export interface Plan {
  /** Default: the epsilon of the call. */
  epsilon?: number;
  /** Factor on the chosen clip norm. Default 1. */
  clip?: number;
}

/** Makes the model of a table with the settings that `learn` chooses. */
export function learnFrom(
  instance: Instance,
  reader: Reader,
  table: Table,
  { epsilon, clip = 1 }: Plan,
): LearnedModel {
  const { inputs, intercept, rows, labels } = table;
  const numRows = labels.length;
  const facts = { setup: 'table', rows: numRows, dimension: rows.length / numRows };
  const { loss } = readLinearLoss(reader);
  if (!(LOSSES as readonly string[]).includes(loss)) {
    throw outOfRange(reader.where, 'loss', `one of ${LOSSES.join(', ')}`, loss);
  }
  const given = { ...optionsOf(reader, OF_PLAN), ...(epsilon !== undefined && { epsilon }) };
  const { options: how } = learnPlan(instance.core, { ...facts, ...given });
  const learner = makeStream(instance, LEARNER, {
    ...how,
    clip: clip * how.clip!,
    lambda: clip * how.lambda!,
    insecureSeed: reader.raw('insecureSeed'),
  }) as unknown as TableLearner;
  try {
    const weights = passOver(table, { learner, how });
    return { ...learner.model(), weights, inputs, intercept, protects: 'one row' };
  } finally {
    learner.dispose();
  }
}
