// SPDX-License-Identifier: Apache-2.0

// One line on standard error for what takes longer than a second; only for a terminal.

import type { OptimizeProgress } from '../types.js';
import type { Pieces } from '../searches.js';

const WIDTH = 30;
const PATIENCE_MILLISECONDS = 1000;
const INTERVAL_MILLISECONDS = 250;

export class ProgressLine {
  private readonly start = performance.now();
  private readonly timer: NodeJS.Timeout | undefined;
  private latest: OptimizeProgress = { iterations: 0, fraction: 0 };
  private shown = false;

  constructor(
    private readonly what: string,
    private readonly unit = 'iterations',
  ) {
    if (!process.stderr.isTTY) return;
    this.timer = setInterval(() => this.draw(), INTERVAL_MILLISECONDS);
    this.timer.unref();
  }

  update(progress: OptimizeProgress): void {
    this.latest = progress;
  }

  /** Wipes the line. */
  end(): void {
    clearInterval(this.timer);
    if (this.shown) process.stderr.write('\r\x1b[K');
  }

  private draw(): void {
    const elapsed = performance.now() - this.start;
    if (elapsed < PATIENCE_MILLISECONDS) return;
    this.shown = true;
    const { fraction, iterations } = this.latest;
    const done = Math.floor(WIDTH * fraction);
    const bar = `[${'#'.repeat(done)}${'.'.repeat(WIDTH - done)}]`;
    const seconds = `${Math.round(elapsed / 1000)} s`;
    const where = iterations > 0 ? `${bar} ${iterations} ${this.unit}, ${seconds}` : seconds;
    process.stderr.write(`\r\x1b[K${this.what} ${where}`);
  }
}

/** All of it, with the line in sight; signals are seen between the pieces. */
export async function watch<T>(pieces: Pieces<T>, line: ProgressLine): Promise<T> {
  try {
    for (let piece = pieces.next(); ; piece = pieces.next()) {
      if (piece.done) return piece.value;
      line.update(piece.value);
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    line.end();
  }
}
