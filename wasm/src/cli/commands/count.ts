// SPDX-License-Identifier: Apache-2.0

// dp-ftrl count: counts rows of a CSV by time and category, privately, per bucket and in total.

import { load } from '../../index.js';
import type { DpFtrl, Workload } from '../../types/all.js';
import { CountsChart } from '../charts/counts.js';
import { CATEGORY_OPTIONS, readCategories } from '../input/categories.js';
import { FORMAT_OPTIONS } from '../input/format.js';
import { MISSING_OPTIONS } from '../input/missing.js';
import { requireAll } from '../input/needed.js';
import { PEOPLE_OPTIONS } from '../input/people.js';
import { TIME_OPTIONS, type TimeColumn } from '../input/time.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { STRATEGY_OPTIONS } from '../options/mechanism.js';
import { AddedCounts, partOf, type Counts, type CountPart } from '../output/counts.js';
import { BUDGET_OPTIONS } from '../state/budget.js';
import { CountWriter } from './count/writer.js';
import { chooseNoise, sumsStd } from './stream/choice.js';
import { stdOf } from './stream/forecast.js';
import { answer } from './stream/run.js';
import { isNoiseNamed } from './stream/prepare.js';
import type { PlannedRun, Question } from './stream/question.js';
import { OUTPUT_OPTIONS, readSettings } from './stream/settings.js';
import { areTold } from './stream/told.js';
import { BUCKETS } from '../../shared/calendar.js';
import { withArticle } from '../../shared/counted.js';
import { COUNT, STEPS } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption, SHOW_OPTION } from '../options/output.js';
import { PRIVACY_OPTIONS } from '../options/privacy.js';
import { CONTINUE_OPTIONS } from '../state/state.js';

export const command: Command = {
  summary: 'private counts of rows per day, also by category',
  usage: '--epsilon E --delta D --time-column T --bucket day [FILE.csv]',
  about:
    'Counts the rows of a CSV file (or standard input) per day and so on, with noise. The whole ' +
    'output is (E, D)-differentially private for one row or, with --user-column, for one person.',
  details: [
    'It has T,[CATEGORY,]count,count_std: for each bucket its number of rows, with noise, and the ' +
      'standard deviation of that noise. A row changes one count by 1, so there is nothing to ' +
      'clip. Counts may be negative and are not rounded, so that their sums and means stay unbiased.',
  ],
  options: {
    ...PRIVACY_OPTIONS,
    ...under('Privacy', {
      pure: {
        meaning: 'instead of --delta: no delta, by discrete Laplace noise; not with --for both',
      },
    }),
    ...under('Counts', {
      for: {
        value: 'days|totals|both',
        values: [...BUCKETS.map((bucket) => `${bucket}s`), 'totals', 'both'],
        meaning:
          'what the noise is made for: each bucket (say hours for --bucket hour; the default), ' +
          'the number of rows so far (total,total_std), or both. Unless you name a strategy, ' +
          'they get Laplace or Gaussian noise, whichever is smaller; with Laplace noise the ' +
          'guarantee has no delta. Both are one release of days and totals, or days that are ' +
          'added up, if no number is noisier then. Under a --budget it is Gaussian noise',
      },
    }),
    ...TIME_OPTIONS,
    ...CATEGORY_OPTIONS,
    ...PEOPLE_OPTIONS,
    'user-column': {
      ...PEOPLE_OPTIONS['user-column'],
      meaning:
        'protects persons instead of rows: column ID says whose row it is. All rows of a person ' +
        'in a bucket count as 1 together, in the first --max-contributions buckets that are at ' +
        'least --min-separation apart; the rest do not count. Each category counts once, however ' +
        'many rows there are in it; two categories then count as 0.71 each, with Laplace noise ' +
        'as 0.5',
    },
    'max-contributions': {
      ...PEOPLE_OPTIONS['max-contributions'],
      meaning:
        'buckets in which a person counts. A small K leaves out later rows, a large K adds noise, ' +
        'about in proportion. --dry-run shows the noise for a K',
      brief: 'each counts in their first K buckets; a large K adds noise',
    },
    ...under('Persons', {
      'min-separation': {
        value: 'S',
        number: COUNT,
        meaning: 'least distance of two buckets in which a person counts (default 1)',
      },
    }),
    ...FORMAT_OPTIONS,
    ...MISSING_OPTIONS,
    ...STRATEGY_OPTIONS,
    ...BUDGET_OPTIONS,
    ...under('State', {
      steps: {
        value: 'N',
        number: STEPS,
        meaning:
          'horizon: number of buckets the noise is calibrated for. Default: that of --from and ' +
          '--to, or else of the file',
      },
    }),
    ...CONTINUE_OPTIONS,
    ...OUTPUT_OPTIONS,
    ...jsonOption(
      'one object: private, mode, protects, timeZone, certificate, by, categories, rows, ' +
        'complete, choice (of the noise); and error, with code, row, line and column but no cell, ' +
        'if a row ended it early',
    ),
    ...SHOW_OPTION,
    'show-nonprivate': {
      ...SHOW_OPTION['show-nonprivate'],
      meaning: 'adds the numbers without noise, count_true and total_true: NOT private',
    },
  },
  essentials: [
    ...['epsilon', 'delta', 'time-column', 'bucket', 'time-zone', 'from', 'to'],
    ...['by', 'domain', 'other', 'user-column', 'max-contributions', 'state', 'dry-run', 'plot'],
  ],
  examples: [
    'dp-ftrl count --epsilon 1 --delta 1e-6 --time-column time --bucket day ' +
      '--by section --domain docs,shop,blog --other examples/site_visits.csv',
    'dp-ftrl count --epsilon 2 --delta 1e-6 --time-column time --bucket week ' +
      '--from 2026-04-06 --to 2026-05-03 --user-column visitor --max-contributions 4 ' +
      'examples/site_visits.csv',
  ],
  run,
};

