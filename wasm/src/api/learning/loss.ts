// SPDX-License-Identifier: Apache-2.0

// Losses and constraint sets by name, for learner, simulation, models and the command.

import {
  float64s,
  optionsObject,
  outOfRange,
  Reader,
  readNested,
  wrongType,
} from '../../core/check.js';
import { makeError, within } from '../../core/errors.js';
import type { BatchLoss, DomainName, LossName } from '../../types/all.js';

export const LOSSES: readonly LossName[] = [
  'logistic',
  'hinge',
  'squared',
  'huber',
  'absolute',
  'quantile',
];

export const DOMAINS: readonly DomainName[] = [
  'ball',
  'whole-space',
  'box',
  'simplex',
  'simplex-entropic',
];

export const RULE_OPTIONS = ['domain', 'radius', 'lambda', 'descent'] as const;

/** True if the labels of a loss are classes. */
export function classifies(loss: LossName | 'softmax' | 'function'): boolean {
  return loss === 'logistic' || loss === 'hinge' || loss === 'softmax';
}

/** Reads `descent`, with defaults; undefined for FTRL. */
function readDescent(outer: Reader) {
  const where = within(outer.where, 'descent');
  const given = outer.raw('descent');
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType(outer.where, 'descent', 'an object', given);
  }
  const reader = new Reader(where, optionsObject(where, given, ['rates', 'momentum', 'through']));
  const through = reader.oneOfOr('through', ['post-processing', 'workload']);
  const rates = reader.has('rates') ? float64s(where, 'rates', reader.raw('rates')) : undefined;
  const throughWorkload = through === 'workload';
  return { rates, momentum: reader.numberOr('momentum', 0), throughWorkload };
}

/** Reads the constraint set and the update rule. */
export function readRule(reader: Reader) {
  return {
    domain: reader.oneOfOr('domain', DOMAINS),
    radius: reader.numberOr('radius', 1),
    lambda: reader.numberOr('lambda', undefined),
    descent: readDescent(reader),
  };
}

/** Reads `penalty`, with defaults; undefined if there is none. */
function readPenalty(outer: Reader) {
  const { where } = outer;
  const given = outer.raw('penalty');
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType(where, 'penalty', 'an object', given);
  }
  const known = ['strength', 'groups', 'numUnpenalised'];
  const own = Object.entries(optionsObject(within(where, 'penalty'), given, known));
  // Names them as the core does in errors.
  const fields = own.map(([name, value]) => [`penalty.${name}`, value]);
  const reader = new Reader(where, Object.fromEntries(fields));
  const sizes = 'penalty.groups';
  const groups = reader.has(sizes) ? float64s(where, sizes, reader.raw(sizes)) : undefined;
  groups?.forEach((size) => {
    if (!Number.isSafeInteger(size)) throw outOfRange(where, sizes, 'integers', size);
  });
  if (groups?.length === 0) throw outOfRange(where, sizes, 'at least one size', 'none');
  const numUnpenalised = reader.countOr('penalty.numUnpenalised', 0);
  return { strength: reader.number('penalty.strength'), groups, numUnpenalised };
}

/** Reads the growth of lambda, and the penalty of a step. */
export function readDoublingAndPenalty(reader: Reader) {
  return { doubling: reader.flagOr('doubling', false), penalty: readPenalty(reader) };
}

/** Options that decide how steps are made from examples, and the penalty of a step. */
export const STEP_OPTIONS = ['doubling', 'batchSize', 'penalty'] as const;

export function readPenalisedSteps(reader: Reader) {
  return { ...readDoublingAndPenalty(reader), batchSize: reader.countOr('batchSize', 1) };
}

/** Losses without a parameter, which are given by name alone. */
const PLAIN_LOSSES = ['logistic', 'hinge', 'squared', 'absolute'] as const;

/** A loss in the form of the core: with all parameters, whether used or not. */
interface CompletedLoss {
  loss: LossName | 'softmax' | 'function';
  quantile: number;
  huberThreshold: number;
  /** Number of classes for softmax, else 1. */
  numClasses: number;
}

/** Reads a loss: a name, an object with its parameter, or the caller's function. */
export function readLinearLoss(
  reader: Reader,
): CompletedLoss & { batchLoss: BatchLoss | undefined } {
  const { where } = reader;
  const given = reader.raw('loss');
  const none = { quantile: 0.5, huberThreshold: 1, numClasses: 1, batchLoss: undefined };
  if (typeof given === 'function') {
    return { ...none, loss: 'function', batchLoss: given as BatchLoss };
  }
  if (given === undefined || typeof given === 'string') {
    return { ...none, loss: reader.oneOfOr('loss', PLAIN_LOSSES) };
  }
  const wanted = 'a name, a function, or an object with quantile, huber or softmax';
  const keys = ['quantile', 'huber', 'softmax'];
  const own = readNested(where, 'loss', given, wanted, keys);
  const [key, other] = keys.filter((name) => own.has(name));
  if (key === undefined || other !== undefined) {
    const value = key === undefined ? 'none' : `${key} and ${other}`;
    throw makeError('wrong_type', where, {
      parameter: 'loss',
      constraint: `must have one of ${keys.join(', ')}`,
      value,
    });
  }
  if (key === 'quantile') return { ...none, loss: key, quantile: own.number(key) };
  if (key === 'huber') return { ...none, loss: key, huberThreshold: own.number(key) };
  return { ...none, loss: 'softmax', numClasses: own.count(key) };
}

/** Writes a loss in the words of the options. */
export function factsOfLoss({
  loss,
  quantile,
  huberThreshold,
  numClasses,
}: CompletedLoss): unknown {
  switch (loss) {
    case 'quantile':
      return { quantile };
    case 'huber':
      return { huber: huberThreshold };
    case 'softmax':
      return { softmax: numClasses };
    default:
      return loss;
  }
}

/** Reads the loss of a learner, its constraint set and its update rule. */
export function readLearnerLoss(reader: Reader) {
  return { ...readRule(reader), ...readLinearLoss(reader) };
}
