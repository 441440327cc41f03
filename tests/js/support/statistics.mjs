// SPDX-License-Identifier: Apache-2.0

// Statistics that are disposed of after use.

import assert from 'node:assert/strict';

/** Calls `use` with the statistic, and returns its result. */
export function using(dp, options, use) {
  const statistic = dp.statistic(options);
  try {
    return use(statistic);
  } finally {
    statistic.dispose();
    assert.ok(statistic.disposed);
  }
}