/**
 * Clip norm 1: each row changes one count by 1, so the vector of counts changes by 1 in l2-norm.
 */
const CLIP = 1;

const WORKLOADS = { count: { window: 1 }, total: 'prefix' } as const satisfies Record<
  CountPart,
  Workload
>;

/** Says that persons are counted instead of rows, and the size of the noise. */
function personsNotice(
  { bucket }: TimeColumn,
  isBy: boolean,
  { opened, settings }: PlannedRun<Counts>,
): string {
  const { maxError, noiseMultiplier } = opened.stream.certificate;
  const noise = Number((CLIP * maxError * noiseMultiplier).toPrecision(2));
  const each = isBy
    ? `each once per ${bucket} and category, shared among several`
    : `each once per ${bucket}`;
  const what = `persons are counted, not rows: ${each}`;
  const size = `The noise of a count is about ${noise}, which hides smaller counts`;
  const isLeast = settings.people?.maxContributions === 1;
  const how = isLeast ? '' : ': a smaller --max-contributions has less noise, nearly in proportion';
  return `${what}. ${size}${how}`;
}

/**
 * The question about counts and totals in the form with less noise: one release of both, or counts
 * that are added up.
 */
function withLeastNoise(
  dp: DpFtrl,
  numSteps: number,
  { both, days }: { both: Question<Counts>; days: Question<Counts> },
): Question<Counts> {
  const { settings } = both;
  const { participation, target, neighbours, budget } = settings;
  if (isNoiseNamed(settings)) return both;
  const problem = { steps: numSteps, participation, workload: WORKLOADS.count };
  const alone = chooseNoise(dp, {
    ...{ ...problem, target },
    laplace: budget === undefined ? 'allowed' : 'named',
    stdOf: sumsStd(dp, { ...problem, clip: CLIP, neighbours }),
  });
  const stack = dp.sums({
    ...{ steps: numSteps, participation, neighbours, ...target },
    ...{ clip: CLIP, dimension: 1, workloads: WORKLOADS },
  });
  const { certificate } = stack;
  stack.dispose();
  const largest = stdOf(certificate) as Record<CountPart, number>;
  const meanOf = (part: CountPart) => {
    const { maxError, meanError } = certificate.workloads![part]!;
    return largest[part] * (meanError / maxError);
  };
  // The noises of different buckets are independent.
  const added = (count: number, days: number) => ({ count, total: count * Math.sqrt(days) });
  const one = {
    noise: alone.noise,
    mechanism: `${alone.mechanism}, added up`,
    std: added(alone.std, (numSteps + 1) / 2),
  };
  const other = {
    noise: 'Gaussian',
    mechanism: certificate.mechanism,
    std: { count: meanOf('count'), total: meanOf('total') },
  } as const;
  const { total } = added(alone.std, numSteps);
  if (alone.std > largest.count || total > largest.total)
    return { ...both, choice: { ...other, next: one } };
  return {
    ...days,
    choice: { ...one, next: other },
    largestStd: (own) => added(stdOf(own) as number, numSteps),
    readings: () => {
      const counts = new AddedCounts();
      return (step) => counts.next(step);
    },
  };
}

