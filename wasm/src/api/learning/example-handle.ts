// SPDX-License-Identifier: Apache-2.0

// Handles that take batches of examples: twins and comparators.

import { Scratch } from '../../core/check.js';
import { atRow, type PartialError } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { requireLength } from '../options.js';

export abstract class ExampleHandle extends CoreHandle {
  private readonly features = new Scratch();
  private readonly labels = new Scratch();

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

  /** Runs `call`. If the core throws, the error names the example at fault. */
  protected numbered(where: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      const failed = error as PartialError;
      if (typeof failed?.released !== 'number') throw error;
      throw atRow(failed, where, { kind: 'example', width: this.dimension });
    }
  }
}
