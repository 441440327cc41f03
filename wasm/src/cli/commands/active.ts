// SPDX-License-Identifier: Apache-2.0

// dp-ftrl active: counts active people per day, week and month of a CSV of events, privately.

import { load } from '../../index.js';
import { DEFAULT_CONFIDENCE } from '../../shared/defaults.js';
import { counted } from '../../shared/counted.js';
import type { ActiveClaim, Refusal } from '../../types/all.js';
import type { ActiveCounts } from '../../types/streams/readings.js';
import { EstimatesChart } from '../charts/estimates.js';
import { Misuse } from '../base/failure.js';
import { FORMAT_OPTIONS } from '../input/format.js';
import { MISSING_OPTIONS } from '../input/missing.js';
import { requireAll } from '../input/needed.js';
import { PEOPLE_OPTIONS } from '../input/people.js';
import { TIME_OPTIONS } from '../input/time.js';
import type { Args } from '../options/args.js';
import type { Command } from '../options/command.js';
import { PROBABILITY, STEPS } from '../options/numbers.js';
import { under } from '../options/option.js';
import { jsonOption } from '../options/output.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS } from '../options/privacy.js';
import { BUDGET_OPTIONS } from '../state/budget.js';
import { CONTINUE_OPTIONS } from '../state/state.js';
import { ActiveWriter, clamped, type Windows } from './active/writer.js';
import type { PlannedRun, Question, Run } from './stream/question.js';
import { answer } from './stream/run.js';
import { OUTPUT_OPTIONS, readSettings } from './stream/settings.js';

type Reading = ActiveCounts<string>;

const DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 };

const { bucket: _, ...TIMES } = TIME_OPTIONS;
const { 'max-contributions': __, ...PERSONS } = PEOPLE_OPTIONS;

export const command: Command = {
  summary: 'private numbers of daily, weekly and monthly active users',
  usage: '--epsilon E --delta D --user-column ID --time-column T --window W [FILE.csv]',
  about:
    'Counts, for each day, the people with an event in the last day, week or month of a CSV file ' +
    '(or standard input). The whole output is (E, D)-differentially private for one person, ' +
    'whatever they do and however often.',
  details: [
    'The output is step,T and for each window W,W_low,W_high,W_std: the number of people with ' +
      'noise, an interval that contains the number without noise with probability C, and the ' +
      'standard deviation of the noise. Numbers below 0 are written as 0, which biases small ' +
      'counts. The noise of different days is not independent, so that a mean of many days is ' +
      'less precise than the standard deviation of a day suggests: the command says how precise. ' +
      'Rows of one id are one person: who has several ids is protected less.',
  ],
  options: {
    ...PRIVACY_OPTIONS,
    ...NEIGHBOURS_OPTION,
    neighbours: {
      ...NEIGHBOURS_OPTION.neighbours,
      meaning:
        'zero-out (default; also add-remove): all rows of a person may be there or not; or ' +
        'replace-one (also substitution): they may also be other rows, at about twice the noise',
    },
    ...under('Counts', {
      window: {
        value: 'W,...',
        meaning:
          'days for which a person counts after an event: day, week (7), month (30) or a number. ' +
          'Several are separated by commas and share the budget: day,week,month have 1.57 times ' +
          'the noise of one alone',
        brief: 'day, week, month or a number of days, or several of them',
      },
      'closed-start': {
        meaning:
          'promises that nobody was active before the first day, such as that on which a service ' +
          'opened: slightly less noise',
      },
      endless: {
        meaning:
          'no horizon, for the windows day, week and month: protects what a person does in any ' +
          '365 days. With --state it goes on for years',
      },
    }),
    ...TIMES,
    ...PERSONS,
    'user-column': {
      ...PERSONS['user-column'],
      meaning:
        'column ID says who did it. Everything that a person does counts. Of each person the last ' +
        'day is kept, under a code, until the longest window ends',
      brief: 'who did it; everything that a person does counts',
    },
    ...FORMAT_OPTIONS,
    ...MISSING_OPTIONS,
    ...under('Intervals', {
      confidence: {
        value: 'C',
        number: PROBABILITY,
        meaning: 'confidence of each single interval, between 0 and 1 (default 0.95)',
        brief: 'confidence of each interval (default 0.95)',
      },
    }),
    ...BUDGET_OPTIONS,
    ...under('State', {
      steps: {
        value: 'N',
        number: STEPS,
        meaning:
          'horizon: number of days the noise is calibrated for, at most 16384. Default: that of ' +
          '--from and --to, or else of the file',
      },
    }),
    ...CONTINUE_OPTIONS,
    ...OUTPUT_OPTIONS,
    ...jsonOption(
      'one object: private, mode, protects, timeZone, certificate (with a claim for each window ' +
        'in active), windows, confidence, rows (with value, low, high and std of each window), ' +
        'complete; and error, if a row ended it early',
    ),
  },
  essentials: [
    ...['epsilon', 'delta', 'user-column', 'time-column', 'window', 'from', 'to', 'time-zone'],
    ...['state', 'endless', 'output', 'json', 'plot'],
  ],
  examples: [
    'dp-ftrl active --epsilon 1 --delta 1e-6 --user-column user --time-column time ' +
      '--window day,month --from 2026-01-01 --to 2026-06-29 examples/app_events.csv',
    'dp-ftrl active --epsilon 1 --delta 1e-6 --user-column user --time-column time ' +
      '--window week --endless --state users.state examples/app_events.csv',
  ],
  run,
};

