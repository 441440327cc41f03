// SPDX-License-Identifier: Apache-2.0

// dp-ftrl queries: many counts of a CSV file at once.

import { load } from '../index.js';
import type { Queries, QueryAnswers, QueryWorkload } from '../types.js';
import { required, type Args, type Known } from './args.js';
import { Budget, BUDGET_OPTIONS } from './budget.js';
import { csvCell } from './csv.js';
import { Misuse } from './failure.js';
import { openInput } from './input.js';
import { AtomicFile, StandardOutput } from './output.js';
import { readTable } from './rows.js';
import { readNumbers } from './workload.js';

export const options: Known = {
  workload: 'value',
  column: 'values',
  domain: 'values',
  other: 'flag',
  epsilon: 'value',
  delta: 'value',
  neighbours: 'value',
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

const MAX_VALUES = 2 ** 24;
const OTHER = 'other';

/** What a column may hold, in order. */
class Domain {
  private readonly indices: Map<string, number>;

  constructor(
    readonly column: string,
    readonly labels: readonly string[],
    private readonly hasOther: boolean,
  ) {
    this.indices = new Map(labels.map((label, i) => [label, i]));
    if (this.indices.size < labels.length) {
      throw new Misuse(`--domain of column ${JSON.stringify(column)} has a value twice`);
    }
  }

  static read(column: string, text: string, withOther: boolean): Domain {
    const range = /^(-?\d{1,15}):(-?\d{1,15})$/.exec(text);
    const labels = text.split(',').map((label) => label.trim());
    if (range) {
      const [low, high] = [Number(range[1]), Number(range[2])];
      if (high < low || high - low >= MAX_VALUES) {
        const wanted = 'LOW:HIGH with at most 2^24 values, the lower one first';
        throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
      }
      labels.splice(0, 1, ...Array.from({ length: high - low + 1 }, (_, i) => String(low + i)));
    } else if (labels.includes('')) {
      const wanted = 'LOW:HIGH or texts separated by commas';
      throw new Misuse(`--domain must be ${wanted}, got ${JSON.stringify(text)}`);
    }
    if (withOther) labels.push(OTHER);
    return new Domain(column, labels, withOther);
  }

  /** Undefined outside. */
  index(text: string): number | undefined {
    return this.indices.get(text.trim()) ?? (this.hasOther ? this.labels.length - 1 : undefined);
  }
}

function readDomains(args: Args): Domain[] {
  const columns = args.texts('column');
  const domains = args.texts('domain');
  if (columns.length === 0) throw new Misuse('--column is required');
  if (columns.length !== domains.length) {
    const got = `${columns.length} and ${domains.length}`;
    throw new Misuse(`give one --domain for each --column, got ${got}`);
  }
  const all = columns.map((column, i) => Domain.read(column, domains[i]!, args.has('other')));
  const size = all.reduce((product, { labels }) => product * labels.length, 1);
  if (size > MAX_VALUES) throw new Misuse(`the domains must have at most 2^24 values, got ${size}`);
  return all;
}

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

/** Every row is counted, or refused. */
async function readHistogram(args: Args, domains: readonly Domain[]): Promise<Float64Array> {
  const size = domains.reduce((product, { labels }) => product * labels.length, 1);
  const histogram = new Float64Array(size);
  const texts = domains.map(({ column }) => column);
  const table = await readTable(await openInput(args.files), {
    columns: [],
    texts,
    onlyTexts: true,
  });
  for await (const batch of table.batches) {
    for (let i = 0; i < batch.numRows; ++i) {
      let place = 0;
      domains.forEach((domain, j) => {
        const cell = batch.texts[j]![i]!;
        const index = domain.index(cell);
        if (index === undefined) {
          const row = batch.firstRow + i;
          const line = batch.lines[i]!;
          const where = `row ${row} (line ${line}), column ${JSON.stringify(domain.column)}`;
          throw new Misuse(`${where} is outside --domain: ${JSON.stringify(cell.slice(0, 40))}`, {
            code: 'outside_domain',
            row,
            line,
            column: domain.column,
          });
        }
        place = place * domain.labels.length + index;
      });
      ++histogram[place]!;
    }
    if (batch.fault) throw batch.fault;
  }
  return histogram;
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
): string {
  const { neighbours, noise, mu, unitError, lowerBound, ratio, numMeasurements } = queries;
  const squares = queries.standardErrors.reduce((sum, std) => sum + std * std, 0);
  const about = { neighbours, ...privacy, noise, mu, unitError, lowerBound, ratio };
  const all = Array.from(answers, (answer, i) => {
    return { query: naming(queries.label(i)), answer, std: queries.standardErrors[i]! };
  });
  const rmsError = Math.sqrt(squares / queries.numQueries);
  const result = { private: !insecure, ...about, numMeasurements, rmsError, answers: all };
  return `${JSON.stringify(result)}\n`;
}

export async function run(args: Args): Promise<void> {
  const epsilon = required('epsilon', args.positive('epsilon'));
  const deltas = 'a number from 0 to below 1';
  const delta = required('delta', args.number('delta', deltas, (value) => value >= 0 && value < 1));
  const neighbours = args.oneOf('neighbours', ['zero-out', 'replace-one'], 'zero-out');
  const strategy = args.oneOf('measure', ['optimal', 'identity', 'queries'], 'optimal');
  const objective = args.oneOf('objective', ['mean', 'max'], 'mean');
  const consistent = args.has('consistent');
  if (args.has('integer') && !consistent) throw new Misuse('--integer needs --consistent');
  const seed = args.seed();
  const budget = Budget.read(args);
  if (budget && delta === 0) {
    throw new Misuse('--budget adds up Gaussian noise: it needs a --delta above 0');
  }
  const domains = readDomains(args);
  const { workload, naming } = await readWorkload(
    required('workload', args.text('workload')),
    domains,
  );
  const dp = await load();
  const queries = dp.queries({ workload, epsilon, delta, neighbours, strategy, objective });
  const histogram = await readHistogram(args, domains);
  const isPublic = neighbours === 'replace-one';
  await budget?.spend(dp, {
    mu: queries.mu!,
    epsilon,
    delta,
    neighbours,
    unit: 'one row',
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
    const rows = isPublic ? 'the number of rows is public' : 'the number of rows is protected, too';
    const ratio = Number(queries.ratio.toPrecision(6));
    const least =
      queries.noise === 'gaussian'
        ? `error at most ${ratio} times the least of any factorization, proved`
        : 'measured is what is best for Gaussian noise';
    say(
      `(${epsilon}, ${delta})-differentially private, ${neighbours} neighbours: one row is ` +
        `protected, not a person with several (${rows}); ${least}`,
    );
  }
  try {
    await sink.write(
      args.has('json')
        ? asJson(naming, queries, released, { epsilon, delta })
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
