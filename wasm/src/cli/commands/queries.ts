// SPDX-License-Identifier: Apache-2.0

// dp-ftrl queries: answers many counting queries on a CSV file at once.

import { inPieces } from '../../api/searches.js';
import { load } from '../../index.js';
import { MEASUREMENTS, OBJECTIVES } from '../../shared/defaults.js';
import type { DpFtrl, LinearQueries, QueryAnswers } from '../../types/all.js';
import { answersFigure } from '../charts/answers.js';
import { PLOT_OPTIONS, PlotFile } from '../charts/file.js';
import { Misuse } from '../base/failure.js';
import { inputFormat, outputFormat } from '../input/format.js';
import { HISTOGRAM_OPTIONS, readDomains } from '../input/histogram.js';
import { readHistogram, readProtected } from '../input/histogram.js';
import { requireAll } from '../input/needed.js';
import { required, type Args } from '../options/args.js';
import { NOT_PRIVATE, say, SEEDED, warnNotPrivate } from '../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, writeWhole } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { warnWeak } from '../output/weak.js';
import { roundedUp } from '../../shared/number.js';
import { Budget, BUDGET_OPTIONS } from '../state/budget.js';
import { answersOf, asJson, asRows } from './queries/answers.js';
import { readWorkload, type Workload } from './queries/asked.js';
import { FRACTION } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption, OUTPUT_OPTION, QUIET_OPTION, SEED_OPTION } from '../options/output.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS } from '../options/privacy.js';

export const command: Command = {
  summary: 'many private counts at once: ranges, tables and more',
  usage: '--workload W --columns NAME --domain D --epsilon E --delta D [FILE.csv]',
  about:
    'Private answers to many counting queries on a CSV file (or standard input). All answers ' +
    'together are (E, D)-differentially private for one row or, with --user-column, for one person.',
  details: [
    'Counts how many rows have each value, adds noise to the measurements that are best for these ' +
      'queries, and writes query,answer,std. With Gaussian noise, a proved bound on the ratio of ' +
      'their error to the least of any factorization is printed.',
  ],
  options: {
    ...PRIVACY_OPTIONS,
    delta: {
      ...PRIVACY_OPTIONS.delta,
      number: FRACTION,
      meaning:
        'how far that may fail, below 1: at most one over the number of rows; 1e-6 is common. 0: ' +
        'pure, by Laplace noise. Above 1e-3 there is a warning, and with replace-one above one ' +
        'over the number of rows',
      brief: `${PRIVACY_OPTIONS.delta.brief}. 0: pure, by Laplace noise`,
    },
    ...NEIGHBOURS_OPTION,
    neighbours: {
      ...NEIGHBOURS_OPTION.neighbours,
      meaning:
        'zero-out (default): one row more or less; or replace-one: one row with other values; the ' +
        'number of rows is then public: answers reveal it exactly, and all of them are better. ' +
        'Not with --missing skip',
    },
    ...under('Queries', {
      workload: {
        value: 'W',
        file: 'workload',
        meaning:
          'ranges: from every value to every later one; prefix: up to every value; identity: every ' +
          'value; marginals=K: tables of K columns; parities=K: of K bits, signs; or a CSV file of ' +
          'numbers without a header, one query per row. With several columns ranges, prefix and ' +
          'identity ask for all combinations (of three at most). Join several with +: ' +
          'ranges+marginals=1',
        brief: 'ranges, prefix, identity (each value), marginals=K, parities=K, or a CSV file',
      },
      measure: {
        value: 'M',
        values: MEASUREMENTS,
        meaning: 'optimal (default), identity (the histogram) or queries (each separately)',
      },
      objective: {
        value: 'max|mean',
        values: OBJECTIVES,
        meaning:
          'mean (default) or max: the error that the measurements minimise. max takes ranges of ' +
          'at most 361 values',
      },
      consistent: {
        meaning:
          'answers from one histogram without negative counts; with replace-one, of the true ' +
          'number of rows. std is that before',
        brief: 'answers without negative counts',
      },
      integer: { meaning: 'with --consistent: a histogram of whole numbers' },
      fractions: {
        meaning: 'with replace-one: answers and std divided by the number of rows',
      },
    }),
    ...HISTOGRAM_OPTIONS,
    ...BUDGET_OPTIONS,
    'budget-pure': {
      ...BUDGET_OPTIONS['budget-pure'],
      meaning: `${BUDGET_OPTIONS['budget-pure'].meaning}: one of epsilon e as mu = 2 Phi^-1(1 / (1 + exp(-e))), about 1.25 e, or rho = e tanh(e / 2)`,
    },
    ...OUTPUT_OPTION,
    ...PLOT_OPTIONS,
    ...jsonOption(
      'one object: private, protects, neighbours, epsilon, delta, noise, mu, unitError, ' +
        'lowerBound, ratio, bounds {addedNoise, unbiased, every} (on errors in counts of ' +
        'mechanisms that need not be factorizations: of noise that does not depend on the rows; ' +
        'without a delta also of any around the true answers, and of every mechanism), ' +
        'numMeasurements, rmsError, answers; with --fractions fractionsOf, the number of rows',
    ),
    ...QUIET_OPTION,
    ...SEED_OPTION,
  },
  essentials: [
    ...['epsilon', 'delta', 'workload', 'columns', 'domain', 'other', 'user-column'],
    ...['max-contributions', 'consistent', 'output', 'json', 'plot'],
  ],
  examples: [
    'dp-ftrl queries --workload identity+prefix --columns minutes --domain 0:180 --epsilon 1 ' +
      '--delta 1e-6 examples/gym_visits.csv',
    'dp-ftrl queries --workload ranges --columns minutes --domain 0:40 --other --epsilon 1 ' +
      '--delta 1e-6 --consistent examples/gym_visits.csv',
    'dp-ftrl queries --workload identity+prefix --columns minutes --domain 0:180 --epsilon 1 ' +
      '--delta 1e-6 --neighbours replace-one --fractions examples/gym_visits.csv',
    'dp-ftrl queries --workload prefix --columns minutes --domain 0:180 --epsilon 1 --delta 0 ' +
      '--json --user-column member --max-contributions 12 examples/gym_visits.csv',
  ],
  run,
};

