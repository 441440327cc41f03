// SPDX-License-Identifier: Apache-2.0

// A whole table in, a private model out: docs/math/learning.md, section 10.

import { float64s, optionsOf, outOfRange, requireFinite, type Reader } from '../../core/check.js';
import { asErrorsOf, makeError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import type { LearnedModel, Learner, ModelInput } from '../../types/all.js';
import { readOptions, requireLength } from '../options.js';
import { makeLearner } from './learner.js';
import { readInputs, scaled } from './model.js';
import { learnerDefaults, withRanges } from './setup.js';
import { TailAverage } from './tail-average.js';

const WHERE = 'learn';
const LOSSES = ['logistic', 'hinge', 'softmax'] as const;
const OF_DEFAULTS = ['epsilon', 'delta', 'neighbours', 'numClasses'] as const;
const OPTIONS = ['features', 'labels', 'loss', 'inputs', 'intercept', 'insecureSeed', ...OF_DEFAULTS];

interface Table {
  inputs: ModelInput[];
  /** Whether each example ends with a feature that is always 1. */
  intercept: boolean;
  /** Features in [-1, 1], and that feature. */
  rows: Float64Array;
  labels: Float64Array;
}

/** Returns as many features without names as there are in a row. */
function unnamed(numFeatures: number, numRows: number): ModelInput[] {
  const width = numFeatures / numRows;
  if (!Number.isInteger(width) || width === 0) {
    const constraint = `must have a multiple of ${numRows} entries, as many for each of {labels}`;
    const value = String(numFeatures);
    throw makeError('wrong_length', WHERE, { parameter: 'features', constraint, value });
  }
  return Array.from({ length: width }, (_, i) => ({ name: `x${i + 1}` }));
}

function readTable(reader: Reader): Table {
  const labels = float64s(WHERE, 'labels', reader.raw('labels'));
  if (labels.length === 0) throw outOfRange(WHERE, 'labels', 'at least one', 'none');
  const features = float64s(WHERE, 'features', reader.raw('features'));
  const given = reader.has('inputs')
    ? readInputs(WHERE, reader.raw('inputs'))
    : unnamed(features.length, labels.length);
  requireLength(WHERE, 'features', features.length, labels.length * given.length);
  requireFinite(WHERE, 'features', features);
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

export function learn(instance: Instance, options: unknown): LearnedModel {
  const reader = readOptions(WHERE, options, OPTIONS);
  const loss = reader.oneOfOr('loss', LOSSES);
  const table = readTable(reader);
  const { inputs, intercept, rows, labels } = table;
  const batchSize = labels.length;
  const dimension = rows.length / batchSize;
  return asErrorsOf(WHERE, () => {
    const learner = makeLearner(instance, {
      ...learnerDefaults(instance.core, { setup: 'table', loss, dimension, numRows: batchSize, ...optionsOf(reader, OF_DEFAULTS) }),
      insecureSeed: reader.raw('insecureSeed'),
    });
    try {
      const weights = passOver(table, learner);
      return { ...learner.model(), weights, inputs, intercept, protects: 'one row' };
    } finally {
      learner.dispose();
    }
  });
}
