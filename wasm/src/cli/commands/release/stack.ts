// SPDX-License-Identifier: Apache-2.0

// Releases several workloads of one stream with shared noise and one budget.

import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import type { DpFtrl, StrategyInfo } from '../../../types/all.js';
import type { PrivacyTarget } from '../../../types/streams/options.js';
import { EstimatesChart } from '../../charts/estimates.js';
import { Misuse } from '../../base/failure.js';
import { workloadText } from '../../input/workload.js';
import type { Args } from '../../options/args.js';
import { strategyFile } from '../../options/mechanism.js';
import { answer } from '../stream/run.js';
import type { Question } from '../stream/question.js';
import { areTold } from '../stream/told.js';
import { StackWriter, type StackReading } from './stack-writer.js';

/** Refuses options that are allowed only with a single workload. */
export function requireTogether(args: Args, catalogue: readonly StrategyInfo[]): void {
  if (args.has('pure')) {
    throw new Misuse('--pure does not go with --workloads, whose noise is Gaussian');
  }
  const file = strategyFile(args, catalogue);
  if (file !== undefined) {
    const why = 'for which a strategy is found together';
    throw new Misuse(`--strategy ${file} does not go with --workloads, ${why}`);
  }
  if (args.text('mode') === 'lattice') {
    throw new Misuse('--mode lattice does not go with --workloads');
  }
}

interface SumsQuestion
  extends Pick<Question<StackReading>, 'settings' | 'wanted' | 'records' | 'bound' | 'notices'> {
  importance: readonly number[] | undefined;
  clipOf(columns: readonly string[], target: PrivacyTarget): number;
}

export function answerSums(
  dp: DpFtrl,
  { importance, clipOf, ...sums }: SumsQuestion,
): Promise<void> {
  const { settings } = sums;
  const { json, written: format, showTrue, times } = settings;
  const names = settings.sums!;
  const named = <T>(each: readonly T[]) => Object.fromEntries(names.map((it, i) => [it, each[i]]));
  return answer<StackReading>(dp, {
    ...sums,
    name: 'sums',
    options: (columns, workloads, target) => ({
      workloads: named(workloads),
      ...(importance && { importance: named(importance) }),
      dimension: columns.length,
      clip: clipOf(columns, target),
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
      return new EstimatesChart<StackReading>({
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
