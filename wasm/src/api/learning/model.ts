// SPDX-License-Identifier: Apache-2.0

// Checks learned models, which are plain data of unknown origin, and predicts with them.

import { float64s, optionsObject, outOfRange, Reader, wrongType } from '../../core/check.js';
import { newFloat64s, requireFinite, requireFormat } from '../../core/check.js';
import { makeError, within, type ErrorPlace } from '../../core/errors.js';
import type { LearnedModel, ModelInput } from '../../types/all.js';
import { LOSSES } from './loss.js';
import { counted } from '../../shared/counted.js';

export const MODEL = { format: 'dp-ftrl model', version: 1 } as const;

const FIELDS: readonly (keyof LearnedModel)[] = [
  'format',
  'version',
  'loss',
  'numClasses',
  'inputs',
  'intercept',
  'weights',
  'lastWeights',
  'numExamples',
  'private',
  'certificate',
  'protects',
  'preconditioning',
  'test',
  'nonprivate',
];

/** Parts of a model that prediction needs. */
interface Linear {
  inputs: ModelInput[];
  /** Number of scores, each with a row of weights. */
  numScores: number;
  weights: Float64Array;
}

function readInput(where: ErrorPlace, value: unknown): ModelInput {
  const reader = new Reader(where, optionsObject(where, value, ['name', 'low', 'high']));
  const name = reader.raw('name');
  if (typeof name !== 'string') throw wrongType(where, 'name', 'a string', name);
  if (!reader.has('low') && !reader.has('high')) return { name };
  const [low, high] = [reader.number('low'), reader.number('high')];
  if (!(Number.isFinite(high - low) && low < high)) {
    throw outOfRange(where, 'high', `finite and above {low} = ${low}`, high);
  }
  return { name, low, high };
}

function readInputs(where: ErrorPlace, given: unknown): ModelInput[] {
  if (!Array.isArray(given)) throw wrongType(where, 'inputs', 'an array', given);
  return given.map((input, i) => readInput(within(where, `inputs[${i}]`), input));
}

function readWeights(where: ErrorPlace, reader: Reader, name: string): Float64Array {
  const weights = float64s(where, name, reader.raw(name));
  requireFinite(where, name, weights);
  return weights;
}

function readModel(outer: ErrorPlace, value: unknown): Linear {
  const where = within(outer, 'model');
  if (typeof value !== 'object' || value === null) {
    throw wrongType(outer, 'model', 'a learned model', value);
  }
  requireFormat(where, value, MODEL);
  const reader = new Reader(where, optionsObject(where, value, FIELDS));
  const loss = reader.oneOf('loss', [...LOSSES, 'softmax', 'function']);
  const numScores = loss === 'softmax' ? reader.count('numClasses') : 1;
  if (numScores < 1) throw outOfRange(where, 'numClasses', 'at least 1', numScores);
  const inputs = readInputs(where, reader.raw('inputs'));
  const weights = readWeights(where, reader, 'weights');
  const wanted = numScores * (inputs.length + Number(reader.flag('intercept')));
  if (wanted === 0 || weights.length !== wanted) {
    const each = numScores === 1 ? '' : ' in each class';
    const what = `one weight for each of its {inputs} and the intercept${each}, ${wanted}`;
    throw makeError('wrong_length', where, {
      parameter: 'weights',
      constraint: `must be ${what}`,
      value: String(weights.length),
    });
  }
  return { inputs, numScores, weights };
}

/** Value of an input as the model sees it: clipped and scaled to [-1, 1] if it has a range. */
export function scaled(value: number, { low, high }: ModelInput): number {
  if (low === undefined || high === undefined) return value;
  const inside = Math.min(Math.max(value, low), high);
  return ((inside - low) / (high - low)) * 2 - 1;
}

export function predict(model: unknown, features: unknown): Float64Array {
  const where = 'predict';
  const { inputs, numScores, weights } = readModel(where, model);
  const width = inputs.length;
  const rows = float64s(where, 'features', features);
  if (width === 0 || rows.length % width !== 0) {
    throw makeError('wrong_length', where, {
      parameter: 'features',
      constraint: `must have a multiple of ${counted(width, 'entry', 'entries')}, one for each input`,
      value: String(rows.length),
    });
  }
  const numRows = rows.length / width;
  const length = numRows * numScores;
  requireFinite(where, 'features', rows);
  const scores = newFloat64s(where, 'features', length);
  const stride = weights.length / numScores;
  for (let i = 0; i < length; ++i) {
    const row = Math.floor(i / numScores) * width;
    const first = (i % numScores) * stride;
    let score = stride > width ? weights[first + width]! : 0;
    for (let j = 0; j < width; ++j) {
      score += weights[first + j]! * scaled(rows[row + j]!, inputs[j]!);
    }
    scores[i] = score;
  }
  return scores;
}

/**
 * True if the scores give the right class: by the sign of a single score, or by the largest of
 * several, the first one in a tie.
 */
export function isRight(scores: Float64Array, label: number): boolean {
  if (scores.length === 1) return scores[0]! >= 0 === label > 0;
  return scores.indexOf(Math.max(...scores)) === label;
}
