// SPDX-License-Identifier: Apache-2.0

// Number of cases that a test runs: `scripts/test all`, which a release passes, sets DPFTRL_ALL to
// run all of them.

const isWhole = process.env.DPFTRL_ALL === '1';

/** Yields all cases with DPFTRL_ALL, else every `oneIn`-th, starting with the first. */
export function* some(cases, oneIn) {
  let index = 0;
  for (const each of cases) if (index++ % oneIn === 0 || isWhole) yield each;
}

/** Returns the size of a case: `whole` with DPFTRL_ALL, else `small`. */
export const sized = (whole, small) => (isWhole ? whole : small);

/** Options of a test that only runs with DPFTRL_ALL. */
export const onlyInAll = isWhole ? {} : { skip: 'only in scripts/test all' };
