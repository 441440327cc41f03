// SPDX-License-Identifier: Apache-2.0

// Handles signals that end a run, after finishing and reporting what cannot be undone.

export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Thrown to end a run cleanly after a signal; the process is then terminated by that signal. */
export class Interrupted extends Error {
  readonly code = 'interrupted';
  /** Whether the message must be printed, because something happened that cannot be undone. */
  mustBeSaid = false;

  constructor(readonly signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
  }
}

/** Ends the run between two operations at the first signal, and immediately at the second. */
export class Interruption {
  private caught: Interrupted | undefined;
  private interrupt!: (error: Interrupted) => void;
  private readonly signalled = new Promise<never>((_, reject) => (this.interrupt = reject));

  constructor() {
    this.signalled.catch(() => undefined); // Avoids an unhandled rejection if nothing awaits it.
    for (const signal of SIGNALS) process.on(signal, this.onSignal);
  }

  /** @throws Interrupted after a signal. */
  check(): void {
    if (this.caught) throw this.caught;
  }

  /** Yields the items until a signal arrives, which also ends the wait for the next item. */
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
