// SPDX-License-Identifier: Apache-2.0

// Handles that take batches of examples: learners, twins and comparators.

import { overwrite, Scratch, writableLength } from '../../core/check.js';
import { atRow, type Partway } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { requireLength } from '../options.js';

/** Examples as given, and the array for their scores from before the labels were known. */
interface Scored {
  features: unknown;
  labels: unknown;
  predictions: Float64Array | undefined;
}

export abstract class ExampleHandle extends CoreHandle {
  private readonly features = new Scratch();
  private readonly labels = new Scratch();
  private readonly scores = new Scratch();

  constructor(
    instance: Instance,
    id: number,
    kind: string,
    readonly dimension: number,
    readonly numScores: number,
  ) {
    super(instance, id, kind);
  }

  protected read(where: string, features: unknown, labels: unknown) {
    const known = this.labels.copy(where, 'labels', labels);
    const rows = this.features.copy(where, 'features', features);
    requireLength(where, 'features', rows.length, known.length * this.dimension);
    return { rows, known };
  }

  /**
   * Calls `learn` with copies of the examples and an array for their scores, and returns the
   * scores.
   */
  protected scoring(
    { features, labels, predictions }: Scored,
    learn: (rows: Float64Array, labels: Float64Array, scores: Float64Array) => void,
  ): void {
    const where = 'learn';
    const { rows, known } = this.read(where, features, labels);
    const numScores = known.length * this.numScores;
    if (predictions !== undefined) {
      const length = writableLength(where, 'predictions', predictions);
      requireLength(where, 'predictions', length, numScores);
    }
    const scores = this.scores.array(where, 'predictions', numScores);
    learn(rows, known, scores);
    if (predictions !== undefined) overwrite(predictions, scores);
  }

  /** Makes a call. An error of the core names the example it is about, counted from `first`. */
  protected numbered(where: string, call: () => void, first = 0): void {
    try {
      call();
    } catch (error) {
      const failed = error as Partway & { learned?: number };
      if (typeof failed?.released !== 'number') {
        // The caller's loss failed, or returned something wrong: none of these examples was learned
        // from.
        if (error instanceof Error) failed.learned = first;
        throw error;
      }
      const examples = { kind: 'example', width: this.dimension, first } as const;
      const refused = atRow(failed, where, examples);
      throw Object.assign(refused, { learned: refused.row!.index });
    }
  }
}
