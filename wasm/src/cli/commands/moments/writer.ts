// SPDX-License-Identifier: Apache-2.0

// Moments as text: a row a step.

import type { Totals } from '../../../types/all.js';
import type { Format } from '../../input/format.js';
import type { Released, Step } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { warn } from '../../output/notices.js';
import { RowText } from '../../output/row-text.js';
import { StepWriter } from '../release/step-writer.js';
import { ESTIMATE, estimatesOf } from './totals.js';

interface Shown {
  json: boolean;
  format: Format;
  timeColumn: string | undefined;
  columns: string[];
  covariance: boolean;
  confidence: number;
}

/** Names of the cells of an estimate: `age_mean`, `age_mean_low`, `age_mean_high`. */
function namesOf([kind, ...columns]: readonly string[]): string[] {
  const name = [...columns, kind].join('_');
  return [name, `${name}_low`, `${name}_high`];
}

type Tree = { [name: string]: Tree | number };

/** Puts an estimate where its kind and columns say: `{mean: {age: {value, ...}}}`. */
function put(tree: Tree, [name, ...rest]: readonly string[], estimate: Tree): void {
  if (rest.length === 0) tree[name!] = estimate;
  else put((tree[name!] ??= {}) as Tree, rest, estimate);
}

export class MomentsWriter extends StepWriter {
  private readonly estimates: string[][];
  /** Lower end of the interval of the last count. */
  private lowestCount: number | undefined;

  constructor(
    sink: Sink,
    private readonly shown: Shown,
  ) {
    const { columns, covariance, timeColumn, format, json } = shown;
    const estimates = estimatesOf(columns, covariance);
    const times = timeColumn === undefined ? [] : [timeColumn];
    super(sink, new RowText(['step', ...times, ...estimates.flatMap(namesOf)], format), json);
    this.estimates = estimates;
  }

  /** Rows are as long as all estimates. */
  override steps(released: Released, totals: Pick<Totals, 'stddev'>): Promise<Error | undefined> {
    const dimension = this.estimates.length * ESTIMATE.length;
    return super.steps(released, { dimension, stddev: (step) => totals.stddev(step) });
  }

  override async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    await super.end(fault, about);
    if (this.lowestCount !== 0) return;
    const what = 'after the last step the interval of the count reaches 0';
    const advice = 'a larger --epsilon or more rows would tell more';
    warn('moments', `the noise hides nearly everything: ${what}; ${advice}`);
  }

  protected facts() {
    const { columns, confidence } = this.shown;
    return { columns, confidence };
  }

  protected step({ index, time, noisy }: Step): string {
    const step = index + 1;
    const all = this.estimates.map((_, i) =>
      Array.from(noisy.subarray(i * ESTIMATE.length, (i + 1) * ESTIMATE.length)),
    );
    this.lowestCount = all[0]![1];
    if (!this.json) {
      const times = time === undefined ? [] : [time];
      return this.text.line([step, ...times, ...all.flatMap((numbers) => numbers.slice(0, 3))]);
    }
    const tree: Tree = {};
    this.estimates.forEach((path, i) => {
      put(tree, path, Object.fromEntries(ESTIMATE.map((name, k) => [name, all[i]![k]!])));
    });
    return this.object({ step, ...(time && { time }), ...tree });
  }
}
