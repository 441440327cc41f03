// SPDX-License-Identifier: Apache-2.0

// A statistic of a table, released step by step by the library, beside the same without noise.

import type { Estimate } from 'dp-ftrl';
import type { RemoteStatistic } from 'dp-ftrl/worker-client';
import type { Settings } from '../controls/settings.ts';
import { problemOf, weightsOf } from '../controls/workload.ts';
import { countedRows, type CountedRows, type Limit } from '../data/contributions.ts';
import { CsvError, findColumn, textsOf } from '../data/csv.ts';
import {
  maxStatisticSteps,
  otherCategory,
  readDomain,
  readRange,
  Wanting,
  type StatisticTable,
} from '../data/statistic_choice.ts';
import { trueCounts, trueMoments, type Steps } from '../data/true_statistics.ts';
import type { Engine } from '../page/engine.ts';
import { count, quantity } from '../page/format.ts';
import { strategyOf, type Lane } from '../page/run.ts';

/** One number of each step. */
export interface Track {
  name: string;
  /** Name of its columns in the table. */
  key: string;
  estimates: readonly Estimate[];
  truth: Float64Array;
}

export interface Released {
  tracks: Track[];
  /** Whether all of them are counts, which have one scale. */
  isCounts: boolean;
  /** Says what was done to the records; secret, as it depends on them. '' for nothing. */
  secret: string;
}

export interface Wanted {
  settings: Settings;
  lane: Lane;
  table: StatisticTable;
  limit: Limit;
}

/** The calls of a statistic that make steps. */
type Takes<Records, Reading> = Pick<RemoteStatistic<never, Records, Reading>, 'releaseMany' | 'contribute' | 'endSteps'>;

/** Releases all steps, with all requests made before the first is answered. `part`: of the records. */
async function readingsOf<Records, Reading>(
  statistic: Takes<Records, Reading>,
  part: (from: number, to: number) => Records,
  starts: readonly number[],
): Promise<Reading[]> {
  if (starts.every((start, step) => start === step)) return statistic.releaseMany(part(0, starts.length - 1));
  const steps = starts.slice(1).map(async (end, step) => {
    const asked = [statistic.contribute(part(starts[step]!, end)), statistic.endSteps()] as const;
    return (await Promise.all(asked))[1];
  });
  return (await Promise.all(steps)).flat();
}

function optionsOf({ settings, lane }: Wanted) {
  const { epsilon, delta, numSteps, neighbours, noiseSeed: insecureSeed } = settings;
  return { ...strategyOf(lane), epsilon, delta, numSteps, neighbours, ...problemOf(settings), insecureSeed };
}

function stepsOf({ settings }: Wanted, { starts }: CountedRows): Steps {
  return { starts, window: weightsOf(settings).window };
}

async function moments(engine: Engine, wanted: Wanted, counted: CountedRows): Promise<Released> {
  const { csv, choice } = wanted.table;
  const { measured } = choice;
  if (measured === '') throw new Wanting('The table has no column of numbers.');
  const range = readRange(choice.range);
  if (range === null) {
    throw new Wanting(`Say which values of ${measured} are possible: the lowest and the highest, under “Range”.`);
  }
  const [low, high] = range;
  const { values } = findColumn(csv, measured);
  const given = Float64Array.from(counted.rows, (row) => values[row]!);
  const clipped = given.map((value) => Math.min(high, Math.max(low, value)));
  const numClipped = given.reduce((sum, value, i) => sum + Number(value !== clipped[i]), 0);
  const statistic = await engine.statistic({ statistic: 'moments', ranges: [range], ...optionsOf(wanted) });
  try {
    const readings = await readingsOf(statistic, (from, to) => given.slice(from, to), counted.starts);
    const truth = trueMoments(stepsOf(wanted, counted), clipped, (low + high) / 2);
    const track = (name: string, key: string, pick: (one: (typeof readings)[number]) => Estimate, of: Float64Array) => ({
      name,
      key,
      estimates: readings.map(pick),
      truth: of,
    });
    return {
      tracks: [
        track(`Mean of ${measured}`, 'mean', (one) => one.mean[0]!, truth.mean),
        track(`Standard deviation of ${measured}`, 'spread', (one) => one.standardDeviation[0]!, truth.standardDeviation),
        track('Number of records', 'count', (one) => one.count, truth.count),
      ],
      isCounts: false,
      secret:
        numClipped === 0
          ? `no record is outside of ${quantity(low)} to ${quantity(high)}.`
          : `${count(numClipped)} of ${count(given.length)} records are outside of ${quantity(low)} to ${quantity(high)} and are clipped.`,
    };
  } finally {
    statistic.dispose();
  }
}

async function histogram(engine: Engine, wanted: Wanted, counted: CountedRows): Promise<Released> {
  const { csv, choice } = wanted.table;
  const { category, domain } = choice;
  if (category === '') throw new Wanting('Choose the column whose cells are names of categories.');
  const column = csv.columns.find(({ name }) => name === category);
  if (column === undefined) throw new CsvError(`there is no column “${category}”`);
  const names = readDomain(domain);
  if (names === null) {
    throw new Wanting(`Say which categories of ${category} to count, under “Categories”: their names, with commas between them.`);
  }
  const categories = [...names, otherCategory];
  const texts = textsOf(column);
  const given = counted.rows.map((row) => {
    const text = texts[row]!.trim();
    return names.includes(text) ? text : otherCategory;
  });
  const options = { statistic: 'histogram', categories, other: otherCategory, ...optionsOf(wanted) } as const;
  const statistic = await engine.statistic(options);
  try {
    const readings = await readingsOf(statistic, (from, to) => given.slice(from, to), counted.starts);
    const truth = trueCounts(stepsOf(wanted, counted), given, categories);
    const tracks = categories.map((name, i) => ({
      name: `${category}: ${name}`,
      key: name,
      estimates: readings.map((one) => one.count[i]!),
      truth: truth[i]!,
    }));
    return { tracks, isCounts: true, secret: '' };
  } finally {
    statistic.dispose();
  }
}

/**
 * Releases what the settings ask for.
 * @throws Wanting where something has to be said first.
 */
export async function releaseStatistic(engine: Engine, wanted: Wanted): Promise<Released> {
  const { settings, table, limit } = wanted;
  if (settings.numSteps > maxStatisticSteps) {
    throw new Wanting(`Released here up to a horizon of ${count(maxStatisticSteps)} steps.`);
  }
  const { decay, momentum } = weightsOf(settings);
  if (decay < 1 || momentum > 0) {
    throw new Wanting('Mean, spread and counts are of all records so far, or of those of a window: choose one of these under “What is summed”.');
  }
  const counted = countedRows(table.csv, settings, limit, settings.numSteps);
  return settings.statistic === 'moments' ? moments(engine, wanted, counted) : histogram(engine, wanted, counted);
}
