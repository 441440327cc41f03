// SPDX-License-Identifier: Apache-2.0

// Active people: the counts of a day, a week and a month after every day, beside independent noise.

import type { Estimate, Totals } from 'dp-ftrl';
import type { Settings } from '../controls/settings.ts';
import type { DayPeople } from '../data/contributions.ts';
import type { ActiveProgramOptions } from '../data/source.ts';
import { Wanting } from '../data/statistic-choice.ts';
import type { Engine } from '../base/engine.ts';
import { count, counted, quantity, scientific, unbroken } from '../base/format.ts';
import type { Track } from './track-panel.ts';
import type { Release, TracksKind } from './tracks-figure.ts';

export interface ActiveView {
  settings: Settings;
  /** The people of each day; the same object as long as the events are the same. */
  people: DayPeople;
}

export interface ActiveRelease extends Release {
  timeOf: DayPeople['timeOf'];
  /** Noise of each count, relative to the noise of releasing its window alone. */
  factor: number;
}

/** Windows in days, by the names of their counts. */
const windows: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 };
const titles: Readonly<Record<string, string>> = {
  day: 'The last day',
  week: 'The last 7 days',
  month: 'The last 30 days',
};

/** Largest horizon for which the joint noise of all windows is found in a few seconds. */
const maxDays = 1500;

/** The windows that are at most `numDays` long. */
const windowsWithin = (numDays: number): Record<string, number> =>
  Object.fromEntries(Object.entries(windows).filter(([, length]) => length <= numDays));

/** Options that release the counts of a table. */
export const activeOptions = (
  { epsilon, delta, neighbours, noiseSeed: insecureSeed }: Settings,
  numDays: number,
): ActiveProgramOptions => ({
  windows: windowsWithin(numDays),
  steps: numDays,
  ...{ epsilon, delta, neighbours, insecureSeed },
});

/**
 * An epsilon so large that the noise of every count rounds to 0; its standard deviation is then 0,
 * too.
 */
const noNoise = 1e9;

/** Counts without noise, by the names of windows. */
type Counts = Readonly<Record<string, Float64Array>>;

const knownCounts = new WeakMap<DayPeople, Counts>();

/**
 * Counts without noise also come from the library, because only the library determines who is
 * active.
 */
async function trueCounts(engine: Engine, people: DayPeople): Promise<Counts> {
  const found = knownCounts.get(people) ?? (await countTruly(engine, people));
  knownCounts.set(people, found);
  return found;
}

async function countTruly(engine: Engine, { days }: DayPeople): Promise<Counts> {
  const target = { epsilon: noNoise, delta: 1e-6, insecureSeed: 0 };
  const stream = await engine.active({ windows, steps: 'endless', ...target });
  try {
    const readings = await Promise.all(days.map((people) => stream.releaseBatch([...people])));
    const valueOf = ({ value, stddev }: Estimate): number => {
      if (stddev !== 0) throw new Error('counts without noise must have no noise');
      return value;
    };
    return Object.fromEntries(
      Object.keys(windows).map((name) => [
        name,
        Float64Array.from(readings, ({ active }) => valueOf(active[name]!)),
      ]),
    );
  } finally {
    void stream.dispose();
  }
}

/**
 * Independent noise for all windows at the same guarantee. A person may be in every count of every
 * day, so each step needs noise for a record of norm sqrt(numWindows). Replacing one person by
 * another changes no more, because it moves no count by more than 1.
 */
async function freshNoise(
  engine: Engine,
  { epsilon, delta, noiseSeed: insecureSeed }: Settings,
  { numDays, numWindows }: { numDays: number; numWindows: number },
): Promise<Totals[]> {
  const stream = await engine.totals({
    dimension: numWindows,
    steps: numDays,
    workload: { window: 1 },
    strategy: 'independent',
    participation: { times: numDays, apart: 1 },
    clip: Math.sqrt(numWindows),
    grid: 1,
    ...{ epsilon, delta, insecureSeed },
  });
  try {
    return await stream.endMany(numDays);
  } finally {
    void stream.dispose();
  }
}

async function release(engine: Engine, { settings, people }: ActiveView): Promise<ActiveRelease> {
  const { days, timeOf } = people;
  const numDays = days.length;
  if (numDays > maxDays) {
    const most = counted(maxDays, 'day');
    throw new Wanting(`This figure supports up to ${most}, and there are ${count(numDays)}.`);
  }
  const options = activeOptions(settings, numDays);
  const names = Object.keys(options.windows);
  const stream = await engine.active(options);
  try {
    const [readings, truth, fresh] = await Promise.all([
      Promise.all(days.map((events) => stream.releaseBatch([...events]))),
      trueCounts(engine, people),
      freshNoise(engine, settings, { numDays, numWindows: names.length }),
    ]);
    const { active, mu } = stream.certificate;
    const { noiseStddev, sensitivity } = active![names[0]!]!;
    const tracks = names.map((name, i): Track => {
      const { stddev } = active![name]!;
      const { stddev: independent } = fresh[0]!;
      return {
        name: titles[name]!,
        key: name,
        estimates: readings.map((reading) => reading.active[name]!),
        truth: truth[name]!,
        errors:
          `Standard deviation ${quantity(stddev, 3)}, with independent noise ` +
          `${quantity(independent, 3)}.`,
        fresh: fresh.map(({ values, halfWidth }, day) => {
          const value = truth[name]![day]! + values[i]!;
          const [low, high] = [value - halfWidth, value + halfWidth];
          return { value, low, high, stddev: independent };
        }),
      };
    });
    return { tracks, timeOf, factor: (noiseStddev * mu!) / sensitivity };
  } finally {
    void stream.dispose();
  }
}

function noteOf({ settings }: ActiveView, { tracks, factor }: ActiveRelease): string {
  const { epsilon, delta, neighbours } = settings;
  const all = tracks.length === 1 ? 'The count of every day hides' : 'All counts together hide';
  const what = neighbours === 'zero-out' ? 'they did' : 'they did, or would have done instead';
  const shared =
    tracks.length === 1
      ? ''
      : ` They share one budget: each has ${quantity(factor, 4)} times the noise that it would have alone.`;
  const early =
    tracks.length === 1
      ? ''
      : ' Who was there before the first day is not in the table, so that counts are too low until their first window has passed.';
  return (
    `${all} whether any one person was ever there, whatever ${what}, at ${unbroken(`ε = ${quantity(epsilon)}`)} ` +
    `and δ = ${scientific(delta)}.${shared} Intervals have 95 % confidence. ` +
    `Independent noise with the same guarantee is drawn for comparison.${early}`
  );
}

export const active: TracksKind<ActiveView, ActiveRelease> = {
  keyOf: ({ settings: { epsilon, delta, neighbours, noiseSeed }, people }) => [
    people,
    ...[epsilon, delta, neighbours, noiseSeed],
  ],
  release,
  note: noteOf,
  look: (_, { timeOf }) => ({ from: 0, unit: 'day', at: (day) => timeOf(day - 1) }),
  sharesAxis: () => true,
};
