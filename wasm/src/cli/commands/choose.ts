// SPDX-License-Identifier: Apache-2.0

// dp-ftrl choose: privately selects the most frequent value of columns, or a quantile of one.

import { load } from '../../index.js';
import { inputFormat, outputFormat } from '../input/format.js';
import type { Domain } from '../input/domain.js';
import { Misuse } from '../base/failure.js';
import {
  HISTOGRAM_OPTIONS,
  readDomains,
  readHistogram,
  readProtected,
} from '../input/histogram.js';
import { requireAll } from '../input/needed.js';
import type { Args } from '../options/args.js';
import { say, warnNotPrivate } from '../output/notices.js';
import { StandardOutput } from '../output/output.js';
import { RowText } from '../output/row-text.js';
import { warnWeak } from '../output/weak.js';
import { Budget, BUDGET_OPTIONS } from '../state/budget.js';
import { choiceCosts } from '../state/composition.js';
import { POSITIVE } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption, QUIET_OPTION, SEED_OPTION } from '../options/output.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS } from '../options/privacy.js';

export const command: Command = {
  summary: 'the most frequent value of a column, or a quantile',
  usage: '--winner|--quantile Q --columns NAME --domain D --epsilon E [FILE.csv]',
  about:
    'Counts how many rows of a CSV file (or standard input) have each value, and writes the column ' +
    'and one value: about the most frequent one, or one near a quantile of all rows. The choice is ' +
    'E-differentially private for one row or, with --user-column, for one person.',
  details: [
    'It is made by the exponential mechanism, whose running time depends on the counts: let ' +
      'nobody measure it.',
  ],
  options: {
    ...under('Choice', {
      winner: {
        meaning: 'the most frequent value; of several columns the most frequent combination',
      },
      quantile: {
        value: 'Q',
        meaning:
          'the value at this quantile of the rows, such as 1/2 or 0.5; of one column, whose ' +
          '--domain is sorted',
        brief: 'the value at this quantile of the rows, such as 1/2 or 0.5',
      },
    }),
    epsilon: { ...PRIVACY_OPTIONS.epsilon, number: POSITIVE },
    ...NEIGHBOURS_OPTION,
    neighbours: {
      ...NEIGHBOURS_OPTION.neighbours,
      meaning:
        'zero-out (default): one row more or less; or replace-one: one row with other values, and ' +
        'the number of rows is public. Not with --missing skip',
    },
    ...HISTOGRAM_OPTIONS,
    ...BUDGET_OPTIONS,
    budget: {
      ...BUDGET_OPTIONS.budget,
      meaning: `${BUDGET_OPTIONS.budget.meaning}. A choice is pure; in an account one of epsilon e costs mu = 2 Phi^-1(1 / (1 + exp(-e))) or rho = e^2 / 8`,
    },
    ...jsonOption('one object: private, protects, neighbours, epsilon, choice, values'),
    ...QUIET_OPTION,
    ...SEED_OPTION,
    seed: {
      ...SEED_OPTION.seed,
      meaning: 'fixed choice, for tests and demonstrations: NOT private',
    },
  },
  essentials: [
    ...['winner', 'quantile', 'epsilon', 'columns', 'domain', 'other', 'user-column'],
    ...['max-contributions', 'json'],
  ],
  examples: [
    'dp-ftrl choose --quantile 1/2 --columns minutes --domain 0:180 --epsilon 1 ' +
      'examples/gym_visits.csv',
    'dp-ftrl choose --winner --columns minutes --domain 0:180 --epsilon 2 --user-column member ' +
      '--max-contributions 12 --json examples/gym_visits.csv',
  ],
  run,
};

/** Reads a fraction from 0 to 1, written as 1/2 or 0.5. */
function readQuantile(text: string): readonly [number, number] {
  const fraction = /^(\d{1,6})\/(\d{1,6})$/.exec(text);
  const decimal = /^(0?|1)(?:\.(\d{1,5}))?$/.exec(text === '' ? '-' : text);
  const digits = decimal?.[2] ?? '';
  const [part, whole] = fraction
    ? [Number(fraction[1]), Number(fraction[2])]
    : [Number(`${decimal?.[1]}${digits}`), 10 ** digits.length];
  if (!(part <= whole && whole > 0)) {
    const wanted = 'a fraction from 0 to 1 such as 1/2 or 0.5';
    throw new Misuse(`--quantile must be ${wanted}, got ${JSON.stringify(text)}`);
  }
  return [part, whole];
}

/** The value of each column at an index of the histogram, where the last column varies fastest. */
function cellsAt(domains: readonly Domain[], place: number): string[] {
  let rest = place;
  const cells = [...domains].reverse().map(({ labels }) => {
    const cell = labels[rest % labels.length]!;
    rest = Math.floor(rest / labels.length);
    return cell;
  });
  return cells.reverse();
}

async function run(args: Args): Promise<void> {
  requireAll(args, { epsilon: '1', columns: 'NAME', domain: 'LOW:HIGH or A,B,C' });
  const epsilon = args.number('epsilon')!;
  const text = args.text('quantile');
  if (args.has('winner') === (text !== undefined)) {
    throw new Misuse('give one of --winner, for the most frequent value, and --quantile 1/2');
  }
  const whom = readProtected(args);
  const { neighbours, people } = whom;
  const seed = args.seed();
  const budget = Budget.read(args);
  const domains = readDomains(args);
  const format = inputFormat('choose', args);
  if (text !== undefined && (domains.length > 1 || args.has('other'))) {
    throw new Misuse('--quantile needs one of --columns, whose values are in order: no --other');
  }
  if (text !== undefined) domains[0]!.requireAscending();
  const quantile = text === undefined ? undefined : readQuantile(text);
  const dp = await load();
  const histogram = await readHistogram(args, { command: 'choose', ...whom, domains, format });
  const choice = text === undefined ? 'winner' : `quantile ${text}`;
  const given = {
    histogram,
    epsilon,
    neighbours,
    ...(people && { maxContributions: people.maxContributions }),
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  const columns = domains.map(({ column }) => column);
  const choose = (how: typeof given) => {
    return quantile === undefined
      ? dp.queries.winner(how)
      : dp.queries.quantile({ ...how, quantile });
  };
  // Settings that are refused are refused before they are charged: without data.
  if (budget) choose({ ...given, histogram: new Float64Array(histogram.length), insecureSeed: 0n });
  await budget?.spend(dp, {
    cost: choiceCosts(epsilon),
    epsilon,
    delta: 0,
    neighbours,
    unit: whom.unit,
    mechanism: choice,
    numSteps: 1,
    columns,
  });
  const cells = cellsAt(domains, choose(given));
  warnWeak('choose', { epsilon });
  warnNotPrivate('choose', { '--seed makes the choice known to anyone': seed !== undefined });
  if (seed === undefined && !args.has('quiet') && !args.has('json')) {
    say('choose', `${epsilon}-differentially private: ${whom.text}; ${neighbours} neighbours`);
  }
  const values = Object.fromEntries(columns.map((column, i) => [column, cells[i]!]));
  const about = { private: seed === undefined, protects: whom.unit, neighbours, epsilon, choice };
  const rows = new RowText(columns, outputFormat(args));
  const json = `${JSON.stringify({ ...about, values })}\n`;
  await new StandardOutput().write(args.has('json') ? json : rows.head() + rows.line(cells));
}
