// SPDX-License-Identifier: Apache-2.0

// The library once more, in a worker of its own that starts when it is first asked: a long analysis
// keeps no simulation waiting.

import { startEngine, type Engine } from './engine.ts';

export class Analyst {
  private starting: Promise<Engine> | null = null;

  /** A worker that did not start is tried again the next time. */
  engine(): Promise<Engine> {
    this.starting ??= startEngine().catch((error: unknown) => {
      this.starting = null;
      throw error;
    });
    return this.starting;
  }
}
