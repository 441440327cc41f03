// SPDX-License-Identifier: Apache-2.0

// dp-ftrl count: counts rows of a CSV by time and category, privately, per bucket and in total.

import { given } from '../../core/given.js';
import { PURE_MECHANISM } from '../../shared/defaults.js';
import { PARAMETER_NAMES } from '../../shared/parameters.js';
import { load } from '../../index.js';
import type { DpFtrl, ErrorOptions, MechanismParameters } from '../../types/all.js';
import type { Totals } from '../../types/streams/readings.js';
import { CountsChart } from '../charts/counts.js';
import { CATEGORY_OPTIONS, readCategories } from '../input/categories.js';
import { FORMAT_OPTIONS } from '../input/format.js';
import { MISSING_OPTIONS } from '../input/missing.js';
import { requireAll } from '../input/needed.js';
import { PEOPLE_OPTIONS } from '../input/people.js';
import { TIME_OPTIONS, type Times } from '../input/time.js';
import { Misuse } from '../base/failure.js';
import type { Args, Known } from '../options/args.js';
import { MECHANISM_OPTIONS } from '../options/mechanism.js';
import { BUDGET_OPTIONS } from '../state/budget.js';
import { CountWriter } from './count/writer.js';
import { answer, type Run } from './stream/run.js';
import { OUTPUT_OPTIONS, readSettings } from './stream/settings.js';
import { areTold } from './stream/told.js';

export const options: Known = {
  ...MECHANISM_OPTIONS,
  epsilon: 'value',
  delta: 'value',
  pure: 'flag',
  ...TIME_OPTIONS,
  ...FORMAT_OPTIONS,
  ...MISSING_OPTIONS,
  ...CATEGORY_OPTIONS,
  ...PEOPLE_OPTIONS,
  'min-separation': 'value',
  ...BUDGET_OPTIONS,
  steps: 'value',
  state: 'value',
  continue: 'flag',
  'show-nonprivate': 'flag',
  ...OUTPUT_OPTIONS,
};

/** Clip norm 1: each row changes one count by 1, and so the vector of counts by 1 in l2-norm. */
const CLIP = 1;

/** Longest horizon for which the std of a count is known with every mechanism. */
const MOST_STEPS_OF_ANY = 4096;

/** @throws Misuse if the variance of increments would require matrices that are too large. */
function unitStddevs(dp: DpFtrl, problem: ErrorOptions, name: string): Float64Array {
  try {
    return dp.incrementStddevs(problem);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'unsupported') throw error;
    const what = `${problem.numSteps} buckets are too many for the std of a count with ${name}`;
    const other = problem.mechanism === PURE_MECHANISM ? '' : ', or --mechanism blt';
    throw new Misuse(`${what}: choose a longer --bucket${other}`);
  }
}

/** Standard deviation of each bucket's count, which is the difference of two successive totals. */
function bucketStddevs({ dp, prepared, opened }: Run<Totals>): Float64Array {
  const { noiseStddev, laplace, effectiveParameters } = opened.stream.certificate;
  // Laplace noise is on the grid.
  const grid = laplace ? 0 : opened.stream.grid;
  const { mechanism: own, numSteps, participation, ...others } = prepared.problem;
  const all: MechanismParameters = laplace ? effectiveParameters : others;
  const parameters = Object.fromEntries(PARAMETER_NAMES.map((name) => [name, all[name]]));
  const mechanism = laplace ? PURE_MECHANISM : own;
  const problem = { mechanism, ...given(parameters), numSteps, participation };
  const unit = unitStddevs(dp, problem, prepared.chosen.name);
  // Both totals are rounded to the grid independently; before the first step there is no total.
  return unit.map((std, t) =>
    Math.sqrt((noiseStddev * std) ** 2 + (grid ** 2 / 12) * (t === 0 ? 1 : 2)),
  );
}

/** Says that persons are counted instead of rows, and how large the noise is. */
function personsNotice({ bucket }: Times, isBy: boolean, stddevs: Float64Array): string {
  const noise = Number(Math.max(...stddevs).toPrecision(2));
  const each = isBy
    ? `each once per ${bucket} and category, shared among several`
    : `each once per ${bucket}`;
  const what = `persons are counted, not rows: ${each}`;
  const how = 'a smaller --max-contributions has less noise, nearly in proportion';
  return `${what}. The noise of a count is about ${noise}, which hides smaller counts: ${how}`;
}

export async function run(args: Args): Promise<void> {
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
  let found: Float64Array | undefined;
  const stddevsOf = (run: Run<Totals>) => (found ??= bucketStddevs(run));
  return answer<Totals>(dp, {
    settings,
    wanted: { columns: [], onlyTexts: true, categories },
    name: 'totals',
    options: (columns) => ({ dimension: columns.length, clip: CLIP }),
    records: (values) => values,
    countsOnce: true,
    preferred: (numSteps) => (numSteps > MOST_STEPS_OF_ANY ? 'blt' : undefined),
    notices: (run) =>
      people ? [personsNotice(times, categories !== undefined, stddevsOf(run))] : [],
    clippedTo: people
      ? `all rows of a ${times.bucket} count as 1 together`
      : 'each row counts as 1',
    isTold: areTold,
    writer: (run) =>
      new CountWriter(run.sink, {
        json,
        format: written,
        showTrue,
        timeColumn: times.heading,
        by: categories?.column,
        labels: categories?.labels,
        stddevs: stddevsOf(run),
        before: run.opened.before?.values,
      }),
    chart: (run) =>
      new CountsChart({
        bucket: times.bucket,
        zone: times.zone.name,
        unit: people ? 'persons' : 'rows',
        by: categories?.column,
        labels: categories?.labels,
        stddevs: stddevsOf(run),
        before: run.opened.before?.values,
      }),
  });
}
