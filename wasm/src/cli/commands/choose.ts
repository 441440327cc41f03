// SPDX-License-Identifier: Apache-2.0

// dp-ftrl choose: privately selects the most frequent values of columns, or a quantile of one.

import { load } from '../../index.js';
import type { DpFtrl } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { Bins, DEFAULT_BINS } from '../input/bins.js';
import { readColumns } from '../input/columns.js';
import type { Domain } from '../input/domain.js';
import { DECIMAL_OPTIONS, inputFormat, outputFormat } from '../input/format.js';
import {
  cellsOfBins,
  cellsOfDomains,
  HISTOGRAM_OPTIONS,
  readDomains,
  readHistogram,
  readProtected,
  type Cells,
} from '../input/histogram.js';
import type { Missing } from '../input/missing.js';
import { requireAll } from '../input/needed.js';
import type { Args } from '../options/args.js';
import type { Command } from '../options/command.js';
import { COUNT, POSITIVE } from '../options/numbers.js';
import { under } from '../options/option.js';
import { jsonOption, QUIET_OPTION, SEED_OPTION } from '../options/output.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS } from '../options/privacy.js';
import { say, warnNotPrivate } from '../output/notices.js';
import { StandardOutput } from '../output/output.js';
import { RowText } from '../output/row-text.js';
import { warnWeak } from '../output/weak.js';
import { SharedBudget, BUDGET_OPTIONS } from '../state/budget.js';
import { choiceCosts } from '../state/composition.js';
import { topOf, type TopOptions } from './choose/top.js';

