// SPDX-License-Identifier: Apache-2.0

// A whole table in, a private model out: docs/math/learning.md, section 10.

import { float64s, optionsOf, outOfRange, requireFinite, type Reader } from '../../core/check.js';
import { asErrorsOf, makeError, type Where } from '../../core/errors.js';
import type { Core } from '../../core/core.js';
import type { Instance } from '../../core/handle.js';
import type { LearnedModel, Learner, LearnerOptions, ModelInput } from '../../types/all.js';
import { readOptions, requireLength } from '../options.js';
import { makeLearner } from './learner.js';
import { readInputs, scaled } from './model.js';
import { learnerDefaults, RATES, withLinearRates, withRanges } from './setup.js';
import { TailAverage } from './tail-average.js';

const WHERE = 'learn';
const LOSSES = ['logistic', 'hinge', 'softmax'] as const;
const OF_DEFAULTS = ['epsilon', 'delta', 'neighbours', 'numClasses'] as const;
export const LEARN_OPTIONS = ['features', 'labels', 'loss', 'inputs', 'intercept', 'rates', 'insecureSeed', ...OF_DEFAULTS];

/** A table as a learner takes it. */
export interface Table {
  inputs: ModelInput[];
  /** Whether each example ends with a feature that is always 1. */
  intercept: boolean;
  /** Features in [-1, 1], and that feature. */
  rows: Float64Array;
  labels: Float64Array;
}

/** Returns as many features without names as there are in a row. */
function unnamed(where: Where, numFeatures: number, numRows: number): ModelInput[] {
  const width = numFeatures / numRows;
  if (!Number.isInteger(width) || width === 0) {
    const constraint = `must have a multiple of ${numRows} entries, as many for each of {labels}`;
    const value = String(numFeatures);
    throw makeError('wrong_length', where, { parameter: 'features', constraint, value });
  }
  return Array.from({ length: width }, (_, i) => ({ name: `x${i + 1}` }));
}

export function readTable(reader: Reader): Table {
  const { where } = reader;
  const labels = float64s(where, 'labels', reader.raw('labels'));
  if (labels.length === 0) throw outOfRange(where, 'labels', 'at least one', 'none');
  const features = float64s(where, 'features', reader.raw('features'));
  const given = reader.has('inputs')
    ? readInputs(where, reader.raw('inputs'))
    : unnamed(where, features.length, labels.length);
  requireLength(where, 'features', features.length, labels.length * given.length);
  requireFinite(where, 'features', features);
  const inputs = withRanges(given);
  const intercept = reader.flagOr('intercept', true);
  const width = inputs.length + Number(intercept);
  const rows = new Float64Array(labels.length * width).fill(1);
  features.forEach((value, i) => {
    const input = i % inputs.length;
    rows[((i - input) / inputs.length) * width + input] = scaled(value, inputs[input]!);
  });
  return { inputs, intercept, rows, labels };
}

/** Makes all passes; returns the mean of the weights of the later ones. */
export function passOver(
  { rows, labels }: Pick<Table, 'rows' | 'labels'>,
  learner: Learner,
): number[] {
  const tail = new TailAverage(learner);
  for (let pass = 0; pass < learner.numSteps; ++pass) {
    learner.learn(rows, labels);
    tail.look();
  }
  return tail.weights()!;
}

function hasLinearRates(reader: Reader): boolean {
  return reader.oneOfOr('rates', RATES) === 'linear';
}

/** Options of the learner that `learn` chooses for so many rows of a table. */
export function chosenFor(
  core: Core,
  reader: Reader,
  { numRows, dimension, ...given }: { numRows: number; dimension: number; epsilon?: number },
): LearnerOptions {
  const loss = reader.oneOfOr('loss', LOSSES);
  const same = { loss, ...optionsOf(reader, OF_DEFAULTS), ...given };
  const how = learnerDefaults(core, { setup: 'table', dimension, numRows, ...same });
  return hasLinearRates(reader) ? withLinearRates(how) : how;
}

/** Learns; returns the model, whose weights are the latest ones where rates fall to 0. */
export function learnedModel(reader: Reader, table: Table, learner: Learner): LearnedModel {
  const tail = passOver(table, learner);
  const model = learner.model();
  const weights = hasLinearRates(reader) ? model.lastWeights : tail;
  const { inputs, intercept } = table;
  return { ...model, weights, inputs, intercept, protects: 'one row' };
}

export function learn(instance: Instance, options: unknown): LearnedModel {
  const reader = readOptions(WHERE, options, LEARN_OPTIONS);
  const table = readTable(reader);
  const { rows, labels } = table;
  const numRows = labels.length;
  const dimension = rows.length / numRows;
  return asErrorsOf(WHERE, () => {
    const learner = makeLearner(instance, {
      ...chosenFor(instance.core, reader, { numRows, dimension }),
      insecureSeed: reader.raw('insecureSeed'),
    });
    try {
      return learnedModel(reader, table, learner);
    } finally {
      learner.dispose();
    }
  });
}
