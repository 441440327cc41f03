// SPDX-License-Identifier: Apache-2.0

// dp-ftrl bounds: proved and published bounds on the least error of prefix sums.

import { DEFAULT_FAILURE, DEFAULT_MECHANISM } from '../../shared/defaults.js';
import type { BoundsOptions, DpFtrl, PublishedBound, PublishedStatement } from '../../types/all.js';
import type { RegretBounds, RegretTerms } from '../../types/all.js';
import { roundedUp } from '../../shared/number.js';
import { paragraph, table, type TableColumn } from '../output/table.js';
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
import { readChosen } from '../options/strategy.js';

export const command: Command = {
  summary: 'bounds on the error, proved and published',
  usage: '--steps N',
  about:
    'Bounds on the errors of factorizations of the prefix sums over N steps, at noise multiplier 1 ' +
    'and clip norm 1, each user once: the best certified lower bounds for every factorization, ' +
    'upper bounds for the square root, and those printed by Henzinger, Upadhyay and Upadhyay, ' +
    'Almost Tight Error Bounds on Differentially Private Continual Counting (SODA 2023), with ' +
    'whether they hold at this horizon.',
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
    ...under('Regret', {
      dimension: {
        value: 'D',
        number: COUNT,
        meaning:
          'with --epsilon and --delta: also the average regret of a learner of D weights, at most',
      },
      strategy: {
        value: 'M',
        values: (catalogue) => catalogue.map(({ name }) => name),
        file: 'read',
        meaning:
          `with --dimension: the mechanism of its noise (default ${DEFAULT_MECHANISM}), by name, ` +
          'or a file as in dp-ftrl error: saved, or your own C',
      },
      beta: {
        value: 'B',
        number: PROBABILITY,
        meaning: `with --dimension: probability of more regret (default ${DEFAULT_FAILURE})`,
      },
    }),
    ...jsonOption(
      'numSteps, max, mean, schatten, squareRoot {max, mean, squaredColumnNorm, ' +
        'meanSquaredError}, tree {meanSquaredError, overSquareRoot, limit}, published {max, mean, ' +
        'lower}, each with value, holds, holdsFrom and checkedTo, and everyMechanism [{bound, ' +
        'source, range}]; with --epsilon or --rho, without --delta, also ' +
        'mechanisms {unbiased {max, mean}, every (mechanism, biased or not; at the worst stream), ' +
        'blockLength}; with --epsilon also addedNoise {max, mean, variance (of one number)}: noise ' +
        'that does not depend on the stream; with --epochs also epochs {lower, upper, ' +
        'minDimension: of records}; with --dimension also regret {strategy, dimension, lambda, ' +
        'failureProbability, expected, highProbability, byMaxError, hazan}',
    ),
  },
  essentials: ['steps', 'epsilon', 'delta', 'rho', 'epochs', 'json'],
  examples: [
    'dp-ftrl bounds --steps 1024',
    'dp-ftrl bounds --steps 256 --epochs 4',
    'dp-ftrl bounds --steps 1024 --rho 0.1',
    'dp-ftrl bounds --steps 1024 --epsilon 1 --delta 1e-6',
    'dp-ftrl bounds --steps 1024 --epsilon 1 --delta 1e-6 --dimension 4',
    'dp-ftrl bounds --steps 1000000000 --json',
  ],
  run,
};

/**
 * Describes a bound: its value, the horizons at which it holds, and whether it holds at `numSteps`.
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

/** Published bounds on every mechanism that are stated without constants and so give no number. */
function statementsText(statements: readonly PublishedStatement[]): string {
  const heading =
    'Published for every (epsilon, delta)-DP mechanism, with constant factors that are not known ' +
    'here, and not proved here:';
  const lines = statements.map(({ bound, source, range }) =>
    paragraph(`at least ${bound} (${source}, for ${range})`, '  '),
  );
  return `\n${paragraph(heading)}${lines.join('')}`;
}

interface Regret extends RegretBounds {
  strategy: string;
  dimension: number;
  failureProbability: number;
}

/** Bounds on the regret of a learner, if --dimension asks for them. */
async function regretOf(
  dp: DpFtrl,
  args: Args,
  { steps, epsilon, delta }: BoundsOptions,
): Promise<Regret | undefined> {
  const dimension = args.number('dimension');
  if (dimension === undefined) {
    for (const name of ['strategy', 'beta'] as const) {
      if (args.has(name)) required('dimension', dimension, name);
    }
    return undefined;
  }
  const target = {
    epsilon: required('epsilon', epsilon, 'dimension'),
    delta: required('delta', delta, 'dimension'),
  };
  const { strategy, name } = await readChosen(args, dp.strategies);
  const failureProbability = args.number('beta') ?? DEFAULT_FAILURE;
  const certificate = dp.certificate({ steps, ...target, strategy });
  const bounds = dp.study.regretBounds(certificate, { dimension, failureProbability });
  return { strategy: name, dimension, failureProbability, ...bounds };
}

function regretText(regret: Regret | undefined): string {
  if (!regret) return '';
  const { strategy, dimension, failureProbability, expected, highProbability, byMaxError } = regret;
  const shown = (terms: RegretTerms | null | undefined) => String(roundedUp(terms!.total, 5));
  const columns: TableColumn[] = [
    { header: '', align: 'left' },
    { header: 'expected', align: 'right' },
    { header: `with probability ${1 - failureProbability}`, align: 'right' },
  ];
  const rows = [
    ['from the root mean squared error', shown(expected), shown(highProbability)],
    ['from the largest error', shown(byMaxError?.expected), shown(byMaxError?.highProbability)],
  ];
  const heading = `Average regret of ${counted(dimension, 'weight')} with noise of ${strategy}, at most (no gradient clipped, comparators of norm 1):`;
  return `\n${paragraph(heading)}${table(columns, rows)}`;
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
  const { max, mean, schatten, squareRoot, tree, published, mechanisms, addedNoise } = found;
  const over = `root mean squared error over ${counted(epochs ?? 1, 'epoch')}`;
  const facts = {
    numSteps,
    'largest error of any factorization, at least': max,
    'root mean squared error of any factorization, at least': mean,
    'mean squared error of any factorization, at least': mean ** 2,
    'both errors, at least (Schatten norm)': schatten,
    'largest error of the square root, at most': squareRoot.max,
    'root mean squared error of the square root, at most': squareRoot.mean,
    'squared column norm of the square root': squareRoot.squaredColumnNorm,
    'published for this norm, at most': spoken(published.max, numSteps),
    'mean squared error of the square root': squareRoot.meanSquaredError,
    'published for its root, at most': spoken(published.mean, numSteps),
    'published for the root of any factorization, at least': spoken(published.lower, numSteps),
    'mean squared error of the binary tree': tree.meanSquaredError,
    'divided by that of the square root': `${tree.overSquareRoot.toPrecision(4)} (grows to ${tree.limit.toPrecision(4)} with the steps)`,
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
  const regret = await regretOf(dp, args, { steps: numSteps, ...privacy });
  const text = args.has('json')
    ? report({ ...found, ...(regret && { regret }) }, true, {})
    : report(facts, false, { ...titles, numSteps: 'steps' }) +
      statementsText(published.everyMechanism) +
      regretText(regret);
  await new StandardOutput().write(text);
}
