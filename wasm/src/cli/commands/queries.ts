// SPDX-License-Identifier: Apache-2.0

// dp-ftrl queries: many counts of a CSV file at once.

import { existsSync } from 'node:fs';
import { load } from '../../index.js';
import { queriesInPieces } from '../../api/searches.js';
import type { Queries, QueriesOptions, QueryAnswers, QueryWorkload } from '../../types/all.js';
import { required, type Args, type Known } from '../options/args.js';
import { Budget, BUDGET_OPTIONS } from '../state/budget.js';
import { gaussianCosts, pureCosts } from '../state/composition.js';
import { csvCell } from '../input/csv.js';
import { Misuse } from '../failure.js';
import {
  HISTOGRAM_OPTIONS,
  readDomains,
  readHistogram,
  readProtected,
} from '../input/histogram.js';
import type { Domain } from '../input/histogram.js';
import { AtomicFile, requireWritable, StandardOutput } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { roundedUp } from '../output/report.js';
import { readNumbers } from '../options/workload.js';

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
  json: 'flag',
  quiet: 'flag',
  seed: 'value',
};

/** Turns labels of the core, which count values, into the names used here. */
type Naming = (label: string) => string;

/** A workload, or one of several that are asked together. */
interface Asked {
  workload: QueryWorkload;
  numQueries: number;
  naming: Naming;
}

const WANTED = 'ranges, prefix, identity, marginals=K, parities=K or a CSV file, joined by +';

/** Asks for all tables of `order` of the columns. */
function askMarginals(domains: readonly Domain[], order: number): Asked {
  const sizes = domains.map(({ labels }) => labels.length);
  // Number of queries over the first columns: those of the tables of 0, 1, ... of them.
  let counts = [1];
  for (const size of sizes) {
    counts = [...counts, 0].map((count, k) => count + size * (counts[k - 1] ?? 0));
  }
  const naming: Naming = (label) =>
    label.replace(/a(\d+)=(\d+)/g, (_, a: string, value: string) => {
      const { column, labels } = domains[Number(a)]!;
      return `${column}=${labels[Number(value)]}`;
    });
  return { workload: { marginals: sizes, order }, numQueries: counts[order]!, naming };
}

/** Asks for all parities of `order` of the bits. */
function askParities(bits: number, order: number): Asked {
  let numQueries = 1;
  for (let k = 0; k < order; ++k) numQueries = (numQueries * (bits - k)) / (k + 1);
  return { workload: { parities: bits, order }, numQueries, naming: (label) => label };
}

function askNamed(
  kind: 'ranges' | 'prefix' | 'identity',
  domains: readonly Domain[],
): Asked {
  const sizes = domains.map(({ labels }) => labels.length);
  const parts = sizes.map((size) => ({ [kind]: size }) as unknown as QueryWorkload);
  const workload = parts.length === 1 ? parts[0]! : { product: parts };
  const each = sizes.map((size) => (kind === 'ranges' ? (size * (size + 1)) / 2 : size));
  const naming: Naming = (label) => {
    const pieces = label.split(' x ');
    return domains
      .map(({ labels }, i) => pieces[i]!.replace(/\d+/g, (value) => labels[Number(value)]!))
      .join(' x ');
  };
  return { workload, numQueries: each.reduce((product, count) => product * count, 1), naming };
}

async function readPart(text: string, domains: readonly Domain[]): Promise<Asked> {
  const size = domains.reduce((product, { labels }) => product * labels.length, 1);
  const named = /^(marginals|parities)=(\d{1,4})$/.exec(text);
  if (named) {
    const isTables = named[1] === 'marginals';
    const most = isTables ? domains.length : Math.log2(size);
    if (!Number.isInteger(most)) {
      throw new Misuse(`--workload parities needs a power of two of values, got ${size}`);
    }
    const [least, of] = isTables ? [1, 'columns'] : [0, 'bits'];
    const order = Number(named[2]);
    if (order < least || order > most) {
      throw new Misuse(`--workload ${named[1]} must be of ${least} to ${most} ${of}, got ${order}`);
    }
    return isTables ? askMarginals(domains, order) : askParities(most, order);
  }
  if (text === 'ranges' || text === 'prefix' || text === 'identity') {
    return askNamed(text, domains);
  }
  if (text === '' || /^\w+=/.test(text)) {
    throw new Misuse(`--workload must be ${WANTED}, got ${JSON.stringify(text)}`);
  }
  const matrix = await readNumbers(text);
  const width = matrix[0]?.length ?? 0;
  if (width !== size) {
    throw new Misuse(`--workload ${text} has ${width} columns, the domain has ${size} values`);
  }
  return { workload: { matrix }, numQueries: matrix.length, naming: (label) => `query ${label}` };
}

interface Workload {
  workload: QueryWorkload;
  nameOf(query: number, label: string): string;
}

