// SPDX-License-Identifier: Apache-2.0

// Learning in coordinates in which the features are alike, which second moments tell that are
// released first: docs/math/learning.md, section 14.

import { outOfRange, type Reader } from '../../core/check.js';
import type { Instance } from '../../core/handle.js';
import { NEIGHBOURS } from '../../shared/defaults.js';
import type { Calibration, LearnedModel, Neighbours } from '../../types/all.js';
import { makePrefixSum } from '../sums/prefix-sum.js';
import { LEARN_OPTIONS, learnFrom, type Plan, type Table } from './learn.js';

/** Share of the squared mu that the second moments have. */
const SHARE = 0.1;
/** The rest is rounded: both together cost no more than the target. */
const HAIR = 0.999999999;
/** Factor on the clip norm, which is for features in [-1, 1]. */
const CLIP = 10 / 3;
const MAX_DIMENSION = 512;
/** Numbers of the records that are made at once. */
const PIECE = 2 ** 20;

/** Between seeds of learners and of moments. */
const FAR = 0x8000000000000000n;

/** Names the options of a table whose learner may be preconditioned. */
export const knownOptions = () => [...LEARN_OPTIONS, 'precondition'];

/** Converts between the accounts of one delta. */
export type Calibrate = (from: 'epsilon' | 'mu', value: number) => Calibration;

/** Splits the target into epsilons of the moments and of the learner, at the same delta. */
function split(calibrate: Calibrate, epsilon: number) {
  const mu = calibrate('epsilon', epsilon).mu!;
  const [forMoments, forLearner] = [SHARE, 1 - SHARE].map(
    (share) => calibrate('mu', Math.sqrt(share) * mu * HAIR).epsilon,
  );
  return { mu, forMoments: forMoments!, forLearner: forLearner! };
}

/**
 * Returns whether second moments come first where nobody says so: where their noise is small beside
 * what they are in the mean. Only public numbers matter.
 */
export function areMomentsClear(
  calibrate: Calibrate,
  { epsilon, neighbours, width, numRows }: {
    epsilon: number;
    neighbours: Neighbours;
    /** Features of a row, the intercept included. */
    width: number;
    numRows: number;
  },
): boolean {
  const { mu, forMoments, forLearner } = split(calibrate, epsilon);
  const isSplit = Math.min(forMoments, forLearner) > 0;
  const stddev = (neighbours === 'replace-one' ? 2 : 1) / (Math.sqrt(SHARE) * mu);
  const noise = (stddev * Math.SQRT2 * width ** 1.5) / numRows;
  return isSplit && width <= MAX_DIMENSION && noise <= 1;
}

/** Writes the products of the entries of a row, of length 1 at most, so that their norm is 1 at most. */
function writeProducts(row: Float64Array, out: Float64Array): void {
  const width = row.length;
  let next = 0;
  for (let i = 0; i < width; ++i) {
    out[next++] = row[i]! ** 2 / width;
    for (let j = i + 1; j < width; ++j) out[next++] = (Math.SQRT2 * row[i]! * row[j]!) / width;
  }
}

/** Returns the private sum of the products of all rows, and what it costs. */
function releaseMoments(
  instance: Instance,
  { rows, labels }: Table,
  options: { epsilon: number; delta: number; neighbours: unknown; insecureSeed: unknown },
) {
  const width = rows.length / labels.length;
  const dimension = (width * (width + 1)) / 2;
  const made = { mechanism: 'independent', numSteps: 1, clipNorm: 1, dimension, ...options };
  const sum = makePrefixSum(instance, made);
  try {
    const perPiece = Math.max(1, Math.floor(PIECE / dimension));
    for (let first = 0; first < labels.length; first += perPiece) {
      const numRows = Math.min(perPiece, labels.length - first);
      const records = new Float64Array(numRows * dimension);
      for (let i = 0; i < numRows; ++i) {
        const row = rows.subarray((first + i) * width, (first + i + 1) * width);
        writeProducts(row, records.subarray(i * dimension, (i + 1) * dimension));
      }
      sum.contribute(records);
    }
    return { products: sum.endSteps(1), stddev: sum.stddev(0), certificate: sum.certificate };
  } finally {
    sum.dispose();
  }
}

/** Returns the lower Cholesky factor, row after row; undefined where the matrix is not definite. */
function factorOf(matrix: Float64Array, width: number): Float64Array | undefined {
  const factor = new Float64Array(width * width);
  for (let i = 0; i < width; ++i) {
    for (let j = 0; j <= i; ++j) {
      let rest = matrix[i * width + j]!;
      for (let k = 0; k < j; ++k) rest -= factor[i * width + k]! * factor[j * width + k]!;
      if (i === j && !(rest > 0)) return undefined;
      factor[i * width + j] = i === j ? Math.sqrt(rest) : rest / factor[j * width + j]!;
    }
  }
  return factor;
}