/** Rewrites the error about a window longer than the horizon so that it names the option. */
function inOptions(error: unknown): unknown {
  const { parameter, constraint, value } = (error ?? {}) as Refusal;
  const [most] = /\d+$/.exec(constraint ?? '') ?? [];
  if (!parameter?.startsWith('windows') || most === undefined) return error;
  return new Misuse(`--window must be at most the horizon, ${most} days, got ${value}`);
}

/** Reads the windows, keyed by the names of their counts. */
function readWindows(args: Args): Windows {
  const texts = args.text('window')!.split(',');
  const windows = texts.map((text): [string, number] => {
    const name = text.trim();
    const days = DAYS[name] ?? (/^[1-9]\d{0,8}$/.test(name) ? Number(name) : undefined);
    if (days !== undefined && args.has('endless') && !Object.values(DAYS).includes(days)) {
      throw new Misuse(`--window must be day, week or month with --endless, got ${days}`);
    }
    if (days !== undefined) return [name, days];
    const wanted = 'day, week, month or a number of days of at least 1, or several of them';
    throw new Misuse(`--window must be ${wanted}, got ${JSON.stringify(text)}`);
  });
  const all = Object.fromEntries(windows);
  if (Object.keys(all).length === windows.length) return all;
  throw new Misuse(`--window must not name a window twice, got ${JSON.stringify(texts.join(','))}`);
}

/** Standard deviation of the mean count over `days` days; undefined if unknown. */
function stdOfMean({ effectiveParameters, noiseStddev }: ActiveClaim, days: number) {
  const { theta, offset } = effectiveParameters as { theta?: number; offset?: number };
  if (theta === undefined || offset === undefined) return undefined;
  // The sum of theta^|i-j| over all days i and j.
  const decayed = (2 * theta * (1 - theta ** days)) / (1 - theta) ** 2;
  const pairs = (days * (1 + theta)) / (1 - theta) - decayed;
  return noiseStddev * Math.sqrt(offset + pairs / days ** 2);
}

const short = (value: number): string => String(Number(value.toPrecision(2)));

function noticesOf(
  { settings, opened, prepared }: PlannedRun<Reading>,
  windows: Windows,
): string[] {
  const claims = opened.stream.certificate.active!;
  const { steps } = prepared.problem;
  const means = Object.entries(claims).flatMap(([name, claim]) => {
    const std = settings.isEndless ? undefined : stdOfMean(claim, steps);
    return std === undefined ? [] : `${short(std)} for ${name} (a day has ${short(claim.stddev)})`;
  });
  const what = 'errors of different days are correlated, so that means and totals of many days';
  const how =
    means.length === 0
      ? 'are less precise than their std suggests'
      : `are less precise: the mean of ${counted(steps, 'day')} has a std of ${means.join(', ')}`;
  const longest = Math.max(...Object.values(windows));
  const before = `who was active before the first day is not in the file, so that counts of a window are too low until its first ${longest} days have passed`;
  return [`${what} ${how}`, ...(longest > 1 && opened.releases.step === 0 ? [before] : [])];
}

function chartOf({ settings }: Run<Reading>, names: readonly string[], confidence: number) {
  return new EstimatesChart<Reading>({
    title: 'Active people',
    sharesScale: true,
    timeColumn: settings.times?.axis,
    confidence,
    names,
    panels: [{ label: 'people', series: names.map((name, index) => ({ name, index })) }],
    estimates: ({ active }) => names.map((name) => clamped(active[name]!)),
  });
}

async function run(args: Args): Promise<void> {
  requireAll(args, {
    epsilon: '1',
    delta: '1e-6',
    'user-column': 'NAME',
    'time-column': 'NAME',
    window: 'month',
  });
  const endless = args.has('endless');
  const stray = ['steps', 'closed-start'].find((name) => endless && args.has(name));
  if (stray !== undefined) throw new Misuse(`give --endless or --${stray}, not both`);
  const windows = readWindows(args);
  const dp = await load();
  const settings = await readSettings(dp, 'active', args);
  const { json, written, times, confidence = DEFAULT_CONFIDENCE } = settings;
  const names = Object.keys(windows);
  const span = names.map((name) => counted(windows[name]!, 'day')).join(', ');
  const question: Question<Reading> = {
    settings,
    wanted: { columns: [], onlyTexts: true },
    name: 'active',
    isOfPeople: true,
    options: () => ({
      windows,
      ...(endless ? { steps: 'endless' } : { closedStart: args.has('closed-start') }),
    }),
    records: () => undefined,
    clippedTo: `counted for ${span} from each event on`,
    notices: (run) => noticesOf(run, windows),
    writer: ({ sink }) =>
      new ActiveWriter(sink, {
        ...{ json, format: written, timeColumn: times!.heading },
        ...{ windows, confidence },
      }),
    chart: (run) => chartOf(run, names, confidence),
  };
  try {
    await answer(dp, question);
  } catch (error) {
    throw inOptions(error);
  }
}
