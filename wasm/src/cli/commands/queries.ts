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
import { required, type Args, type Known } from '../options/args.js';
import { NOT_PRIVATE, say, SEEDED, warnNotPrivate } from '../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, writeWhole } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { warnWeak } from '../output/weak.js';
import { roundedUp } from '../../shared/number.js';
import { Budget, BUDGET_OPTIONS } from '../state/budget.js';
import { answersOf, asJson, asRows } from './queries/answers.js';
import { readWorkload, type Workload } from './queries/asked.js';

export const options: Known = {
  workload: 'value',
  ...HISTOGRAM_OPTIONS,
  epsilon: 'value',
  delta: 'value',
  measure: 'value',
  objective: 'value',
  ...BUDGET_OPTIONS,
  consistent: 'flag',
  integer: 'flag',
  fractions: 'flag',
  output: 'value',
  ...PLOT_OPTIONS,
  json: 'flag',
  quiet: 'flag',
  seed: 'value',
};

function readSettings(args: Args) {
  const needed = {
    workload: 'identity',
    column: 'NAME',
    domain: 'A,B,C',
    epsilon: '1',
    delta: '1e-6',
  };
  const domain = '--domain has the values that the column may have, known without the data';
  requireAll(args, needed, { domain });
  const epsilon = required('epsilon', args.epsilon('epsilon'));
  const deltas = 'a number from 0 to below 1';
  const delta = required(
    'delta',
    args.number('delta', deltas, (value) => value >= 0 && value < 1),
  );
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

export async function run(args: Args): Promise<void> {
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
