// SPDX-License-Identifier: Apache-2.0

// dp-ftrl queries: answers many counting queries on a CSV file at once.

import { existsSync } from 'node:fs';
import { load } from '../../index.js';
import { MEASUREMENTS, OBJECTIVES } from '../../shared/defaults.js';
import type { DpFtrl, LinearQueries, QueryAnswers } from '../../types/all.js';
import { answersFigure } from '../charts/answers.js';
import { PLOT_OPTIONS, PlotFile } from '../charts/file.js';
import { Misuse } from '../base/failure.js';
import { inputFormat, outputFormat } from '../input/format.js';
import { cellsOfDomains, HISTOGRAM_OPTIONS, readDomains } from '../input/histogram.js';
import { readHistogram, readProtected } from '../input/histogram.js';
import { requireAll } from '../input/needed.js';
import { required, type Args } from '../options/args.js';
import { NOT_PRIVATE, say, SEEDED, warnNotPrivate } from '../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, writeWhole } from '../output/output.js';
import { warnWeak } from '../output/weak.js';
import { counted } from '../../shared/counted.js';
import { roundedUp } from '../../shared/number.js';
import { SharedBudget, BUDGET_OPTIONS } from '../state/budget.js';
import { answersOf, asJson, asRows } from './queries/answers.js';
import { readNumbers, shapeText } from '../input/workload.js';
import { readWorkload, sizeOf, type NamedWorkload } from './queries/asked.js';
import { chooseQueries, type ChosenQueries } from './queries/choice.js';
import { choiceText, shownOf } from './stream/choice.js';
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
        file: 'workload',
        values: MEASUREMENTS,
        meaning:
          'optimal (default), identity (the histogram), queries (each separately), or a CSV file ' +
          'of numbers without a header: one measurement per row, one number per value, as many ' +
          'rows as you like',
        brief: 'optimal (default), identity, queries, or a CSV file',
      },
      reconstruct: {
        value: 'R.csv',
        file: 'read',
        meaning:
          'with --measure FILE: how measurements are combined, one query per row, one number per ' +
          'measurement (default: with the least error)',
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
      'one object: private, protects, neighbours, epsilon, delta, choice (the noise and what the ' +
        'other would have), noise, mu, unitError, ' +
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
  const measured = args.text('measure') ?? MEASUREMENTS[0];
  const reconstructed = args.text('reconstruct');
  if (reconstructed !== undefined && isNamed(measured)) {
    throw new Misuse('--reconstruct needs --measure FILE: it combines those measurements');
  }
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
    measured,
    reconstructed,
    objective,
    consistent,
    integer,
    fractions,
    seed: args.seed(),
    budget: SharedBudget.read(args),
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

type QueriesSettings = ReturnType<typeof readSettings>;

function isNamed(measured: string): measured is (typeof MEASUREMENTS)[number] {
  return (MEASUREMENTS as readonly string[]).includes(measured);
}

/** Reads the measurements, by name or from files. */
async function readMeasurements(
  { measured, reconstructed, domains }: QueriesSettings,
  numQueries: number,
) {
  if (isNamed(measured)) return measured;
  if (/^[\w-]+$/.test(measured) && !existsSync(measured)) {
    const wanted = `one of ${MEASUREMENTS.join(', ')} or a CSV file`;
    throw new Misuse(`--measure must be ${wanted}, got ${JSON.stringify(measured)}`);
  }
  const measure = await readNumbers(measured, 'measure');
  const numValues = sizeOf(domains);
  if (measure[0]?.length !== numValues) {
    const shape = `${shapeText(measure)}, the domain has ${counted(numValues, 'value')}`;
    throw new Misuse(`--measure ${measured} has ${shape}`);
  }
  if (reconstructed === undefined) return { measure };
  const reconstruct = await readNumbers(reconstructed, 'reconstruct');
  if (reconstruct.length !== numQueries || reconstruct[0]!.length !== measure.length) {
    const wanted = `${counted(numQueries, 'row')}, one per query, and ${counted(measure.length, 'column')}`;
    const shape = `${shapeText(reconstruct)}; it must have ${wanted}, one per row of --measure`;
    throw new Misuse(`--reconstruct ${reconstructed} has ${shape}`);
  }
  return { measure, reconstruct };
}

/** Chooses the noise and the measurements for the queries. */
async function makeQueries(
  dp: DpFtrl,
  settings: QueriesSettings,
  { workload, numQueries }: NamedWorkload,
): Promise<ChosenQueries> {
  const { epsilon, delta, whom, objective, measured, quiet, budget } = settings;
  const { neighbours, people } = whom;
  const options = {
    ...{ workload, epsilon, delta, neighbours, objective },
    measurements: await readMeasurements(settings, numQueries),
    ...(people && { maxContributions: people.maxContributions }),
  };
  const name = `queries, ${measured}`;
  return chooseQueries(dp, options, { name, quiet, isGaussian: budget !== undefined });
}

async function pay(
  dp: DpFtrl,
  settings: QueriesSettings,
  { noise, mu }: LinearQueries,
): Promise<void> {
  const { epsilon, delta, whom, budget, asked, measured, domains } = settings;
  await budget?.spend(dp, {
    cost: noise === 'laplace' ? { epsilon, delta: 0 } : { mu },
    epsilon,
    delta,
    neighbours: whom.neighbours,
    unit: whom.unit,
    mechanism: `queries ${asked}, ${measured}`,
    numSteps: 1,
    columns: domains.map(({ column }) => column),
  });
}

/** The delta of the guarantee, which is 0 with Laplace noise. */
const deltaOf = ({ delta }: QueriesSettings, { noise }: LinearQueries): number =>
  noise === 'laplace' ? 0 : delta;

/** The guarantee of the answers, in one sentence. */
function claimOf(settings: QueriesSettings, { queries, choice }: ChosenQueries): string {
  const { seed, epsilon, whom } = settings;
  if (seed !== undefined) return NOT_PRIVATE;
  const least =
    queries.noise === 'gaussian'
      ? `error proved at most ${roundedUp(queries.ratio)} times the least of any factorization`
      : settings.measured === MEASUREMENTS[0]
        ? 'measurements are the best of several for Laplace noise, not proved to be the best of all'
        : `measurements are those of --measure ${settings.measured}`;
  const delta = deltaOf(settings, queries);
  const privacy =
    delta === 0
      ? `${epsilon}-differentially private (pure)`
      : `(${epsilon}, ${delta})-differentially private`;
  const how = choice ? `; ${choiceText(choice)}` : '';
  return `${privacy}: ${whom.text}; ${whom.neighbours} neighbours, ${least}${how}`;
}

function announce(settings: QueriesSettings, chosen: ChosenQueries, numRows: number): void {
  const { seed, quiet, json, epsilon, delta, isPublic } = settings;
  warnWeak('queries', { epsilon, delta }, isPublic ? { count: numRows, units: 'rows' } : undefined);
  warnNotPrivate('queries', { [SEEDED]: seed !== undefined });
  if (seed !== undefined || quiet || json) return;
  say('queries', claimOf(settings, chosen));
}

async function write(
  settings: QueriesSettings,
  chosen: ChosenQueries,
  { released, names, numRows }: { released: QueryAnswers; names: NamedWorkload; numRows: number },
): Promise<void> {
  const { whom, epsilon, fractions, output, plot, json, written } = settings;
  const { queries, choice } = chosen;
  const delta = deltaOf(settings, queries);
  const answers = answersOf(queries, released, { names, whole: fractions ? numRows : 1 });
  const about = { private: !released.insecure, protects: whom.unit, epsilon, delta };
  const shown = {
    ...about,
    ...(choice && { choice: shownOf(choice) }),
    ...(fractions && { fractionsOf: numRows }),
  };
  const text = json
    ? asJson(answers, queries, shown)
    : asRows(answers, { isFraction: fractions, format: written });
  const sink = output === undefined ? new StandardOutput() : await AtomicFile.create(output);
  await writeWhole(sink, text);
  const unit = fractions ? 'share of rows' : 'rows';
  await plot?.write(answersFigure(answers, unit), { claim: claimOf(settings, chosen) });
}

async function run(args: Args): Promise<void> {
  const settings = readSettings(args);
  const { domains, whom, consistent, integer, isPublic, seed } = settings;
  const names = await readWorkload(settings.asked, domains);
  await requireWritable(settings.output);
  await settings.plot?.check();
  const dp = await load();
  const chosen = await makeQueries(dp, settings, names);
  const { queries } = chosen;
  const cells = cellsOfDomains(domains, whom.missing);
  const histogram = await readHistogram(args, { command: 'queries', cells, ...settings, ...whom });
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
    announce(settings, chosen, numRows);
    await write(settings, chosen, { released, names, numRows });
  } catch (error) {
    settings.budget?.noteCharge(error);
    throw error;
  } finally {
    queries.dispose();
  }
}
