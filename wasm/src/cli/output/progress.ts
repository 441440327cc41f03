// SPDX-License-Identifier: Apache-2.0

// Progress line for work longer than a second, if standard error is a terminal. A separate thread
// draws the line, because one piece of a search can block the main thread for many seconds.

import { Worker } from 'node:worker_threads';
import { foundFirst, type Pieces } from '../../api/searches.js';
import type { CallProgress, DpFtrl } from '../../types/all.js';

/** Data shared by both threads. */
interface ProgressState {
  /**
   * Flags: owner of the terminal (0: none, 1: the drawing thread, 2: drawing is over); whether the
   * work has ended; whether anything was drawn.
   */
  flags: Int32Array<SharedArrayBuffer>;
  /** Number of iterations, and the completed fraction of the work. */
  numbers: Float64Array<SharedArrayBuffer>;
  what: string;
  unit: string;
  /** Milliseconds from the start of the command to the start of the work. */
  elapsed: number;
}

/**
 * Main function of the drawing thread. It is run from its source text, so it can use only
 * `workerData`.
 */
function draw(): void {
  const { workerData } = process.getBuiltinModule('node:worker_threads');
  const { writeSync } = process.getBuiltinModule('node:fs');
  const { flags, numbers, what, unit, elapsed } = workerData as ProgressState;
  const width = 30;
  const start = performance.now() - elapsed;
  // Draws after one second, then four times a second, until the work has ended.
  let wait = Math.max(0, 1000 - elapsed);
  for (; Atomics.wait(flags, 1, 0, wait) === 'timed-out'; wait = 250) {
    const [iterations = 0, fraction = 0] = numbers;
    const done = Math.floor(width * fraction);
    const bar = `[${'#'.repeat(done)}${'.'.repeat(width - done)}]`;
    const seconds = `${Math.round((performance.now() - start) / 1000)} s`;
    const where = iterations > 0 ? `${bar} ${iterations} ${unit}, ${seconds}` : seconds;
    if (Atomics.compareExchange(flags, 0, 0, 1) !== 0) return;
    try {
      writeSync(2, `\r\x1b[K${what} ${where}`);
      flags[2] = 1;
    } catch {
      // The terminal is blocked or closed.
    }
    Atomics.store(flags, 0, 0);
    Atomics.notify(flags, 0);
  }
}

export class ProgressLine {
  private readonly flags = new Int32Array(new SharedArrayBuffer(12));
  private readonly numbers = new Float64Array(new SharedArrayBuffer(16));

  constructor(what: string, unit = 'iterations') {
    if (!process.stderr.isTTY) return;
    const { flags, numbers } = this;
    const workerData: ProgressState = { flags, numbers, what, unit, elapsed: performance.now() };
    const thread = new Worker(`(${draw})()`, { eval: true, workerData });
    thread.on('error', () => {}); // The command also works without the progress line.
    thread.unref();
  }

  update({ iterations = 0, fraction }: CallProgress): void {
    this.numbers.set([iterations, fraction]);
  }

  /** Clears the line and stops drawing. */
  end(): void {
    const { flags } = this;
    Atomics.store(flags, 1, 1);
    Atomics.notify(flags, 1);
    while (Atomics.compareExchange(flags, 0, 0, 2) === 1) Atomics.wait(flags, 0, 1);
    if (flags[2] === 1) process.stderr.write('\r\x1b[K');
    flags[2] = 0;
  }
}

/** Runs all pieces while showing progress; signals are handled between pieces. */
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

/**
 * Searches for the parameters of a mechanism in advance, and shows the progress of a long search.
 */
export function findFirst<Options extends object>(
  dp: DpFtrl,
  how: Options,
  what: string,
): Promise<Options> {
  return watch(foundFirst(dp, how), new ProgressLine(what));
}
