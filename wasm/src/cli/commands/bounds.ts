// SPDX-License-Identifier: Apache-2.0

// dp-ftrl bounds: proved and published bounds on the least error of prefix sums.

import type { BoundsOptions, PublishedBound } from '../../types/all.js';
import { given } from '../../core/given.js';
import { load } from '../../index.js';
import { Misuse } from '../base/failure.js';
import { type Args, required } from '../options/args.js';
import { StandardOutput } from '../output/output.js';
import { report } from '../output/report.js';
import { counted } from '../../shared/counted.js';
import { HORIZON_OPTION } from '../options/horizon.js';
import { COUNT, POSITIVE, PROBABILITY } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption } from '../options/output.js';
import { PRIVACY_OPTIONS } from '../options/privacy.js';

export const command: Command = {
  summary: 'bounds on the error, proved and published',
  usage: '--steps N',
  about:
    'Bounds on the errors of factorizations of the prefix sums over N steps, at noise multiplier 1 ' +
    'and clip norm 1, each user once: the best certified lower bounds for every factorization, ' +
    'upper bounds for the square root, and those printed by Henzinger, Upadhyay and Upadhyay ' +
    '(2023), with whether they hold at this horizon.',
  details: [
    'With --epsilon or --rho also lower bounds for mechanisms that need not be factorizations, in ' +
      'clip norms: records in [-1, 1], each user once, zero-out neighbours.',
  ],
  options: {
    ...HORIZON_OPTION,
    steps: { ...HORIZON_OPTION.steps, number: COUNT },
    ...under('Privacy', {
      epsilon: { ...PRIVACY_OPTIONS.epsilon, meaning: 'of pure differential privacy' },
      delta: {
        ...PRIVACY_OPTIONS.delta,
        number: PROBABILITY,
        meaning: 'with --epsilon: of (E, D), only for noise that does not depend on the stream',
      },
      rho: {
        value: 'R',
        number: POSITIVE,
        meaning: 'instead of --epsilon: of zero-concentrated differential privacy',
      },
    }),
    ...under('Epochs', {
      epochs: {
        value: 'K',
        number: COUNT,
        meaning:
          'also the least root mean squared error over K epochs, each user once an epoch: K ' +
          'divides N, N K^2 is at most 2^23; a few minutes at 16 epochs of 1000 steps',
      },
      gap: {
        value: 'G',
        number: POSITIVE,
        meaning: 'with --epochs: its bounds are this close, relative (default 1e-6)',
      },
    }),
    ...jsonOption(
      'numSteps, max, mean, schatten, squareRoot {max, mean}, published {max, mean, lower}, each ' +
        'with value, holds, holdsFrom and checkedTo; with --epsilon or --rho, without --delta, also ' +
        'mechanisms {unbiased {max, mean}, every (mechanism, biased or not; at the worst stream), ' +
        'blockLength}; with --epsilon also addedNoise {max, mean, variance (of one number)}: noise ' +
        'that does not depend on the stream; with --epochs also epochs {lower, upper, ' +
        'minDimension: of records}',
    ),
  },
  essentials: ['steps', 'epsilon', 'delta', 'rho', 'epochs', 'json'],
  examples: [
    'dp-ftrl bounds --steps 1024',
    'dp-ftrl bounds --steps 256 --epochs 4',
    'dp-ftrl bounds --steps 1024 --rho 0.1',
    'dp-ftrl bounds --steps 1024 --epsilon 1 --delta 1e-6',
    'dp-ftrl bounds --steps 1000000000 --json',
  ],
  run,
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

async function run(args: Args): Promise<void> {
  args.requireNoFile('bounds');
  const numSteps = required('steps', args.number('steps'));
  const epsilon = args.number('epsilon');
  const rho = args.number('rho');
  if (epsilon !== undefined && rho !== undefined) {
    throw new Misuse('--epsilon must not be given with --rho');
  }
  const delta = args.number('delta');
  if (delta !== undefined) required('epsilon', epsilon, 'delta');
  const epochs = args.number('epochs');
  const gap = args.number('gap');
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
