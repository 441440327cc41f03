// SPDX-License-Identifier: Apache-2.0

// Releases a statistic of a table step by step, beside its values without noise.

import type { Estimate, StrategyParameters } from 'dp-ftrl';
import type { Settings } from '../controls/settings.ts';
import { MAX_QUICK_DENSE_STEPS } from '../../../wasm/src/shared/defaults.ts';
import { nameOf } from '../controls/mechanisms.ts';
import { participationOf } from '../controls/participation.ts';
import { problemOf, settingsOfSum, weightsOf, wordsOf, workloadOf } from '../controls/workload.ts';
import { countedRows, readFor, type CountedRows, type Limit } from '../data/contributions.ts';
import { CategoryIndex } from '../../../wasm/src/shared/categories.ts';
import { CsvError, findColumn, textsOf } from '../data/csv.ts';
import {
  maxStatisticSteps,
  otherCategory,
  readDomain,
  readRange,
  readTogether,
  Wanting,
  type Range,
  type StatisticTable,
} from '../data/statistic-choice.ts';
import type { Engine } from '../base/engine.ts';
import { count, counted, quantity } from '../base/format.ts';
import { strategyOf, type Lane } from '../run/run.ts';
import type { Track } from './track-panel.ts';
import type { Release } from './tracks-figure.ts';

export interface StatisticRelease extends Release {
  /** Names the mechanism if it may differ from the mechanism of the settings; '' otherwise. */
  about: string;
  /**
   * Describes what was done to the records; secret, because it depends on the records. '' if
   * nothing was done.
   */
  secret: string;
}

type Tracks = Omit<StatisticRelease, 'timeOf'>;

export interface StatisticRequest {
  settings: Settings;
  lane: Lane;
  table: StatisticTable;
  limit: Limit;
}

/** The methods of a stream that release steps. */
interface BatchStream<One, Reading> {
  releaseMany(records: ArrayLike<One>): Promise<Reading[]>;
  releaseBatch(records: ArrayLike<One>): Promise<Reading>;
}

/**
 * Releases all steps, sending all requests before awaiting the first. `part` returns a range of
 * records.
 */
async function readingsOf<One, Reading>(
  stream: BatchStream<One, Reading>,
  part: (from: number, to: number) => ArrayLike<One>,
  starts: readonly number[],
): Promise<Reading[]> {
  if (starts.every((start, step) => start === step))
    return stream.releaseMany(part(0, starts.length - 1));
  return Promise.all(
    starts.slice(1).map((end, step) => stream.releaseBatch(part(starts[step]!, end))),
  );
}

function targetOf({ epsilon, delta, neighbours, noiseSeed: insecureSeed }: Settings) {
  return { epsilon, delta, neighbours, insecureSeed, showNonprivate: true };
}

function optionsOf({ settings, lane }: StatisticRequest) {
  return { strategy: strategyOf(lane), ...targetOf(settings), ...problemOf(settings) };
}

/** The numbers without noise; NaN at steps where they cover no record. */
function truthOf<R extends { nonprivate?: R | undefined }>(
  readings: readonly R[],
  { count, number }: { count(reading: R): Estimate; number(reading: R): Estimate },
): Float64Array {
  return Float64Array.from(readings, ({ nonprivate }) =>
    count(nonprivate!).value > 0 ? number(nonprivate!).value : NaN,
  );
}

/** Values of the records, as given and clipped to the range. */
interface ClippedRecords {
  measured: string;
  range: Range;
  given: Float64Array;
  clipped: Float64Array;
  secret: string;
}

function clippedOf(
  { table: { csv, choice } }: StatisticRequest,
  records: CountedRows,
): ClippedRecords {
  const { measured } = choice;
  if (measured === '') throw new Wanting('The table has no column of numbers.');
  const range = readRange(choice.range);
  if (range === null) {
    throw new Wanting(
      `Say which values of ${measured} are possible: the lowest and the highest, under “Range”.`,
    );
  }
  const [low, high] = range;
  const { values } = findColumn(csv, measured);
  const given = Float64Array.from(records.rows, (row) => values[row]!);
  const clipped = given.map((value) => Math.min(high, Math.max(low, value)));
  const numClipped = given.reduce((sum, value, i) => sum + Number(value !== clipped[i]), 0);
  const are = numClipped === 1 ? 'is' : 'are';
  const secret =
    numClipped === 0
      ? `no record is outside ${quantity(low)} to ${quantity(high)}.`
      : `${count(numClipped)} of ${counted(given.length, 'record')} ${are} outside ${quantity(low)} to ${quantity(high)} and ${are} clipped.`;
  return { measured, range, given, clipped, secret };
}

