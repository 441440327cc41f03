// SPDX-License-Identifier: Apache-2.0

// Totals that say which step they are of. The facts are not enumerable, so that the arrays print
// and compare as their numbers alone.

import type { Release } from '../../types/all.js';

export function withFacts<F extends object>(values: Float64Array, facts: F): Float64Array & Readonly<F> {
  for (const [name, value] of Object.entries(facts)) Object.defineProperty(values, name, { value });
  return values as Float64Array & F;
}

export function asRelease(total: Float64Array, step: number, stddev: number): Release {
  return withFacts(total, { step, stddev });
}