async function run(args: Args): Promise<void> {
  requireAll(args, {
    epsilon: '1',
    ...(!args.has('pure') && { delta: '1e-6' }),
    ...(!args.has('time-column') && { 'time-column': 'NAME', bucket: 'day' }),
  });
  if (args.has('min-separation') && !args.has('user-column')) {
    throw new Misuse('--min-separation needs --user-column');
  }
  const dp = await load();
  const categories = readCategories(args);
  const settings = await readSettings(dp, 'count', args);
  const { json, written, showTrue, people } = settings;
  const times = settings.times!;
  const first = `${times.bucket}s`;
  const wanted = args.oneOf('for', [first, 'totals', 'both']);
  const parts: readonly CountPart[] =
    wanted === 'both' ? ['count', 'total'] : [wanted === first ? 'count' : 'total'];
  if (wanted === 'both' && args.has('pure')) {
    throw new Misuse(`--for both does not go with --pure: give --for ${first} or --for totals`);
  }
  // Makes a state that was made with another --for be reported as such, not as another workload.
  const repeated: Record<string, string> = wanted === first ? {} : { for: wanted };
  const shown = { parts, by: categories?.column, labels: categories?.labels };
  const { participation, neighbours } = settings;
  const askedOf = (streamed: readonly CountPart[]): Question<Counts> => ({
    settings,
    wanted: { columns: [], onlyTexts: true, categories },
    name: streamed.length === 1 ? 'totals' : 'sums',
    workloads: streamed.map((part) => WORKLOADS[part]),
    // A row belongs to one category, so the noise of a count is that of a single number.
    compared: ({ dp: core, workload, numSteps: steps }) => ({
      hasLaplace: true,
      stdOf: sumsStd(core, { steps, clip: CLIP, workload, participation, neighbours }),
    }),
    options: (columns, [workload]) => ({
      dimension: columns.length,
      clip: CLIP,
      ...(streamed.length === 1 ? { workload } : { workloads: WORKLOADS }),
    }),
    records: (values) => values,
    countsOnce: true,
    repeated,
    notices: (run) => (people ? [personsNotice(times, categories !== undefined, run)] : []),
    clippedTo: people
      ? `all rows of ${withArticle(times.bucket)} count as 1 together`
      : 'each row counts as 1',
    isTold: (reading) => parts.some((part) => areTold(partOf(reading, part))),
    writer: ({ sink }) =>
      new CountWriter(sink, {
        ...shown,
        json,
        format: written,
        showTrue,
        timeColumn: times.heading,
      }),
    chart: () =>
      new CountsChart({
        ...shown,
        bucket: times.bucket,
        zone: times.zone.name,
        unit: people ? 'persons' : 'rows',
      }),
  });
  const asked = askedOf(parts);
  if (parts.length === 1) return answer(dp, asked);
  const days = askedOf(['count']);
  return answer(dp, {
    ...asked,
    atHorizon: (core, numSteps) => withLeastNoise(core, numSteps, { both: asked, days }),
  });
}
