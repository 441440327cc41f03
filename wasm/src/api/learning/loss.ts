// SPDX-License-Identifier: Apache-2.0

// Losses and constraint sets by name, for learner, simulation, models and the command.

import { float64s, optionsObject, outOfRange, Reader, wrongType } from '../../core/check.js';
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

const RULE_OPTIONS = ['domain', 'radius', 'lambda', 'descent'] as const;
const PARAMETERS = ['loss', 'quantile', 'huberThreshold'] as const;
export const LOSS_OPTIONS = [...PARAMETERS, ...RULE_OPTIONS] as const;

/** True if the labels of a loss are classes. */
export function classifies(loss: LossName | 'softmax' | 'function'): boolean {
  return loss === 'logistic' || loss === 'hinge' || loss === 'softmax';
}

/** Reads a complete descent; undefined for FTRL. */
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

/** Reads a complete penalty; undefined if there is none. */
function readPenalty(outer: Reader) {
  const { where } = outer;
  const given = outer.raw('penalty');
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType(where, 'penalty', 'an object', given);
  }
  const known = ['strength', 'groups', 'numUnpenalised'];
  const own = Object.entries(optionsObject(within(where, 'penalty'), given, known));
  // Uses the names that the core has for them.
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

/**
 * Options for how steps are made from examples, lambda from steps, and what is added to their
 * losses.
 */
export const STEP_OPTIONS = ['doubling', 'batchSize', 'penalty'] as const;

export function readPenalisedSteps(reader: Reader) {
  return { ...readSteps(reader), penalty: readPenalty(reader) };
}

/** Reads how steps are made from examples, and lambda from steps. */
export function readSteps(reader: Reader) {
  return {
    doubling: reader.flagOr('doubling', false),
    batchSize: reader.countOr('batchSize', 1),
  };
}

export function readLoss(reader: Reader) {
  return {
    loss: reader.oneOfOr('loss', LOSSES),
    quantile: reader.numberOr('quantile', 0.5),
    huberThreshold: reader.numberOr('huberThreshold', 1),
    ...readRule(reader),
  };
}

/** Reads the loss of a learner, which may have several scores or be the caller's function. */
export function readLearnerLoss(reader: Reader) {
  const { where } = reader;
  const given = reader.raw('loss');
  const isSoftmax = given === 'softmax';
  if (!isSoftmax && reader.has('numClasses')) {
    throw outOfRange(
      where,
      'numClasses',
      "left away without loss 'softmax'",
      reader.raw('numClasses'),
    );
  }
  const known = { numClasses: 1, batchLoss: undefined as BatchLoss | undefined };
  if (!isSoftmax && typeof given !== 'function') return { ...readLoss(reader), ...known };
  const stray = ['quantile', 'huberThreshold'].find((name) => reader.has(name));
  if (stray !== undefined) {
    throw makeError('wrong_type', where, {
      parameter: stray,
      constraint: 'is no option of this {loss}',
    });
  }
  return {
    ...readRule(reader),
    ...known,
    ...(isSoftmax
      ? { loss: 'softmax' as const, numClasses: reader.count('numClasses') }
      : { loss: 'function' as const, batchLoss: given as BatchLoss }),
    quantile: 0.5,
    huberThreshold: 1,
  };
}
