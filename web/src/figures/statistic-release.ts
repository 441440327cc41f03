// SPDX-License-Identifier: Apache-2.0

// Releases a statistic of a table step by step, and computes the same without noise.

import { asProblem } from '../controls/problem.ts';
import type { Estimate } from 'dp-ftrl';
import type { Settings } from '../controls/settings.ts';
import { MAX_QUICK_DENSE_STEPS } from '../../../wasm/src/shared/defaults.ts';
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
import { weightedSums } from '../data/weighted-sums.ts';
import { trueCounts, trueMoments, type Steps } from '../data/true-statistics.ts';
import type { Engine } from '../base/engine.ts';
import { count, counted, quantity } from '../base/format.ts';
import { strategyOf, type Lane } from '../run/run.ts';
import { streamOptions } from '../run/stream-options.ts';

/** One number per step. */
export interface Track {
  name: string;
  /** Name of its columns in the table. */
  key: string;
  estimates: readonly Estimate[];
  truth: Float64Array;
  /** Describes its errors; absent if its interval does. */
  errors?: string;
  /** The same divided by the number of all records, from 0 to 1. */
  share?: { estimates: readonly Estimate[]; truth: Float64Array };
}

export interface Released {
  tracks: Track[];
  /** Names the mechanism if it may differ from that of the settings; '' otherwise. */
  about: string;
  /** Describes what was done to the records; secret, as it depends on them. '' if nothing. */
  secret: string;
  /** Returns the time of a step, from 0; null if steps have no times. */
  timeOf: CountedRows['timeOf'];
}

type Tracks = Omit<Released, 'timeOf'>;

export interface Wanted {
  settings: Settings;
  lane: Lane;
  table: StatisticTable;
  limit: Limit;
}

/** The verbs of a stream that release steps. */
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

function targetOf({ epsilon, delta, numSteps, neighbours, noiseSeed: insecureSeed }: Settings) {
  return { epsilon, delta, numSteps, neighbours, insecureSeed };
}

function optionsOf({ settings, lane }: Wanted) {
  return streamOptions({ ...strategyOf(lane), ...targetOf(settings), ...problemOf(settings) });
}

function stepsOf({ settings }: Wanted, { starts }: CountedRows): Steps {
  return { starts, window: weightsOf(settings).window };
}

/** Values of the records, clipped to their range. */
interface Clipped {
  measured: string;
  range: Range;
  given: Float64Array;
  clipped: Float64Array;
  secret: string;
}

function clippedOf({ table: { csv, choice } }: Wanted, records: CountedRows): Clipped {
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

async function moments(engine: Engine, wanted: Wanted, records: CountedRows): Promise<Tracks> {
  const { measured, range, given, clipped, secret } = clippedOf(wanted, records);
  const [low, high] = range;
  const stream = await engine.moments({ columns: { value: range }, ...optionsOf(wanted) });
  try {
    const part = (from: number, to: number) =>
      Array.from(given.subarray(from, to), (value) => ({ value }));
    const readings = await readingsOf(stream, part, records.starts);
    const truth = trueMoments(stepsOf(wanted, records), clipped, (low + high) / 2);
    const track = (
      name: string,
      key: string,
      pick: (one: (typeof readings)[number]) => Estimate,
      of: Float64Array,
    ) => ({
      name,
      key,
      estimates: readings.map(pick),
      truth: of,
    });
    return {
      tracks: [
        track(`Mean of ${measured}`, 'mean', (one) => one.mean.value, truth.mean),
        track(
          `Standard deviation of ${measured}`,
          'spread',
          (one) => one.standardDeviation.value,
          truth.standardDeviation,
        ),
        track('Number of records', 'count', (one) => one.count, truth.count),
      ],
      about: '',
      secret,
    };
  } finally {
    void stream.dispose();
  }
}

async function histogram(engine: Engine, wanted: Wanted, records: CountedRows): Promise<Tracks> {
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
    const truth = trueCounts(stepsOf(wanted, records), given, categories);
    const all = truth[0]!.map((_, step) => truth.reduce((sum, one) => sum + one[step]!, 0));
    const tracks = categories.map((name, i) => ({
      name: `${category}: ${name}`,
      key: name,
      estimates: readings.map((one) => one.count[name]!),
      truth: truth[i]!,
      share: {
        estimates: readings.map((one) => one.share[name]!),
        truth: truth[i]!.map((number, step) => number / all[step]!),
      },
    }));
    return { tracks, about: '', secret: '' };
  } finally {
    void stream.dispose();
  }
}

