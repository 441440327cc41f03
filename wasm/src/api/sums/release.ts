// SPDX-License-Identifier: Apache-2.0

// Totals that say which step they are of. The facts are not enumerable, so that the arrays print
// and compare as their numbers alone.

import type { Release, Releases } from '../../types/all.js';

export function asRelease(total: Float64Array, step: number, stddev: number): Release {
  Object.defineProperty(total, 'step', { value: step });
  return Object.defineProperty(total, 'stddev', { value: stddev }) as Release;
}

export function asReleases(totals: Float64Array, firstStep: number): Releases {
  return Object.defineProperty(totals, 'firstStep', { value: firstStep }) as Releases;
}
