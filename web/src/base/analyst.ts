// SPDX-License-Identifier: Apache-2.0

// A second instance of the library in a separate worker, started lazily, so that a long analysis
// does not hold up a simulation.

import { startEngine, type Engine } from './engine.ts';

export class Analyst {
  private starting: Promise<Engine> | null = null;

  /**
   * Starts the engine, or returns the one already started. After a failed start, the next call
   * tries again.
   */
  engine(): Promise<Engine> {
    this.starting ??= startEngine().catch((error: unknown) => {
      this.starting = null;
      throw error;
    });
    return this.starting;
  }
}