async function moments(
  engine: Engine,
  wanted: StatisticRequest,
  records: CountedRows,
): Promise<Tracks> {
  const { measured, range, given, secret } = clippedOf(wanted, records);
  const stream = await engine.moments({ columns: { value: range }, ...optionsOf(wanted) });
  try {
    const part = (from: number, to: number) =>
      Array.from(given.subarray(from, to), (value) => ({ value }));
    const readings = await readingsOf(stream, part, records.starts);
    type Reading = (typeof readings)[number];
    const count = (one: Reading): Estimate => one.count;
    const track = (name: string, key: string, number: (one: Reading) => Estimate): Track => ({
      name,
      key,
      estimates: readings.map(number),
      truth: truthOf(readings, { count, number }),
    });
    return {
      tracks: [
        track(`Mean of ${measured}`, 'mean', (one) => one.mean.value),
        track(`Standard deviation of ${measured}`, 'spread', (one) => one.standardDeviation.value),
        {
          ...track('Number of records', 'count', count),
          truth: Float64Array.from(readings, ({ nonprivate }) => nonprivate!.count.value),
        },
      ],
      about: '',
      secret,
    };
  } finally {
    void stream.dispose();
  }
}

async function histogram(
  engine: Engine,
  wanted: StatisticRequest,
  records: CountedRows,
): Promise<Tracks> {
  const { csv, choice } = wanted.table;
  const { category, domain } = choice;
  if (category === '') throw new Wanting('Choose the column whose cells are names of categories.');
  const column = csv.columns.find(({ name }) => name === category);
  if (column === undefined) throw new CsvError(`there is no column “${category}”`);
  const names = readDomain(domain);
  if (names === null) {
    throw new Wanting(
      `Say which categories of ${category} to count, under “Categories”: their names, separated by commas.`,
    );
  }
  const categories = [...names, otherCategory];
  const texts = textsOf(column);
  const index = new CategoryIndex(names);
  const given = records.rows.map((row) => names[index.find(texts[row]!) ?? -1] ?? otherCategory);
  const options = { categories: names, other: otherCategory, ...optionsOf(wanted) };
  const stream = await engine.histogram<string, string>(options);
  try {
    const part = (from: number, to: number) => given.slice(from, to);
    const readings = await readingsOf(stream, part, records.starts);
    const tracks = categories.map((name) => ({
      name: `${category}: ${name}`,
      key: name,
      estimates: readings.map((one) => one.count[name]!),
      truth: Float64Array.from(readings, ({ nonprivate }) => nonprivate!.count[name]!.value),
      share: {
        estimates: readings.map((one) => one.share[name]!),
        truth: truthOf(readings, { count: (one) => one.total, number: (one) => one.share[name]! }),
      },
    }));
    return { tracks, about: '', secret: '' };
  } finally {
    void stream.dispose();
  }
}

/** Largest horizon at which the best encoder for several sums is found in about a second. */
const maxSearchedSteps = 512;

const quickAlone: StrategyParameters = { name: 'normalized-square-root' };

/**
 * The mechanism for all sums together, and the mechanism for each sum alone. Both are given by
 * name, because a strategy optimised for the run fits only the sum of the run.
 */
function mechanismsOf({
  settings: { numSteps },
  lane,
}: StatisticRequest): Record<'together' | 'alone', StrategyParameters> {
  const isSlow = lane.mechanism === 'optimal' && numSteps > MAX_QUICK_DENSE_STEPS;
  const chosen = isSlow ? quickAlone : { name: lane.mechanism, ...lane.parameters };
  const isLong = numSteps > maxSearchedSteps && lane.mechanism !== 'blt';
  const together: StrategyParameters = isLong ? { name: 'blt' } : chosen;
  // blt uses the encoder for totals, whatever the workload.
  return { together, alone: together.name === 'blt' ? quickAlone : together };
}

