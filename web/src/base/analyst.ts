// SPDX-License-Identifier: Apache-2.0

// A second instance of the library in a separate worker, started lazily, so that a long analysis
// does not hold up a simulation.

import { startEngine, type Engine } from './engine.ts';

export class Analyst {
  private starting: Promise<Engine> | null = null;

  /** Returns the engine; a worker that failed to start is retried on the next call. */
  engine(): Promise<Engine> {
    this.starting ??= startEngine().catch((error: unknown) => {
      this.starting = null;
      throw error;
    });
    return this.starting;
  }
}