export const command: Command = {
  summary: 'the most frequent values of a column, or a quantile',
  usage: '--winner|--top K|--median|--quantile Q --columns NAME --epsilon E [FILE.csv]',
  about:
    'Counts how many rows of a CSV file (or standard input) have each value, and writes the column ' +
    'and one value: about the most frequent one, or one near a quantile of all rows; with --top ' +
    'several values and their counts. All of it is E-differentially private for one row or, with ' +
    '--user-column, for one person.',
  details: [
    'One value is chosen by the exponential mechanism, whose running time depends on the counts: ' +
      'let nobody measure it.',
    '--top adds Laplace noise to the counts of all values once, and reads the largest off them, ' +
      'which costs nothing more and errs less than choosing one after the other. Counts of values ' +
      'that are chosen for being large are too large on average, by up to a few std where many ' +
      'are close.',
  ],
  options: {
    ...under('Choice', {
      winner: {
        meaning:
          'the most frequent value; of several columns the most frequent combination. A value with ' +
          'count u is drawn with odds exp(E u), with replace-one exp(E u / 2); with ' +
          '--max-contributions K, E / K in place of E',
        brief: 'the most frequent value',
      },
      top: {
        value: 'K',
        number: COUNT,
        meaning: 'the K most frequent values, each with its count and the std of its noise',
        brief: 'the K most frequent values, with their counts',
      },
      median: { meaning: '--quantile 1/2' },
      quantile: {
        value: 'Q',
        meaning:
          'the value at this quantile of the rows, such as 1/2 or 0.5; of one column, whose ' +
          '--domain is sorted, or of numbers with a range: --columns price=0:500',
        brief: 'the value at this quantile of the rows, such as 1/2 or 0.5',
      },
      bins: {
        value: 'N',
        number: COUNT,
        meaning:
          'number of bins of equal width in the range of a column of numbers (default ' +
          `${DEFAULT_BINS}). The answer is the middle of a bin, and resolution is its width; ` +
          'more bins cost little',
        brief: `bins in the range of a column of numbers (default ${DEFAULT_BINS})`,
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
    columns: {
      ...HISTOGRAM_OPTIONS.columns,
      meaning:
        `${HISTOGRAM_OPTIONS.columns.meaning}. NAME=LOW:HIGH, for a quantile, is a column of ` +
        'numbers, and their range, known without the data: those outside count as the nearest one ' +
        'inside. It needs no --domain',
      brief: 'columns to count, or NAME=LOW:HIGH for a quantile of numbers',
    },
    ...DECIMAL_OPTIONS,
    ...BUDGET_OPTIONS,
    budget: {
      ...BUDGET_OPTIONS.budget,
      meaning: `${BUDGET_OPTIONS.budget.meaning}. A choice is pure; in an account one of epsilon e costs mu = 2 Phi^-1(1 / (1 + exp(-e))) or rho = e^2 / 8 (--top e tanh(e / 2))`,
    },
    ...jsonOption(
      'one object: private, protects, neighbours, epsilon, choice, values; for numbers with a ' +
        'range also resolution; with --top std and, in place of values, top, a list of values and count',
    ),
    ...QUIET_OPTION,
    ...SEED_OPTION,
    seed: {
      ...SEED_OPTION.seed,
      meaning: 'fixed choice, for tests and demonstrations: NOT private',
    },
  },
  essentials: [
    ...['winner', 'top', 'median', 'quantile', 'epsilon', 'columns', 'bins', 'domain', 'other'],
    ...['user-column', 'max-contributions', 'json'],
  ],
  examples: [
    'dp-ftrl choose --median --columns minutes=0:180 --bins 360 --epsilon 1 ' +
      'examples/gym_visits.csv',
    'dp-ftrl choose --top 2 --columns section --domain docs,shop,blog --other --epsilon 1 ' +
      'examples/site_visits.csv',
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

/** The question that the options ask about the histogram. */
type ChoiceQuestion =
  | { kind: 'winner' }
  | { kind: 'top'; most: number }
  | { kind: 'quantile'; text: string; quantile: readonly [number, number] };

function choiceText(asked: ChoiceQuestion): string {
  if (asked.kind === 'winner') return 'winner';
  return asked.kind === 'top' ? `top ${asked.most}` : `quantile ${asked.text}`;
}

function readAsked(args: Args): ChoiceQuestion {
  const given = ['winner', 'top', 'median', 'quantile'].filter((name) => args.has(name));
  if (given.length !== 1) {
    const what = 'one of --winner or --top K, for the most frequent values, and --median or';
    throw new Misuse(`give ${what} --quantile Q`);
  }
  if (given[0] === 'winner') return { kind: 'winner' };
  if (given[0] === 'top') return { kind: 'top', most: args.number('top')! };
  const text = args.text('quantile') ?? '1/2';
  return { kind: 'quantile', text, quantile: readQuantile(text) };
}

/** Bins of the numeric column, if its range is given. */
function readBins(args: Args, { kind }: ChoiceQuestion): Bins | undefined {
  const { columns, ranges } = readColumns(args);
  const [range] = ranges;
  if (range === undefined) {
    if (!args.has('bins')) return undefined;
    throw new Misuse('--bins needs the range of its column: --columns NAME=LOW:HIGH');
  }
  if (kind !== 'quantile' || columns.length > 1) {
    const what = '--columns NAME=LOW:HIGH is for --median or --quantile of one column';
    throw new Misuse(`${what}: values of others are listed by --domain`);
  }
  const stray = ['domain', 'other'].find((name) => args.has(name));
  if (stray !== undefined) {
    throw new Misuse(`give a range in --columns or --${stray}, not both`);
  }
  return new Bins(range, args.number('bins') ?? DEFAULT_BINS);
}

/** The cells of the histogram, and the values that each cell stands for. */
interface Values {
  columns: readonly string[];
  cells: Cells;
  /** Width of a bin, for a numeric column. */
  resolution?: number;
  textsOf(place: number): (string | number)[];
}

function readValues(args: Args, asked: ChoiceQuestion, missing: Missing): Values {
  const bins = readBins(args, asked);
  if (bins) {
    return {
      columns: [bins.range.name],
      cells: cellsOfBins(bins),
      resolution: bins.width,
      textsOf: (place) => [bins.middleOf(place)],
    };
  }
  const domains = readDomains(args);
  if (asked.kind === 'quantile') {
    if (domains.length > 1 || args.has('other')) {
      throw new Misuse('--quantile needs one of --columns, whose values are in order: no --other');
    }
    domains[0]!.requireAscending();
  }
  return {
    columns: domains.map(({ column }) => column),
    cells: cellsOfDomains(domains, missing),
    textsOf: (place) => cellsAt(domains, place),
  };
}

/** The answer as rows, and as members of the JSON object. */
interface ChoiceAnswer {
  header: string[];
  rows: (string | number)[][];
  members: Record<string, unknown>;
}

/** Options shared by all questions. */
type ChoiceOptions = Omit<TopOptions, 'most'>;

/** Answers the question from the histogram. */
function answerOf(
  dp: DpFtrl,
  asked: ChoiceQuestion,
  values: Values,
  given: ChoiceOptions,
): ChoiceAnswer {
  const { columns, resolution, textsOf } = values;
  const named = (place: number) =>
    Object.fromEntries(textsOf(place).map((text, j) => [columns[j]!, text]));
  if (asked.kind === 'top') {
    const { places, counts, std: exact } = topOf(dp, { ...given, most: asked.most });
    const std = Number(exact.toPrecision(6));
    const shown = counts.map((count) => Number(count.toFixed(6)) + 0);
    return {
      header: [...columns, 'count', 'std'],
      rows: places.map((place, i) => [...textsOf(place), shown[i]!, std]),
      members: { std, top: places.map((place, i) => ({ values: named(place), count: shown[i] })) },
    };
  }
  const place =
    asked.kind === 'winner'
      ? dp.queries.winner(given)
      : dp.queries.quantile({ ...given, quantile: asked.quantile });
  const more = resolution === undefined ? {} : { resolution };
  return {
    header: [...columns, ...Object.keys(more)],
    rows: [[...textsOf(place), ...Object.values(more)]],
    members: { values: named(place), ...more },
  };
}

async function run(args: Args): Promise<void> {
  const hasRange = readColumns(args).ranges.length > 0;
  const isQuantile = args.has('median') || args.has('quantile');
  const domain = 'of decimal numbers give the range instead, --columns NAME=LOW:HIGH';
  requireAll(
    args,
    { epsilon: '1', columns: 'NAME', ...(!hasRange && { domain: 'LOW:HIGH or A,B,C' }) },
    isQuantile ? { domain } : {},
  );
  const epsilon = args.number('epsilon')!;
  const asked = readAsked(args);
  const whom = readProtected(args);
  const { neighbours, people, missing } = whom;
  const seed = args.seed();
  const budget = SharedBudget.read(args);
  const values = readValues(args, asked, missing);
  const { columns, cells, resolution } = values;
  if (asked.kind === 'top' && asked.most > cells.size) {
    const what = `at most ${cells.size}, the number of values`;
    throw new Misuse(`--top must be ${what}, got ${asked.most}`);
  }
  const format = inputFormat('choose', args);
  const dp = await load();
  const histogram = await readHistogram(args, { command: 'choose', ...whom, cells, format });
  const choice = choiceText(asked);
  const given = {
    histogram,
    epsilon,
    neighbours,
    ...(people && { maxContributions: people.maxContributions }),
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  // Answers on empty data first, so that bad settings are refused before the budget is charged.
  const nothing = new Float64Array(histogram.length);
  if (budget) answerOf(dp, asked, values, { ...given, histogram: nothing, insecureSeed: 0n });
  await budget?.spend(dp, {
    cost: asked.kind === 'top' ? { epsilon, delta: 0 } : choiceCosts(epsilon),
    epsilon,
    delta: 0,
    neighbours,
    unit: whom.unit,
    mechanism: choice,
    numSteps: 1,
    columns: [...columns],
  });
  const { header, rows, members } = answerOf(dp, asked, values, given);
  warnWeak('choose', { epsilon });
  warnNotPrivate('choose', { '--seed makes the choice known to anyone': seed !== undefined });
  if (seed === undefined && !args.has('quiet') && !args.has('json')) {
    const where =
      resolution === undefined
        ? ''
        : `; the answer is the middle of one of ${cells.size} bins of width ${resolution}`;
    say(
      'choose',
      `${epsilon}-differentially private: ${whom.text}; ${neighbours} neighbours${where}`,
    );
  }
  const about = { private: seed === undefined, protects: whom.unit, neighbours, epsilon, choice };
  const text = new RowText(header, outputFormat(args));
  const json = `${JSON.stringify({ ...about, ...members })}\n`;
  const csv = text.head() + rows.map((row) => text.line(row)).join('');
  await new StandardOutput().write(args.has('json') ? json : csv);
}
