// SPDX-License-Identifier: Apache-2.0

// Writes histograms as text, with one row per step and category.

import type {
  ConsistentCounts,
  CountPostProcessing,
  Histogram,
  Totals,
} from '../../../types/all.js';
import type { Released } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { estimatesOf } from '../../output/estimates.js';
import {
  cellNames,
  cellsOf,
  ReadingWriter,
  type Reading,
  type Shown,
} from '../statistics/writer.js';

interface PostProcess {
  kind: CountPostProcessing;
  apply(histograms: readonly Histogram[]): ConsistentCounts[];
}

interface ShownHistogram extends Shown {
  /** Column of the categories, and the categories. */
  by: string;
  categories: readonly string[];
  confidence: number;
  postProcess: PostProcess | undefined;
}

/** Steps kept until they can be post-processed. */
interface Kept {
  released: Released;
  totals: Pick<Totals, 'stddev'>;
}

export class HistogramWriter extends ReadingWriter {
  private readonly kept: Kept[] = [];
  /** Post-processed counts of the steps to be written next. */
  private consistent: ConsistentCounts[] = [];
  private numConsistent = 0;

  constructor(
    sink: Sink,
    private readonly shown: ShownHistogram,
  ) {
    const { by, categories, postProcess } = shown;
    const names = [by, ...['count', 'share', 'total'].flatMap(cellNames)];
    if (postProcess) names.push(`count_${postProcess.kind.replace('-', '_')}`);
    const about = { command: 'histogram', all: 'total' };
    super(sink, about, shown, 1 + 2 * categories.length, names);
  }

  /** Writes the steps, or keeps them if their post-processing depends on later ones. */
  override async steps(
    released: Released,
    totals: Pick<Totals, 'stddev'>,
  ): Promise<Error | undefined> {
    const { postProcess } = this.shown;
    if (postProcess === undefined) return super.steps(released, totals);
    this.kept.push({ released, totals });
    if (postProcess.kind === 'non-negative') await this.writeKept(postProcess);
    return released.fault;
  }

  override async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    const { postProcess } = this.shown;
    if (postProcess) await this.writeKept(postProcess);
    await super.end(fault, about);
  }

  protected facts() {
    const { by, categories, confidence, postProcess } = this.shown;
    return { by, categories, confidence, ...(postProcess && { postProcessing: postProcess.kind }) };
  }

  protected reading(reading: Reading): string {
    const { total, count, share } = this.histogramOf(reading.estimates);
    const consistent = this.consistent[this.numConsistent++];
    const { categories } = this.shown;
    if (this.json) {
      const each = categories.map((category, j) => ({
        category,
        count: count[j]!,
        share: share[j]!,
        ...(consistent && { consistent: consistent.count[j]! }),
      }));
      return this.objectOf(reading, { total, categories: each });
    }
    const lines = categories.map((category, j) => {
      const cells = [count[j]!, share[j]!, total].flatMap(cellsOf);
      const last = consistent ? [consistent.count[j]!] : [];
      return this.text.line([...this.firstCells(reading), category, ...cells, ...last]);
    });
    return lines.join('');
  }

  private histogramOf(estimates: Reading['estimates']): Histogram {
    const num = this.shown.categories.length;
    const [total, ...rest] = estimates;
    return { total: total!, count: rest.slice(0, num), share: rest.slice(num) };
  }

  private async writeKept({ apply }: PostProcess): Promise<void> {
    const kept = this.kept.splice(0);
    const width = this.numbersOfAStep;
    const histograms = kept.flatMap(({ released: { noisy } }) =>
      Array.from({ length: noisy.length / width }, (_, t) =>
        this.histogramOf(estimatesOf(noisy.subarray(t * width, (t + 1) * width))),
      ),
    );
    this.consistent = apply(histograms);
    this.numConsistent = 0;
    for (const { released, totals } of kept) await super.steps(released, totals);
  }
}