function readSettings(args: Args) {
  const needed = {
    workload: 'identity',
    columns: 'NAME',
    domain: 'A,B,C',
    epsilon: '1',
    delta: '1e-6',
  };
  const domain = '--domain has the values that the column may have, known without the data';
  requireAll(args, needed, { domain });
  const epsilon = required('epsilon', args.number('epsilon'));
  const delta = required('delta', args.number('delta'));
  const whom = readProtected(args);
  const isPublic = whom.neighbours === 'replace-one';
  const strategy = args.oneOf('measure', MEASUREMENTS);
  const objective = args.oneOf('objective', OBJECTIVES, 'mean');
  const consistent = args.has('consistent');
  const integer = args.has('integer');
  const fractions = args.has('fractions');
  if (integer && !consistent) throw new Misuse('--integer needs --consistent');
  if (fractions && !isPublic) {
    throw new Misuse(
      '--fractions needs --neighbours replace-one: it tells how many rows there are',
    );
  }
  return {
    epsilon,
    delta,
    whom,
    isPublic,
    strategy,
    objective,
    consistent,
    integer,
    fractions,
    seed: args.seed(),
    budget: Budget.read(args),
    domains: readDomains(args),
    format: inputFormat('queries', args),
    written: outputFormat(args),
    asked: required('workload', args.text('workload')),
    output: args.text('output'),
    plot: PlotFile.read(args),
    json: args.has('json'),
    quiet: args.has('quiet'),
  };
}

type Settings = ReturnType<typeof readSettings>;