/** Returns a factor of the mean of the products, raised by about its noise, more where it must be. */
function momentsFactor(
  { products, stddev }: { products: Float64Array; stddev: number },
  width: number,
  numRows: number,
): Float64Array {
  const mean = new Float64Array(width * width);
  let next = 0;
  for (let i = 0; i < width; ++i) {
    for (let j = i; j < width; ++j) {
      const entry = products[next++]! / numRows / (i === j ? 1 : Math.SQRT2);
      mean[i * width + j] = entry;
      mean[j * width + i] = entry;
    }
  }
  for (let raise = (stddev * Math.sqrt(2 * width)) / numRows; ; raise *= 2) {
    const raised = mean.map((entry, i) => (i % (width + 1) === 0 ? entry + raise : entry));
    const factor = factorOf(raised, width);
    if (factor) return factor;
  }
}

/** Overwrites each row x with y, L y = x / sqrt(width). */
function transform(rows: Float64Array, factor: Float64Array, width: number): void {
  const scale = Math.sqrt(width);
  for (let start = 0; start < rows.length; start += width) {
    for (let i = 0; i < width; ++i) {
      let rest = rows[start + i]! / scale;
      for (let j = 0; j < i; ++j) rest -= factor[i * width + j]! * rows[start + j]!;
      rows[start + i] = rest / factor[i * width + i]!;
    }
  }
}

/** Returns weights v of the rows as they were, v = w L^-1 / sqrt(width) for each score. */
function restored(weights: readonly number[], factor: Float64Array, width: number): number[] {
  const found = [...weights];
  for (let start = 0; start < found.length; start += width) {
    for (let i = width - 1; i >= 0; --i) {
      let rest = found[start + i]!;
      for (let j = i + 1; j < width; ++j) rest -= factor[j * width + i]! * found[start + j]!;
      found[start + i] = rest / factor[i * width + i]!;
    }
  }
  const scale = Math.sqrt(width);
  return found.map((weight) => weight / scale);
}

/** @throws where second moments are asked for that cannot come first. */
function requireSplit(
  { where }: Reader,
  { width, delta, epsilons }: { width: number; delta: number; epsilons: readonly number[] },
): void {
  if (width > MAX_DIMENSION) {
    const wanted = `at most ${MAX_DIMENSION} a row, the intercept included, with {precondition}`;
    throw outOfRange(where, 'features', wanted, width);
  }
  // Gaussian noise of that mu is private with an epsilon of 0, of which no learner is made.
  if (!epsilons.every((epsilon) => epsilon > 0)) {
    throw outOfRange(where, 'delta', 'smaller, with {precondition}', delta);
  }
}

/** Makes the model of a table, preconditioned if that is asked for, or nobody says so and it helps. */
export function learnWith(
  instance: Instance,
  reader: Reader,
  table: Table,
  plan: Plan,
): LearnedModel {
  const numRows = table.labels.length;
  const width = table.rows.length / numRows;
  const { epsilon = reader.number('epsilon'), clip = 1 } = plan;
  const delta = reader.number('delta');
  const calibrate: Calibrate = (from, value) => instance.core.call('calibrate', from, value, delta);
  const neighbours = reader.oneOfOr('neighbours', NEIGHBOURS);
  const facts = { epsilon, neighbours, width, numRows };
  const isWanted = reader.has('precondition')
    ? reader.flag('precondition')
    : areMomentsClear(calibrate, facts);
  if (!isWanted) return learnFrom(instance, reader, table, plan);
  const { forMoments, forLearner } = split(calibrate, epsilon);
  requireSplit(reader, { width, delta, epsilons: [forMoments, forLearner] });
  const isSeeded = reader.seedOr('insecureSeed', undefined) !== undefined;
  const moments = releaseMoments(instance, table, {
    epsilon: forMoments,
    delta,
    neighbours,
    insecureSeed: isSeeded ? BigInt.asUintN(64, BigInt(plan.seed as bigint) + FAR) : undefined,
  });
  const factor = momentsFactor(moments, width, numRows);
  const rows = table.rows.slice();
  transform(rows, factor, width);
  const parts = { ...plan, epsilon: forLearner, clip: CLIP * clip };
  const model = learnFrom(instance, reader, { ...table, rows }, parts);
  const costs = [moments.certificate, model.certificate];
  const total = (account: 'mu' | 'rho') =>
    instance.core.call('compose', account, Float64Array.from(costs, (it) => it[account]!), epsilon, delta);
  const { total: mu, fits } = total('mu');
  if (!fits) throw new Error('a preconditioned learner would cost more than its target');
  return {
    ...model,
    weights: restored(model.weights, factor, width),
    lastWeights: restored(model.lastWeights, factor, width),
    certificate: { ...model.certificate, epsilon, mu, rho: total('rho').total },
    preconditioning: { momentsEpsilon: forMoments, learnerEpsilon: forLearner },
  };
}
