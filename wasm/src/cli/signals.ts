// SPDX-License-Identifier: Apache-2.0

// Signals that end a run: what cannot be taken back is finished and said first.

export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Thrown where a signal ends a run in good order; the process still dies of the signal. */
export class Interrupted extends Error {
  readonly code = 'interrupted';
  /** Whether something happened that cannot be taken back. */
  mustBeSaid = false;

  constructor(readonly signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
  }
}

/** The first signal ends the run between two operations, a second one at once. */
export class Interruption {
  private caught: Interrupted | undefined;
  private interrupt!: (error: Interrupted) => void;
  private readonly signalled = new Promise<never>((_, reject) => (this.interrupt = reject));

  constructor() {
    this.signalled.catch(() => undefined); // Possibly nothing awaits it.
    for (const signal of SIGNALS) process.on(signal, this.onSignal);
  }

  /** @throws Interrupted after a signal. */
  check(): void {
    if (this.caught) throw this.caught;
  }

  /** Passes on the items until a signal comes: waiting for the next one is given up. */
  async *of<T>(items: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T> {
    const each = (async function* () {
      yield* items;
    })();
    for (;;) {
      this.check();
      const next = await Promise.race([each.next(), this.signalled]);
      if (next.done) return;
      yield next.value;
    }
  }

  end(): void {
    for (const signal of SIGNALS) process.off(signal, this.onSignal);
  }

  private readonly onSignal = (signal: NodeJS.Signals): void => {
    this.end();
    this.caught = new Interrupted(signal);
    this.interrupt(this.caught);
  };
}
