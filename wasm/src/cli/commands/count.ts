// SPDX-License-Identifier: Apache-2.0

// dp-ftrl count: counts rows of a CSV by time and category, privately, per bucket and in total.

import { load } from '../../index.js';
import type { Workload } from '../../types/all.js';
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
import { partOf, type Counts, type Part } from '../output/counts.js';
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
  for: 'value',
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

const WORKLOADS = { count: { window: 1 }, total: 'prefix' } as const satisfies Record<
  Part,
  Workload
>;

/** Says that persons are counted instead of rows, and how large the noise is. */
function personsNotice({ bucket }: Times, isBy: boolean, { opened }: Run<Counts>): string {
  const { maxError, noiseMultiplier } = opened.stream.certificate;
  const noise = Number((CLIP * maxError * noiseMultiplier).toPrecision(2));
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
  const first = `${times.bucket}s`;
  const wanted = args.oneOf('for', [first, 'totals', 'both']);
  const parts: readonly Part[] =
    wanted === 'both' ? ['count', 'total'] : [wanted === first ? 'count' : 'total'];
  if (wanted === 'both' && args.has('pure')) {
    throw new Misuse(`--for both does not go with --pure: give --for ${first} or --for totals`);
  }
  const shown = { parts, by: categories?.column, labels: categories?.labels };
  const isOne = parts.length === 1;
  return answer<Counts>(dp, {
    settings,
    wanted: { columns: [], onlyTexts: true, categories },
    name: isOne ? 'totals' : 'sums',
    workloads: parts.map((part) => WORKLOADS[part]),
    chosenFor: isOne ? CLIP : undefined,
    options: (columns, [workload]) => ({
      dimension: columns.length,
      clip: CLIP,
      ...(isOne ? { workload } : { workloads: WORKLOADS }),
    }),
    records: (values) => values,
    countsOnce: true,
    notices: (run) => (people ? [personsNotice(times, categories !== undefined, run)] : []),
    clippedTo: people
      ? `all rows of a ${times.bucket} count as 1 together`
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
}
