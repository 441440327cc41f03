// SPDX-License-Identifier: Apache-2.0

import type { CorePlannerProgress } from '../core/core.js';
import { CoreHandle } from '../core/handle.js';
import type { OptimizeProgress } from '../types/all.js';

/** A search that runs piece by piece. */
export abstract class CoreSearch<Result> extends CoreHandle {
  private state: CorePlannerProgress = { done: false, iterations: 0, fraction: 0 };

  get finished(): boolean {
    return this.state.done;
  }

  get progress(): OptimizeProgress {
    const { iterations, fraction } = this.state;
    return { iterations, fraction };
  }

  advance(): boolean {
    if (!this.finished) this.state = this.step();
    return !this.finished;
  }

  abstract result(): Result;

  protected abstract step(): CorePlannerProgress;
}
