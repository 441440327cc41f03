// SPDX-License-Identifier: Apache-2.0

// Writes histograms as text, with one row per step and category.

import type { ConsistentCounts, Estimate, Histogram } from '../../../types/streams/readings.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import {
  cellNames,
  cellsOf,
  ReadingWriter,
  type OutputSettings,
} from '../stream/reading-writer.js';

type HistogramReading = Histogram<string>;

interface PostProcess {
  kind: 'non-negative' | 'monotone';
  apply(readings: readonly HistogramReading[]): ConsistentCounts<string>[];
}

interface HistogramOutput extends OutputSettings {
  /** Column of the categories, and the categories. */
  by: string;
  categories: readonly string[];
  confidence: number;
  postProcess: PostProcess | undefined;
}

export class HistogramWriter extends ReadingWriter<HistogramReading> {
  /** Steps kept until they can be post-processed. */
  private readonly kept: ReleasedStep<HistogramReading>[] = [];
  /** Post-processed counts of the steps that are written next. */
  private consistent: ConsistentCounts<string>[] = [];
  private numConsistent = 0;

  constructor(
    sink: Sink,
    private readonly shown: HistogramOutput,
  ) {
    const { by, postProcess } = shown;
    const names = [by, ...['count', 'share', 'total'].flatMap(cellNames)];
    if (postProcess) names.push(`count_${postProcess.kind.replace('-', '_')}`);
    super(sink, { command: 'histogram', all: 'total' }, shown, names);
  }

  /** Writes the steps, or keeps them if their post-processing depends on later ones. */
  override async steps(steps: readonly ReleasedStep<HistogramReading>[]): Promise<void> {
    const { postProcess } = this.shown;
    if (postProcess === undefined) return super.steps(steps);
    for (const step of steps) this.kept.push(step);
    if (postProcess.kind === 'non-negative') await this.writeKept(postProcess);
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

  protected countOf({ total }: HistogramReading): Estimate {
    return total;
  }

  protected reading(step: ReleasedStep<HistogramReading>): string {
    const { total, count, share } = step.reading;
    const consistent = this.consistent[this.numConsistent++];
    const { categories } = this.shown;
    if (this.json) {
      const each = categories.map((category) => ({
        category,
        count: count[category]!,
        share: share[category]!,
        ...(consistent && { consistent: consistent.count[category]! }),
      }));
      return this.objectOf(step, { total, categories: each });
    }
    const lines = categories.map((category) => {
      const cells = [count[category]!, share[category]!, total].flatMap(cellsOf);
      const last = consistent ? [consistent.count[category]!] : [];
      return this.text.line([...this.firstCells(step), category, ...cells, ...last]);
    });
    return lines.join('');
  }

  private async writeKept({ apply }: PostProcess): Promise<void> {
    const kept = this.kept.splice(0);
    this.consistent = apply(kept.map(({ reading }) => reading));
    this.numConsistent = 0;
    await super.steps(kept);
  }
}
