// SPDX-License-Identifier: Apache-2.0

// Chooses settings of a learner privately from the data: docs/math/learning.md, section 12.

import { optionsObject, outOfRange, Reader, wrongType } from '../../core/check.js';
import type { Core } from '../../core/core.js';
import { asErrorsOf, within, type Where } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import { NEIGHBOURS } from '../../shared/defaults.js';
import type { Candidate, LearnedModel, TuningCost } from '../../types/all.js';
import { readOptions } from '../options.js';
import { LEARN_OPTIONS, readTable, type Table } from './learn.js';
import { isRight } from './model.js';
import { learnWith } from './precondition.js';

const WHERE = 'learnTuned';
/** Factors on the rate if no candidates are given. */
const RATES: readonly number[] = [0.25, 1, 4];

function readFactor(reader: Reader, name: 'rate' | 'clip'): number {
  const factor = reader.numberOr(name, 1);
  if (!(factor > 0 && factor < Infinity)) {
    throw outOfRange(reader.where, name, 'positive and finite', factor);
  }
  return factor;
}

function readCandidate(where: Where, value: unknown): Required<Candidate> {
  const reader = new Reader(where, optionsObject(where, value, ['rate', 'clip']));
  return { rate: readFactor(reader, 'rate'), clip: readFactor(reader, 'clip') };
}

function readCandidates(reader: Reader): Required<Candidate>[] {
  const given = reader.raw('candidates') ?? RATES.map((rate) => ({ rate }));
  if (!Array.isArray(given)) throw wrongType(WHERE, 'candidates', 'an array', given);
  return given.map((each, i) => readCandidate(within(WHERE, `candidates[${i}]`), each));
}

/**
 * @throws for labels that are not classes: held-out rows meet no learner that would refuse theirs.
 */
function requireClasses(labels: Float64Array, numClasses: number | undefined): void {
  const isClass = (label: number) =>
    numClasses === undefined
      ? [-1, 0, 1].includes(label)
      : Number.isInteger(label) && label >= 0 && label < numClasses;
  const bad = labels.findIndex((label) => !isClass(label));
  if (bad < 0) return;
  const classes = numClasses === undefined ? '0 or 1, or -1 and 1' : `0 to ${numClasses - 1}`;
  throw outOfRange(WHERE, `labels[${bad}]`, classes, labels[bad]);
}

/** Returns these rows of a table. */
function rowsOf({ rows, labels, ...same }: Table, numbers: readonly number[]): Table {
  const width = rows.length / labels.length;
  const part = new Float64Array(numbers.length * width);
  numbers.forEach((row, i) => part.set(rows.subarray(row * width, (row + 1) * width), i * width));
  return { ...same, rows: part, labels: Float64Array.from(numbers, (row) => labels[row]!) };
}

/** Returns how many rows of a table the weights classify correctly. */
function numRightOf(weights: readonly number[], { rows, labels }: Table): number {
  const width = rows.length / labels.length;
  const scores = new Float64Array(weights.length / width);
  return labels.reduce((sum, label, row) => {
    scores.forEach((_, k) => {
      let score = 0;
      for (let j = 0; j < width; ++j) score += weights[k * width + j]! * rows[row * width + j]!;
      scores[k] = score;
    });
    return sum + Number(isRight(scores, label));
  }, 0);
}

export function tuningCost(core: Core, options: unknown): TuningCost {
  const where = 'tuningCost';
  const known = ['epsilon', 'delta', 'numCandidates', 'composes'];
  const reader = readOptions(where, options, known);
  const [epsilon, delta] = [reader.number('epsilon'), reader.number('delta')];
  const numCandidates = reader.count('numCandidates');
  const composes = reader.flagOr('composes', false);
  return core.call('tuningPlan', { epsilon, delta, numCandidates, composes });
}

export function learnTuned(instance: Instance, options: unknown): LearnedModel {
  const { core } = instance;
  const reader = readOptions(WHERE, options, [...LEARN_OPTIONS, 'candidates', 'composes']);
  const candidates = readCandidates(reader);
  const table = readTable(reader);
  const numClasses = reader.raw('loss') === 'softmax' ? reader.count('numClasses') : undefined;
  requireClasses(table.labels, numClasses);
  const numRows = table.labels.length;
  if (numRows < 2) throw outOfRange(WHERE, 'labels', 'at least two', 'one');
  const [epsilon, delta] = [reader.number('epsilon'), reader.number('delta')];
  const composes = reader.flagOr('composes', false);
  const insecureSeed = reader.seedOr('insecureSeed', undefined);
  const neighbours = reader.oneOfOr('neighbours', NEIGHBOURS);
  return asErrorsOf(WHERE, () => {
    const target = { epsilon, delta, numCandidates: candidates.length, composes };
    const { mu, rho, learnerEpsilon, selectionEpsilon } = core.call('tuningPlan', target);
    return withKey(WHERE, { insecureSeed }, (draw) => {
      const drawn = Array.from(core.call('tuningHeldOut', { ...draw, numRows }));
      const isHeldOut = new Set(drawn);
      const others = Array.from(table.labels.keys()).filter((row) => !isHeldOut.has(row));
      const [training, heldOut] = [rowsOf(table, others), rowsOf(table, drawn)];
      // Trains all candidates, even those that take no part in the choice, so that the run time
      // reveals nothing.
      const models = candidates.map((candidate, i) => {
        const seed =
          insecureSeed === undefined ? undefined : BigInt.asUintN(64, insecureSeed + BigInt(i + 1));
        return learnWith(instance, reader, training, { ...candidate, epsilon: learnerEpsilon, seed });
      });
      const numRight = Float64Array.from(models, ({ weights }) => numRightOf(weights, heldOut));
      const chosen = core.call('tuningChoose', { ...draw, numRight, selectionEpsilon, neighbours });
      const model = models[chosen]!;
      const numHeldOut = drawn.length;
      return {
        ...model,
        certificate: { ...model.certificate, epsilon, mu, rho },
        tuning: { candidates, chosen, learnerEpsilon, selectionEpsilon, numHeldOut },
      };
    });
  });
}
