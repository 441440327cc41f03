// SPDX-License-Identifier: Apache-2.0

// Extent of the tests: `scripts/test all`, which a release must pass, sets DPFTRL_ALL to run all
// cases.

const isWhole = process.env.DPFTRL_ALL === '1';

/** Yields all cases with DPFTRL_ALL, else every `oneIn`-th, starting with the first. */
export function* some(cases, oneIn) {
  let index = 0;
  for (const each of cases) if (index++ % oneIn === 0 || isWhole) yield each;
}

/** `whole` with DPFTRL_ALL, else `small`. */
export const sized = (whole, small) => (isWhole ? whole : small);

/** Options of a test that only runs with DPFTRL_ALL. */
export const onlyInAll = isWhole ? {} : { skip: 'only in scripts/test all' };
