// SPDX-License-Identifier: Apache-2.0

// Writes counts of active people as text, with negative counts as 0.

import type { ActiveCounts, Estimate } from '../../../types/streams/readings.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import {
  cellNames,
  cellsOf,
  ReadingWriter,
  type OutputSettings,
} from '../stream/reading-writer.js';

type Reading = ActiveCounts<string>;

/** Number of steps of each window, by its name. */
export type Windows = Readonly<Record<string, number>>;

interface ShownActive extends OutputSettings {
  windows: Windows;
  confidence: number;
}

/** Clamps an estimate at 0 people. Its standard deviation may then be smaller than `stddev`. */
export function clamped({ value, low, high, stddev }: Estimate): Estimate {
  const [least, own, most] = [low, value, high].map((it) => Math.max(it, 0));
  return { value: own!, low: least!, high: most!, stddev };
}

export class ActiveWriter extends ReadingWriter<Reading> {
  constructor(
    sink: Sink,
    private readonly shown: ShownActive,
  ) {
    const names = Object.keys(shown.windows).flatMap((name) => [...cellNames(name), `${name}_std`]);
    super(sink, { command: 'active', all: 'count' }, shown, names);
  }

  protected facts() {
    const { windows, confidence } = this.shown;
    return { windows, confidence };
  }

  /** The count of the longest window, which is the largest. */
  protected countOf({ active }: Reading): Estimate {
    const { windows } = this.shown;
    const names = Object.keys(windows);
    return active[names.reduce((one, other) => (windows[other]! > windows[one]! ? other : one))]!;
  }

  protected reading(step: ReleasedStep<Reading>): string {
    const counts = Object.keys(this.shown.windows).map(
      (name) => [name, clamped(step.reading.active[name]!)] as const,
    );
    if (this.json) {
      const rounded = counts.map(([name, { value, low, high, stddev }]) => [
        name,
        { value, low, high, std: stddev },
      ]);
      return this.objectOf(step, Object.fromEntries(rounded));
    }
    const cells = counts.flatMap(([, count]) => [...cellsOf(count), count.stddev]);
    return this.text.line([...this.firstCells(step), ...cells]);
  }
}
