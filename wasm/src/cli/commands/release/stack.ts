// SPDX-License-Identifier: Apache-2.0

// Releases several --workload of one stream with shared noise and one budget.

import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import type { StackedSums, SumsStatistic } from '../../../types/all.js';
import { EstimatesChart } from '../../charts/estimates.js';
import { Misuse } from '../../base/failure.js';
import type { RowStream } from '../../input/stream.js';
import type { Args } from '../../options/args.js';
import { namesInColumns } from '../../input/workload.js';
import type { Sink } from '../../output/output.js';
import { readingsOf } from './readings.js';
import { StackWriter } from './stack-writer.js';
import type { OtherTotals } from './sums.js';
import { areEstimatesTold } from './told.js';
import type { ShownSums } from './writer.js';

/** Options that are only allowed with a single workload. */
const ALONE = ['pure', 'strategy'];

function requireTogether(args: Args): void {
  const other = ALONE.find((name) => args.has(name));
  if (other !== undefined) throw new Misuse(`--${other} does not go with several --workload`);
  if (args.text('mode') === 'lattice') {
    throw new Misuse('--mode lattice does not go with several --workload');
  }
}

/** A release in progress. */
interface Running {
  sink: Sink;
  prepared: { rows: RowStream };
  settings: { times: { axis: string } | undefined };
}

/** Returns the parts of dp-ftrl release that are different for several workloads. */
export function severalSums(
  args: Args,
  { importance, shown }: { importance: number[] | undefined; shown: ShownSums },
): {
  others: OtherTotals;
  isTold: typeof areEstimatesTold;
  writer(run: Running): StackWriter;
  chart(run: Running): EstimatesChart;
} {
  requireTogether(args);
  const names = namesInColumns(args);
  let sums: Pick<SumsStatistic, 'workloads'> | undefined;
  const others = readingsOf({
    kind: 'sums',
    fixed: '--importance, --clip, number of columns',
    takesFirst: false,
    what: ({ how, workloads, columns }) => ({
      workloads,
      ...(importance && { importance }),
      dimension: columns.length,
      clipNorm: how.clipNorm,
    }),
    made: (statistic) => (sums = statistic as SumsStatistic),
    records: (rows) => rows,
    estimates: ({ sum }: StackedSums) => sum.flat(),
  });
  return {
    others,
    isTold: areEstimatesTold,
    writer: ({ sink, prepared }) =>
      new StackWriter(sink, {
        ...shown,
        columns: prepared.rows.columns,
        names,
        workloads: sums!.workloads,
      }),
    chart: ({ prepared, settings }) => {
      const { columns } = prepared.rows;
      return new EstimatesChart({
        title: 'Private sums of one stream',
        timeColumn: settings.times?.axis,
        confidence: DEFAULT_CONFIDENCE,
        sharesScale: false,
        names: names.flatMap((name) => columns.map((column) => `${column}_${name}`)),
        panels: names.map((label, i) => ({
          label,
          series: columns.map((name, j) => ({ name, index: i * columns.length + j })),
        })),
      });
    },
  };
}
