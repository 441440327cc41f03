// SPDX-License-Identifier: Apache-2.0

// Releases several workloads of one stream with shared noise and one budget.

import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import type { DpFtrl } from '../../../types/all.js';
import { EstimatesChart } from '../../charts/estimates.js';
import { Misuse } from '../../base/failure.js';
import { workloadText } from '../../input/workload.js';
import type { Args } from '../../options/args.js';
import { answer } from '../stream/run.js';
import type { Question } from '../stream/question.js';
import { areTold } from '../stream/told.js';
import { StackWriter, type Stacked } from './stack-writer.js';

/** Refuses options that are only allowed with a single workload. */
export function requireTogether(args: Args): void {
  const other = ['pure', 'strategy'].find((name) => args.has(name));
  if (other !== undefined) throw new Misuse(`--${other} does not go with --workloads`);
  if (args.text('mode') === 'lattice') {
    throw new Misuse('--mode lattice does not go with --workloads');
  }
}

interface SumsQuestion
  extends Pick<Question<Stacked>, 'settings' | 'wanted' | 'records' | 'bound' | 'notices'> {
  importance: readonly number[] | undefined;
  clipOf(columns: readonly string[]): number;
}

export function answerSums(
  dp: DpFtrl,
  { importance, clipOf, ...sums }: SumsQuestion,
): Promise<void> {
  const { settings } = sums;
  const { json, written: format, showTrue, times } = settings;
  const names = settings.sums!;
  const named = <T>(each: readonly T[]) => Object.fromEntries(names.map((it, i) => [it, each[i]]));
  return answer<Stacked>(dp, {
    ...sums,
    name: 'sums',
    options: (columns, workloads) => ({
      workloads: named(workloads),
      ...(importance && { importance: named(importance) }),
      dimension: columns.length,
      clip: clipOf(columns),
    }),
    isTold: (reading) => Object.values(reading.sums).some(areTold),
    writer: ({ sink, prepared, opened }) =>
      new StackWriter(sink, {
        json,
        format,
        showTrue,
        timeColumn: times?.heading,
        columns: prepared.rows.columns,
        names,
        workloads: prepared.workloads.map(workloadText),
        errors: opened.stream.certificate.workloads!,
      }),
    chart: ({ prepared }) => {
      const { columns } = prepared.rows;
      return new EstimatesChart<Stacked>({
        title: 'Private sums of one stream',
        timeColumn: times?.axis,
        confidence: DEFAULT_CONFIDENCE,
        sharesScale: false,
        names: names.flatMap((name) => columns.map((column) => `${column}_${name}`)),
        panels: names.map((label, i) => ({
          label,
          series: columns.map((name, j) => ({ name, index: i * columns.length + j })),
        })),
        estimates: ({ sums: all }) =>
          names.flatMap((name) => {
            const { values, halfWidth } = all[name]!;
            return Array.from(values, (value) => ({
              value,
              low: value - halfWidth,
              high: value + halfWidth,
            }));
          }),
      });
    },
  });
}
