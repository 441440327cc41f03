// SPDX-License-Identifier: Apache-2.0

// Warnings about weak guarantees. They depend only on public numbers.

import { warn } from './notices.js';

const MOST_EPSILON = 20;
const MOST_DELTA = 1e-3;

/** Public number of rows or users. */
export interface PublicCount {
  count: number;
  /** Plural noun, such as 'rows'. */
  units: string;
}

/** Warns if epsilon or delta is too large to be meaningful. */
export function warnWeak(
  command: string,
  { epsilon, delta = 0 }: { epsilon: number; delta?: number },
  known?: PublicCount,
): void {
  if (epsilon > MOST_EPSILON) {
    const what = `one row may make an output e^${epsilon} times as likely`;
    warn(
      command,
      `--epsilon ${epsilon} is above ${MOST_EPSILON} and promises next to nothing: ${what}`,
    );
  }
  if (delta > MOST_DELTA) {
    const what = `publishing each row in full with probability ${delta} would keep that promise`;
    warn(command, `--delta ${delta} is above ${MOST_DELTA}: ${what}`);
  }
  if (known && delta > 1 / known.count) {
    const { count, units } = known;
    const what = `publishing one of the ${units} in full would keep that promise`;
    warn(command, `--delta ${delta} is above 1/n for n = ${count} ${units}: ${what}`);
  }
}