/** Largest horizon at which the best encoder for several sums is found in about a second. */
const maxSearchedSteps = 512;

type Taken = ReturnType<typeof strategyOf>;
const quickAlone: Taken = { mechanism: 'normalized-square-root' };

/**
 * Returns the mechanism for all sums together, and the one that each would have alone. A strategy
 * that was found for the figure of the run is for its sum only, so the mechanism is given by name.
 */
function mechanismsOf({
  settings: { numSteps },
  lane,
}: Wanted): Record<'together' | 'alone', Taken> {
  const isSlow = lane.mechanism === 'optimal' && numSteps > MAX_QUICK_DENSE_STEPS;
  const chosen = isSlow ? quickAlone : strategyOf({ ...lane, saved: null });
  const together: Taken =
    numSteps > maxSearchedSteps && lane.mechanism !== 'blt' ? { mechanism: 'blt' } : chosen;
  // The encoder of blt is that for totals, whatever the workload.
  return { together, alone: together.mechanism === 'blt' ? quickAlone : together };
}

/** Names the mechanism and explains it, if it is not the one of the settings. */
function takenText(
  { settings: { numSteps }, lane }: Wanted,
  { together, alone }: Record<'together' | 'alone', Taken>,
): string {
  const nameOf = ({ mechanism }: Taken): string =>
    typeof mechanism === 'string' ? mechanism : lane.mechanism;
  const taken = nameOf(together);
  const why =
    taken === lane.mechanism
      ? ''
      : numSteps > maxSearchedSteps
        ? `, because beyond ${counted(maxSearchedSteps, 'step')} the search for the best encoder of several sums is slow`
        : `, because beyond ${counted(MAX_QUICK_DENSE_STEPS, 'step')} the search for the optimum is slow`;
  const other =
    nameOf(alone) === taken
      ? ''
      : `; alone, each would use ${nameOf(alone)}, or this one where it is better`;
  return `The mechanism is ${taken}${why}${other}.`;
}

/** Returns the sum of the values of each step. */
function stepSums(values: Float64Array, starts: readonly number[]): Float64Array {
  return Float64Array.from(starts.slice(1), (end, step) =>
    values.subarray(starts[step]!, end).reduce((sum, value) => sum + value, 0),
  );
}

async function sums(engine: Engine, wanted: Wanted, records: CountedRows): Promise<Tracks> {
  const { settings, table } = wanted;
  const { range, clipped, secret } = clippedOf(wanted, records);
  const each = readTogether(table.choice.together)!.map((kind) => settingsOfSum(settings, kind));
  const workloads = each.map((one) => workloadOf(one).workload ?? 'prefix');
  const { numSteps } = settings;
  const taken = mechanismsOf(wanted);
  const users = participationOf(settings);
  const options = streamOptions({ ...taken.together, ...targetOf(settings), ...users });
  const names = workloads.map((_, i) => `sum ${i + 1}`);
  const stream = await engine.sums({
    ...options,
    clip: Math.max(...range.map(Math.abs)),
    workloads: Object.fromEntries(workloads.map((workload, i) => [names[i], workload])),
  });
  try {
    const [readings, ...errors] = await Promise.all([
      readingsOf(stream, (from, to) => clipped.slice(from, to), records.starts),
      ...workloads.map((workload) =>
        engine.error(asProblem({ ...taken.alone, ...users, numSteps, workload })),
      ),
    ]);
    const added = stepSums(clipped, records.starts);
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
        truth: weightedSums(added, 1, weightsOf(one)),
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
export async function releaseStatistic(engine: Engine, wanted: Wanted): Promise<Released> {
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