/** Chooses the measurements for the queries. */
async function makeQueries(
  dp: DpFtrl,
  { epsilon, delta, whom, strategy, objective, quiet }: Settings,
  { workload }: Workload,
): Promise<LinearQueries> {
  const { neighbours, people } = whom;
  const options = {
    workload,
    epsilon,
    delta,
    neighbours,
    measurements: strategy,
    objective,
    ...(people && { maxContributions: people.maxContributions }),
  };
  const search = dp.queries.linear(options);
  if (quiet) return search.result();
  return watch(inPieces(search), new ProgressLine('queries: measurements'));
}

async function pay(dp: DpFtrl, settings: Settings, { noise, mu }: LinearQueries): Promise<void> {
  const { epsilon, delta, whom, budget, asked, strategy, domains } = settings;
  await budget?.spend(dp, {
    cost: noise === 'laplace' ? { epsilon, delta: 0 } : { mu },
    epsilon,
    delta,
    neighbours: whom.neighbours,
    unit: whom.unit,
    mechanism: `queries ${asked}, ${strategy}`,
    numSteps: 1,
    columns: domains.map(({ column }) => column),
  });
}

/** The guarantee of the answers, in one sentence. */
function claimOf({ seed, epsilon, delta, whom }: Settings, queries: LinearQueries): string {
  if (seed !== undefined) return NOT_PRIVATE;
  const least =
    queries.noise === 'gaussian'
      ? `error proved at most ${roundedUp(queries.ratio)} times the least of any factorization`
      : 'measurements are the best of several for Laplace noise, not proved to be the best of all';
  const claim = `(${epsilon}, ${delta})-differentially private: ${whom.text}`;
  return `${claim}; ${whom.neighbours} neighbours, ${least}`;
}

function announce(settings: Settings, queries: LinearQueries, numRows: number): void {
  const { seed, quiet, json, epsilon, delta, isPublic } = settings;
  warnWeak('queries', { epsilon, delta }, isPublic ? { count: numRows, units: 'rows' } : undefined);
  warnNotPrivate('queries', { [SEEDED]: seed !== undefined });
  if (seed !== undefined || quiet || json) return;
  say('queries', claimOf(settings, queries));
}

async function write(
  settings: Settings,
  queries: LinearQueries,
  { released, names, numRows }: { released: QueryAnswers; names: Workload; numRows: number },
): Promise<void> {
  const { whom, epsilon, delta, fractions, output, plot, json, written } = settings;
  const answers = answersOf(queries, released, { names, whole: fractions ? numRows : 1 });
  const about = { private: !released.insecure, protects: whom.unit, epsilon, delta };
  const shown = { ...about, ...(fractions && { fractionsOf: numRows }) };
  const text = json
    ? asJson(answers, queries, shown)
    : asRows(answers, { isFraction: fractions, format: written });
  const sink = output === undefined ? new StandardOutput() : await AtomicFile.create(output);
  await writeWhole(sink, text);
  const unit = fractions ? 'share of rows' : 'rows';
  await plot?.write(answersFigure(answers, unit), { claim: claimOf(settings, queries) });
}

async function run(args: Args): Promise<void> {
  const settings = readSettings(args);
  const { domains, whom, consistent, integer, isPublic, seed } = settings;
  const names = await readWorkload(settings.asked, domains);
  await requireWritable(settings.output);
  await settings.plot?.check();
  const dp = await load();
  const queries = await makeQueries(dp, settings, names);
  const histogram = await readHistogram(args, { command: 'queries', ...settings, ...whom });
  const numRows = histogram.reduce((sum, count) => sum + count, 0);
  if (settings.fractions && numRows === 0) throw new Misuse('--fractions needs a row');
  const how = {
    ...(consistent && { consistent, integer }),
    ...(consistent && isPublic && { total: numRows }),
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  await pay(dp, settings, queries);
  try {
    const released = queries.release(histogram, how);
    announce(settings, queries, numRows);
    await write(settings, queries, { released, names, numRows });
  } catch (error) {
    settings.budget?.noteCharge(error);
    throw error;
  } finally {
    queries.dispose();
  }
}
