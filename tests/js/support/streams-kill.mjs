// SPDX-License-Identifier: Apache-2.0

// The records of streams whose processes are killed.

export const RECORDS_A_STEP = 3;

/** Returns the arguments of record number i. */
export function recordOf(kind, { people }, i) {
  const record = { counter: i % 4, histogram: ['tea', 'coffee'][i % 2] }[kind];
  return people ? [`person ${(7 * i) % 11}`, record] : [record];
}
