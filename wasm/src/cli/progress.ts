// SPDX-License-Identifier: Apache-2.0

// One line on standard error for what takes longer than a second; only for a terminal.

import type { OptimizeProgress } from '../types.js';

const WIDTH = 30;
const PATIENCE_MILLISECONDS = 1000;
const INTERVAL_MILLISECONDS = 250;

export class ProgressLine {
  private readonly start = performance.now();
  private readonly timer: NodeJS.Timeout | undefined;
  private latest: OptimizeProgress = { iterations: 0, fraction: 0 };
  private shown = false;

  constructor(private readonly what: string) {
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
    const where = iterations > 0 ? `${bar} ${iterations} iterations, ${seconds}` : seconds;
    process.stderr.write(`\r\x1b[K${this.what} ${where}`);
  }
}
