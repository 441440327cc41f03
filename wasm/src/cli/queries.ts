// SPDX-License-Identifier: Apache-2.0

// dp-ftrl queries: many counts of a CSV file at once.

import { load } from '../index.js';
import type { Queries, QueryAnswers, QueryWorkload } from '../types.js';
import { required, type Args, type Known } from './args.js';
import { Budget, BUDGET_OPTIONS } from './budget.js';
import { csvCell } from './csv.js';
import { Misuse } from './failure.js';
import { HISTOGRAM_OPTIONS, readDomains, readHistogram, readProtected } from './histogram.js';
import type { Domain, Histogrammed } from './histogram.js';
import { AtomicFile, StandardOutput } from './output.js';
import { readNumbers } from './workload.js';

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
  output: 'value',
  json: 'flag',
  quiet: 'flag',
  seed: 'value',
};

/** Of labels of the core, which count values, what they are called here. */
type Naming = (label: string) => string;

async function readWorkload(
  text: string,
  domains: readonly Domain[],
): Promise<{ workload: QueryWorkload; naming: Naming }> {
  const sizes = domains.map(({ labels }) => labels.length);
  const size = sizes.reduce((product, each) => product * each, 1);
  const named = /^(marginals|parities)=(\d{1,4})$/.exec(text);
  const order = Number(named?.[2]);
  if (named?.[1] === 'marginals') {
    const naming: Naming = (label) =>
      label.replace(/a(\d+)=(\d+)/g, (_, a: string, value: string) => {
        const { column, labels } = domains[Number(a)]!;
        return `${column}=${labels[Number(value)]}`;
      });
    return { workload: { marginals: sizes, order }, naming };
  }
  if (named) {
    const bits = Math.log2(size);
    if (!Number.isInteger(bits)) {
      throw new Misuse(`--workload parities needs a power of two of values, got ${size}`);
    }
    return { workload: { parities: bits, order }, naming: (label) => label };
  }
  if (text === 'ranges' || text === 'prefix' || text === 'identity') {
    const parts = sizes.map((each) => ({ [text]: each }) as unknown as QueryWorkload);
    const workload = parts.length === 1 ? parts[0]! : { product: parts };
    const naming: Naming = (label) => {
      const pieces = label.split(' x ');
      return domains
        .map(({ labels }, i) => pieces[i]!.replace(/\d+/g, (value) => labels[Number(value)]!))
        .join(' x ');
    };
    return { workload, naming };
  }
  if (text === '' || /^\w+=/.test(text)) {
    const wanted = 'ranges, prefix, identity, marginals=K, parities=K or a CSV file';
    throw new Misuse(`--workload must be ${wanted}, got ${JSON.stringify(text)}`);
  }
  const matrix = await readNumbers(text);
  const width = matrix[0]?.length ?? 0;
  if (width !== size) {
    throw new Misuse(`--workload ${text} has ${width} columns, the domain has ${size} values`);
  }
  return { workload: { matrix }, naming: (label) => `query ${label}` };
}

function asCsv(naming: Naming, queries: Queries, { answers }: QueryAnswers): string {
  const lines = Array.from(answers, (answer, i) => {
    const std = Number(queries.standardErrors[i]!.toPrecision(6));
    const shown = Number(answer.toFixed(6)) + 0;
    return `${csvCell(naming(queries.label(i)))},${shown},${std}\n`;
  });
  return `query,answer,std\n${lines.join('')}`;
}

function asJson(
  naming: Naming,
  queries: Queries,
  { answers, insecure }: QueryAnswers,
  privacy: { epsilon: number; delta: number },
  { unit }: Histogrammed,
): string {
  const { neighbours, noise, mu, unitError, lowerBound, ratio, numMeasurements } = queries;
  const squares = queries.standardErrors.reduce((sum, std) => sum + std * std, 0);
  const about = { neighbours, ...privacy, noise, mu, unitError, lowerBound, ratio };
  const all = Array.from(answers, (answer, i) => {
    return { query: naming(queries.label(i)), answer, std: queries.standardErrors[i]! };
  });
  const rmsError = Math.sqrt(squares / queries.numQueries);
  const result = {
    private: !insecure,
    protects: unit,
    ...about,
    numMeasurements,
    rmsError,
    answers: all,
  };
  return `${JSON.stringify(result)}\n`;
}

export async function run(args: Args): Promise<void> {
  const epsilon = required('epsilon', args.positive('epsilon'));
  const deltas = 'a number from 0 to below 1';
  const delta = required('delta', args.number('delta', deltas, (value) => value >= 0 && value < 1));
  const whom = readProtected(args);
  const { neighbours, people } = whom;
  const strategy = args.oneOf('measure', ['optimal', 'identity', 'queries'], 'optimal');
  const objective = args.oneOf('objective', ['mean', 'max'], 'mean');
  const consistent = args.has('consistent');
  if (args.has('integer') && !consistent) throw new Misuse('--integer needs --consistent');
  const seed = args.seed();
  const budget = Budget.read(args);
  const domains = readDomains(args);
  const { workload, naming } = await readWorkload(
    required('workload', args.text('workload')),
    domains,
  );
  const dp = await load();
  const queries = dp.queries({
    workload,
    epsilon,
    delta,
    neighbours,
    strategy,
    objective,
    ...(people && { maxContributions: people.maxContributions }),
  });
  const histogram = await readHistogram(args, domains, people);
  const isPublic = neighbours === 'replace-one';
  await budget?.spend(dp, {
    mu: queries.mu,
    epsilon,
    delta,
    neighbours,
    unit: whom.unit,
    mechanism: `queries ${args.text('workload')}, ${strategy}`,
    numSteps: 1,
    columns: domains.map(({ column }) => column),
  });
  const released = queries.release(histogram, {
    ...(consistent && { consistent, integer: args.has('integer') }),
    ...(consistent && isPublic && { total: histogram.reduce((sum, count) => sum + count, 0) }),
    ...(seed !== undefined && { insecureSeed: seed }),
  });
  const output = args.text('output');
  const sink = output === undefined ? new StandardOutput() : await AtomicFile.create(output);
  const say = (text: string) => process.stderr.write(`dp-ftrl queries: ${text}\n`);
  if (seed !== undefined) say('warning: --seed makes the noise known to anyone: NOT private');
  else if (!args.has('quiet') && !args.has('json')) {
    const ratio = Number(queries.ratio.toPrecision(6));
    const least =
      queries.noise === 'gaussian'
        ? `error at most ${ratio} times the least of any factorization, proved`
        : 'measured is the best of several for Laplace noise, not proved to be the best of all';
    const claim = `(${epsilon}, ${delta})-differentially private, ${neighbours} neighbours`;
    say(`${claim}: ${whom.text}; ${least}`);
  }
  try {
    await sink.write(
      args.has('json')
        ? asJson(naming, queries, released, { epsilon, delta }, whom)
        : asCsv(naming, queries, released),
    );
    await sink.commit();
  } catch (error) {
    await sink.abandon();
    throw error;
  } finally {
    queries.dispose();
  }
}
