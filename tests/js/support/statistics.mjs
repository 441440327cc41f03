// SPDX-License-Identifier: Apache-2.0

// Statistics that are disposed of.

import assert from 'node:assert/strict';

/** Calls `use` with the statistic, and returns what it returns. */
export function using(dp, options, use) {
  const statistic = dp.statistic(options);
  try {
    return use(statistic);
  } finally {
    statistic.dispose();
    assert.ok(statistic.disposed);
  }
}
