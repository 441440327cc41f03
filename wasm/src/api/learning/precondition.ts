// SPDX-License-Identifier: Apache-2.0

// Learns in coordinates with equal second moments; the moments are released first:
// docs/math/learning.md, section 13. The core computes the moments.

import { outOfRange, type Reader, readOptions } from '../../core/check.js';
import { asErrorsOf, type ErrorPlace } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import { MAX_MOMENTS_DIMENSION, NEIGHBOURS } from '../../shared/defaults.js';
import type { LearnedModel } from '../../types/all.js';
import { LEARN_OPTIONS, learnFrom, readTable } from './learn.js';

/** Distance between the seeds of learners and of moments. */
const FAR = 0x8000000000000000n;

/** @throws if second moments are requested but cannot be released first. */
function requireMoments(
  where: ErrorPlace,
  {
    dimension,
    momentsEpsilon,
    delta,
  }: { dimension: number; momentsEpsilon: number; delta: number },
): void {
  if (dimension > MAX_MOMENTS_DIMENSION) {
    const wanted = `at most ${MAX_MOMENTS_DIMENSION} per row, the intercept included, with {precondition}`;
    throw outOfRange(where, 'features', wanted, dimension);
  }
  if (momentsEpsilon === 0) throw outOfRange(where, 'delta', 'smaller, with {precondition}', delta);
}

/** Makes the model of a table, after its second moments if these are requested or the default. */
function learnTable(instance: Instance, reader: Reader): LearnedModel {
  const { core } = instance;
  const { where } = reader;
  const table = readTable(reader);
  const { dimension, numRows } = table;
  const [epsilon, delta] = [reader.number('epsilon'), reader.number('delta')];
  const neighbours = reader.oneOfOr('neighbours', NEIGHBOURS);
  const cost = core.call('momentsPlan', { epsilon, delta, neighbours, dimension, numRows });
  const { momentsEpsilon, learnerEpsilon, clip, mu, rho } = cost;
  const isWanted = reader.has('precondition') ? reader.flag('precondition') : cost.isDefault;
  if (!isWanted) return learnFrom(instance, reader, table, {});
  requireMoments(where, { dimension, momentsEpsilon, delta });
  const seed = reader.seedOr('insecureSeed', undefined);
  const insecureSeed = seed === undefined ? undefined : BigInt.asUintN(64, seed + FAR);
  const moments = withKey(where, { insecureSeed }, (draw) =>
    core.call(
      'momentsCreate',
      { ...draw, epsilon: momentsEpsilon, delta, neighbours, dimension },
      table.examples,
    ),
  );
  const restored = (weights: readonly number[]) => {
    const all = Float64Array.from(weights);
    core.call('momentsRestore', moments, all);
    return Array.from(all);
  };
  try {
    const parts = { epsilon: learnerEpsilon, clip };
    const model = learnFrom(instance, reader, table, parts);
    return {
      ...model,
      weights: restored(model.weights),
      lastWeights: restored(model.lastWeights),
      certificate: { ...model.certificate, epsilon, mu, rho },
      preconditioning: { momentsEpsilon, learnerEpsilon },
    };
  } finally {
    core.call('dispose', moments);
  }
}

export function learn(instance: Instance, options: unknown): LearnedModel {
  const where = 'learn';
  const reader = readOptions(where, options, LEARN_OPTIONS);
  return asErrorsOf(where, () => learnTable(instance, reader));
}
