// SPDX-License-Identifier: Apache-2.0

// Progress of a long release, on a terminal that does not show the results.

const INTERVAL_MS = 200;

/** Line on standard error that is overwritten in place; shown only on a terminal. */
export class StepProgress {
  private last = performance.now();
  private shown = false;
  private readonly quiet: boolean;

  constructor(
    private readonly numSteps: number,
    options: { quiet: boolean },
  ) {
    // Results on the same terminal already show progress.
    const useless = !process.stderr.isTTY || process.stdout.isTTY === true;
    this.quiet = options.quiet || useless;
  }

  /** Shows the number of steps, which is public; the number of rows may not be. */
  report(step: number): void {
    const now = performance.now();
    if (this.quiet || now - this.last < INTERVAL_MS) return;
    this.last = now;
    this.shown = true;
    const percent = Math.floor((100 * step) / this.numSteps);
    process.stderr.write(`\r\x1b[Kstep ${step} of ${this.numSteps} (${percent} %)`);
  }

  /** Removes the line. */
  end(): void {
    if (this.shown) process.stderr.write('\r\x1b[K');
    this.shown = false;
  }
}