/** Names the mechanism, and explains why it differs from the settings if it does. */
function takenText(
  { settings: { numSteps }, lane }: StatisticRequest,
  { together, alone }: Record<'together' | 'alone', StrategyParameters>,
): string {
  const taken = together.name;
  const why =
    taken === lane.mechanism
      ? ''
      : numSteps > maxSearchedSteps
        ? `, because beyond ${counted(maxSearchedSteps, 'step')} the search for the best encoder of several sums is slow`
        : `, because beyond ${counted(MAX_QUICK_DENSE_STEPS, 'step')} the search for the optimum is slow`;
  const other =
    alone.name === taken
      ? ''
      : `; alone, each would use ${nameOf(alone.name)}, or this one where it is better`;
  return `The mechanism is ${nameOf(taken)}${why}${other}.`;
}

async function sums(
  engine: Engine,
  wanted: StatisticRequest,
  records: CountedRows,
): Promise<Tracks> {
  const { settings, table } = wanted;
  const { range, clipped, secret } = clippedOf(wanted, records);
  const each = readTogether(table.choice.together)!.map((kind) => settingsOfSum(settings, kind));
  const workloads = each.map((one) => workloadOf(one).workload ?? 'prefix');
  const { numSteps } = settings;
  const taken = mechanismsOf(wanted);
  const problem = { steps: numSteps, ...participationOf(settings) };
  const options = { ...problem, ...targetOf(settings), strategy: taken.together };
  const names = workloads.map((_, i) => `sum ${i + 1}`);
  const stream = await engine.sums({
    ...options,
    clip: Math.max(...range.map(Math.abs)),
    workloads: Object.fromEntries(workloads.map((workload, i) => [names[i], workload])),
  });
  try {
    const [readings, ...errors] = await Promise.all([
      readingsOf(stream, (from, to) => clipped.slice(from, to), records.starts),
      ...workloads.map((workload) => engine.error({ ...problem, strategy: taken.alone, workload })),
    ]);
    const { noiseStddev, sensitivity } = stream.certificate;
    const scale = noiseStddev / sensitivity;
    const tracks = each.map((one, i): Track => {
      const all = scale * stream.certificate.workloads![names[i]!]!.meanError;
      // Uses the joint encoder if it is better for this sum.
      const own = Math.min(all, scale * errors[i]!.meanError);
      const share = `1/${each.length}`;
      return {
        name: wordsOf(one).title,
        key: `sum-${i + 1}`,
        estimates: readings.map((one) => one.sums[names[i]!]!),
        truth: Float64Array.from(readings, (it) => it.nonprivate!.sums[names[i]!]!.value),
        errors:
          `RMS error ${quantity(all, 3)}. Alone, with the whole budget: ${quantity(own, 3)}; ` +
          `with ${share} of it: ${quantity(Math.sqrt(each.length) * own, 3)}.`,
      };
    });
    return { tracks, about: takenText(wanted, taken), secret };
  } finally {
    void stream.dispose();
  }
}

/**
 * Releases the statistic that the settings select.
 * @throws Wanting if a setting must be entered first.
 */
export async function releaseStatistic(
  engine: Engine,
  wanted: StatisticRequest,
): Promise<StatisticRelease> {
  const { settings, table, limit } = wanted;
  if (settings.numSteps > maxStatisticSteps) {
    throw new Wanting(`This figure supports horizons up to ${counted(maxStatisticSteps, 'step')}.`);
  }
  const { decay, momentum } = weightsOf(settings);
  if (settings.statistic !== 'sums' && (decay < 1 || momentum > 0)) {
    throw new Wanting(
      'Mean, spread and counts cover all records so far, or a window: choose one of these under “What is summed”.',
    );
  }
  const { csv, choice } = table;
  const used = settings.statistic === 'histogram' ? choice.category : choice.measured;
  const read = readFor(csv, used === '' ? [] : [used], settings);
  if (
    settings.neighbours === 'replace-one' &&
    (settings.missing === 'skip' || csv.skipped.size > 0)
  )
    throw new Wanting('Rows that are left out need zero-out neighbours: how many count is secret.');
  const records = countedRows(read, settings, limit, settings.numSteps);
  const release = { moments, histogram, sums }[settings.statistic];
  const released = await release(engine, { ...wanted, table: { csv: read, choice } }, records);
  return { ...released, timeOf: records.timeOf };
}
