// SPDX-License-Identifier: Apache-2.0

// Prepares runs one at a time. A newer request replaces earlier requests, even one in progress.

import type { Strategies } from '../controls/strategies.ts';
import type { SearchBar } from '../controls/search-bar.ts';
import type { Settings } from '../controls/settings.ts';
import { problemOf } from '../controls/workload.ts';
import type { StepRecords } from '../data/contributions.ts';
import type { Engine } from '../base/engine.ts';
import { LaneError, Run } from './run.ts';

/** A requested run, the step to which it is advanced at once, and whether it plays from there. */
export interface RunRequest {
  settings: Settings;
  /** Records to sum; null for a synthetic stream. */
  records: StepRecords | null;
  step: number;
  playing: boolean;
}

export interface RunsEvents {
  /** Called when the preparation of runs begins or ends. */
  busy(isBusy: boolean): void;
  made(run: Run, request: RunRequest): void;
  failed(error: unknown): void;
  /** Called when a search was cancelled and no other run was requested. */
  givenUp(): void;
}

function isAbort(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return error instanceof LaneError && cause instanceof DOMException && cause.name === 'AbortError';
}

export class Runs {
  private next: RunRequest | null = null;
  /** Latest request, kept while its run is prepared. */
  private latest: RunRequest | null = null;
  private working = false;

  constructor(
    private readonly engine: Engine,
    private readonly strategies: Strategies,
    private readonly searchBar: SearchBar,
    private readonly events: RunsEvents,
  ) {}

  start(request: RunRequest): void {
    this.next = request;
    this.latest = request;
    this.searchBar.cancel();
    if (!this.working) void this.work();
  }

  /** Abandons the run being prepared. */
  abandon(): void {
    this.next = null;
    this.latest = null;
    this.searchBar.cancel();
  }

  private async work(): Promise<void> {
    this.working = true;
    this.events.busy(true);
    while (this.next !== null) {
      const request = this.next;
      this.next = null;
      try {
        const run = await this.make(request);
        if (this.latest === request) this.events.made(run, request);
        else run.dispose();
      } catch (error) {
        if (this.latest !== request) continue;
        if (isAbort(error)) this.events.givenUp();
        else this.events.failed(error);
      }
    }
    this.working = false;
    this.events.busy(false);
  }

  private async make(request: RunRequest): Promise<Run> {
    const { settings, records, step } = request;
    const { numSteps } = settings;
    const run = await Run.create(this.engine, settings, records, (choice) =>
      this.searchBar.watch({ mechanism: choice.mechanism, numSteps }, (options) =>
        this.strategies.find(choice, problemOf(settings), options),
      ),
    );
    try {
      const target = Math.min(step, run.numSteps);
      while (run.step < target && this.latest === request) await run.advance(target - run.step);
    } catch (error) {
      run.dispose();
      throw error;
    }
    return run;
  }
}
