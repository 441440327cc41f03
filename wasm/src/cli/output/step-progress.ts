// SPDX-License-Identifier: Apache-2.0

// Progress of a long release, for a user at a terminal who sees nothing else.

const INTERVAL_MS = 200;

/** One line on standard error that overwrites itself. Says nothing unless it is a terminal. */
export class StepProgress {
  private last = performance.now();
  private shown = false;
  private readonly quiet: boolean;

  constructor(
    private readonly numSteps: number,
    options: { quiet: boolean },
  ) {
    // Results that go to the same terminal are themselves the progress.
    const useless = !process.stderr.isTTY || process.stdout.isTTY === true;
    this.quiet = options.quiet || useless;
  }

  /** Steps, unlike rows of people, are public. */
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
