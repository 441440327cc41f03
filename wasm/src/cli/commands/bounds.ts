// SPDX-License-Identifier: Apache-2.0

// dp-ftrl bounds: proved and published bounds on the least error of prefix sums.

import type { BoundsOptions, PublishedBound } from '../../types/all.js';
import { given } from '../../core/given.js';
import { load } from '../../index.js';
import { Misuse } from '../base/failure.js';
import { type Args, required, type Known } from '../options/args.js';
import { StandardOutput } from '../output/output.js';
import { report } from '../output/report.js';
import { counted } from '../../shared/counted.js';

export const options: Known = {
  steps: 'value',
  epsilon: 'value',
  delta: 'value',
  rho: 'value',
  epochs: 'value',
  gap: 'value',
  json: 'flag',
};

/**
 * Describes a bound: its value, the horizons for which it holds, and whether this is one of them.
 */
function spoken({ value, holds, holdsFrom, checkedTo }: PublishedBound, numSteps: number): string {
  if (holdsFrom === null)
    return `${value} (fails at every horizon from 1 to ${counted(checkedTo, 'step')})`;
  const elsewhere = numSteps > checkedTo ? 'was not checked' : 'fails';
  const range = `holds from ${holdsFrom} to ${counted(checkedTo, 'step')}`;
  return `${value} (${range}; ${holds ? 'so it does' : elsewhere} at this horizon)`;
}

/** A privacy guarantee in words. */
function named({ epsilon, delta, rho }: Omit<BoundsOptions, 'steps'>): string {
  if (rho !== undefined) return `rho ${rho}`;
  return delta === undefined ? `pure epsilon ${epsilon}` : `epsilon ${epsilon}, delta ${delta}`;
}

export async function run(args: Args): Promise<void> {
  args.requireNoFile('bounds');
  const numSteps = required('steps', args.count('steps'));
  const epsilon = args.epsilon('epsilon');
  const rho = args.positive('rho');
  if (epsilon !== undefined && rho !== undefined) {
    throw new Misuse('--epsilon must not be given with --rho');
  }
  const delta = args.probability('delta');
  if (delta !== undefined) required('epsilon', epsilon, 'delta');
  const epochs = args.count('epochs');
  const gap = args.positive('gap');
  if (gap !== undefined) required('epochs', epochs, 'gap');
  const privacy = given({ epsilon, delta, rho });
  const dp = await load();
  const found = dp.bounds({ steps: numSteps, ...given({ ...privacy, epochs, gap }) });
  const { max, mean, schatten, squareRoot, published, mechanisms, addedNoise } = found;
  const over = `root mean squared error over ${counted(epochs ?? 1, 'epoch')}`;
  const facts = {
    numSteps,
    'largest error of any factorization, at least': max,
    'root mean squared error of any factorization, at least': mean,
    'both, at least (Schatten norm)': schatten,
    'largest error of the square root, at most': squareRoot.max,
    'root mean squared error of the square root, at most': squareRoot.mean,
    'published for the largest error of the square root': spoken(published.max, numSteps),
    'published for its root mean squared error': spoken(published.mean, numSteps),
    'published lower bound': spoken(published.lower, numSteps),
    ...(found.epochs && {
      [`${over}, of any factorization, at least`]: found.epochs.lower,
      [`${over}, of the best one, at most`]: found.epochs.upper,
    }),
    ...(mechanisms && {
      [`largest error of any unbiased mechanism, ${named(privacy)}, at least`]:
        mechanisms.unbiased.max,
      [`its root mean squared error, ${named(privacy)}, at least`]: mechanisms.unbiased.mean,
      [`both, of any mechanism, ${named(privacy)}, at least`]: mechanisms.every,
    }),
    ...(addedNoise && {
      [`largest error of any added noise, ${named(privacy)}, at least`]: addedNoise.max,
      [`root mean squared error of it, ${named(privacy)}, at least`]: addedNoise.mean,
    }),
  };
  const titles = Object.fromEntries(Object.keys(facts).map((key) => [key, key]));
  const json = args.has('json');
  await new StandardOutput().write(
    json ? report({ ...found }, true, {}) : report(facts, false, { ...titles, numSteps: 'steps' }),
  );
}