/** One workload, or several joined by +. */
async function readWorkload(text: string, domains: readonly Domain[]): Promise<Workload> {
  const texts = existsSync(text) ? [text] : text.split('+');
  const parts = await Promise.all(texts.map((part) => readPart(part, domains)));
  const workloads = parts.map(({ workload }) => workload);
  return {
    workload: workloads.length === 1 ? workloads[0]! : { union: workloads },
    nameOf(query, label) {
      let first = 0;
      const part = parts.find(({ numQueries }) => query < (first += numQueries));
      return part!.naming(label);
    },
  };
}

/** Output for one query. */
interface Answer {
  query: string;
  answer: number;
  std: number;
}

/** Returns the answers in rows or, with `whole` the number of rows, in fractions of them. */
function answersOf(
  queries: Queries,
  { answers }: QueryAnswers,
  { names, whole }: { names: Workload; whole: number },
): Answer[] {
  return Array.from(answers, (answer, i) => ({
    query: names.nameOf(i, queries.label(i)),
    answer: answer / whole,
    std: queries.standardErrors[i]! / whole,
  }));
}

function asCsv(answers: readonly Answer[], isFraction: boolean): string {
  const lines = answers.map(({ query, answer, std }) => {
    const shown = Number(isFraction ? answer.toPrecision(9) : answer.toFixed(6)) + 0;
    return `${csvCell(query)},${shown},${Number(std.toPrecision(6))}\n`;
  });
  return `query,answer,std\n${lines.join('')}`;
}

function asJson(
  answers: readonly Answer[],
  queries: Queries,
  about: { private: boolean; protects: string } & Record<string, unknown>,
): string {
  const { neighbours, noise, mu, unitError, lowerBound, ratio, numMeasurements } = queries;
  const { private: isPrivate, protects, ...privacy } = about;
  const rmsError = Math.sqrt(answers.reduce((sum, { std }) => sum + std * std, 0) / answers.length);
  const facts = { neighbours, ...privacy, noise, mu, unitError, lowerBound, ratio };
  const result = { private: isPrivate, protects, ...facts, numMeasurements, rmsError, answers };
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
  const isPublic = neighbours === 'replace-one';
  const fractions = args.has('fractions');
  if (fractions && !isPublic) {
    throw new Misuse('--fractions needs --neighbours replace-one: it tells how many rows there are');
  }
  const seed = args.seed();
  const budget = Budget.read(args);
  const domains = readDomains(args);
  const names = await readWorkload(required('workload', args.text('workload')), domains);
  const output = args.text('output');
  await requireWritable(output);
  const dp = await load();
  const asked: QueriesOptions = {
    workload: names.workload,
    epsilon,
    delta,
    neighbours,
    strategy,
    objective,
    ...(people && { maxContributions: people.maxContributions }),
  };
  const isQuiet = args.has('quiet');
  const queries = isQuiet
    ? dp.queries(asked)
    : await watch(queriesInPieces(dp, asked), new ProgressLine('queries: measurements'));
  const histogram = await readHistogram(args, domains, people);
  const numRows = histogram.reduce((sum, count) => sum + count, 0);
  if (fractions && numRows === 0) throw new Misuse('--fractions needs a row');
  const { noise, mu } = queries;
  await budget?.spend(dp, {
    costs: noise === 'laplace' ? pureCosts(dp, epsilon) : gaussianCosts(dp, { mu, delta }),
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
    ...(consistent && isPublic && { total: numRows }),
    ...(seed !== undefined && { insecureSeed: seed }),
  });
  const sink = output === undefined ? new StandardOutput() : await AtomicFile.create(output);
  const say = (text: string) => process.stderr.write(`dp-ftrl queries: ${text}\n`);
  if (seed !== undefined) say('warning: --seed makes the noise known to anyone: NOT private');
  else if (!isQuiet && !args.has('json')) {
    const ratio = roundedUp(queries.ratio);
    const least =
      queries.noise === 'gaussian'
        ? `error at most ${ratio} times the least of any factorization, proved`
        : 'measured is the best of several for Laplace noise, not proved to be the best of all';
    const claim = `(${epsilon}, ${delta})-differentially private, ${neighbours} neighbours`;
    say(`${claim}: ${whom.text}; ${least}`);
  }
  try {
    const answers = answersOf(queries, released, { names, whole: fractions ? numRows : 1 });
    const about = { private: !released.insecure, protects: whom.unit, epsilon, delta };
    const shown = { ...about, ...(fractions && { fractionsOf: numRows }) };
    await sink.write(
      args.has('json') ? asJson(answers, queries, shown) : asCsv(answers, fractions),
    );
    await sink.commit();
  } catch (error) {
    await sink.abandon();
    throw error;
  } finally {
    queries.dispose();
  }
}
