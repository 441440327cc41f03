// SPDX-License-Identifier: Apache-2.0

// The algorithm of a learner, and its name in certificates.

import { outOfRange, type Reader } from '../../core/check.js';
import type { CoreMechanism } from '../../core/core.js';
import { counted } from '../../shared/counted.js';

export const ALGORITHMS = ['auto', 'dp-ftrl', 'dp-gd'] as const;

/** Gradient descent with the rate 1 / lambda at every step. */
const PLAIN = { rates: undefined, momentum: 0, throughWorkload: false };

/** Reads the algorithm, and completes the options of descent; undefined for DP-FTRL. */
export function descentOf(
  reader: Reader,
  descent: (Omit<typeof PLAIN, 'rates'> & { rates: Float64Array | undefined }) | undefined,
): typeof descent {
  const algorithm = reader.oneOfOr('algorithm', ALGORITHMS);
  if (algorithm === 'dp-gd') return descent ?? PLAIN;
  if (algorithm === 'auto' || descent === undefined) return descent;
  const { where } = reader;
  throw outOfRange(where, 'descent', "left out with the {algorithm} 'dp-ftrl'", 'an object');
}

/** Names an algorithm, its passes over the rows and its mechanism. */
export function algorithmText(
  { strategy, participation }: Pick<CoreMechanism, 'strategy' | 'participation'>,
  isDescent: boolean,
): string {
  const { kind, times } = participation;
  const passes = kind === 'fixed-epoch' ? times : 1;
  return [
    isDescent ? 'private gradient descent' : 'DP-FTRL',
    passes === 1 ? 'one pass' : counted(passes, 'pass', 'passes'),
    // Gradient descent has independent noise unless another mechanism is named.
    ...(isDescent && strategy === 'independent' ? [] : [strategy]),
  ].join(', ');
}
