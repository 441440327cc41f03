// SPDX-License-Identifier: Apache-2.0

// Makes runs one after the other. A newer request replaces those before it, also while one is made.

import type { Strategies } from '../controls/strategies.ts';
import type { SearchBar } from '../controls/search_bar.ts';
import type { Settings } from '../controls/settings.ts';
import { problemOf } from '../controls/workload.ts';
import type { Records } from '../data/contributions.ts';
import type { Engine } from './engine.ts';
import { LaneError, Run } from './run.ts';

/** A run that is wanted: a step to go to at once, and whether time then goes on. */
export interface Request {
  settings: Settings;
  /** Null for a synthetic stream. */
  records: Records | null;
  step: number;
  playing: boolean;
}

export interface RunsEvents {
  /** A run is being made, or none is. */
  busy(isBusy: boolean): void;
  made(run: Run, request: Request): void;
  failed(error: unknown): void;
  /** The search was cancelled, and nothing else has been asked for. */
  givenUp(): void;
}

function isAbort(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return error instanceof LaneError && cause instanceof DOMException && cause.name === 'AbortError';
}

export class Runs {
  private next: Request | null = null;
  /** The one that is still wanted, also while it is made. */
  private latest: Request | null = null;
  private working = false;

  constructor(
    private readonly engine: Engine,
    private readonly strategies: Strategies,
    private readonly searchBar: SearchBar,
    private readonly events: RunsEvents,
  ) {}

  start(request: Request): void {
    this.next = request;
    this.latest = request;
    this.searchBar.cancel();
    if (!this.working) void this.work();
  }

  /** Gives up what is being made. */
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

  private async make(request: Request): Promise<Run> {
    const { settings, records, step } = request;
    const { numSteps } = settings;
    const run = await Run.create(this.engine, settings, records, (choice) =>
      this.searchBar.watch({ mechanism: choice.mechanism, numSteps }, (options) =>
        this.strategies.find(choice, { numSteps, ...problemOf(settings) }, options),
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
