// SPDX-License-Identifier: Apache-2.0

// The streams of kill.test.mjs, for the processes that are killed and for the one that compares.

/** Options of both kinds of ledgers. */
export const targetOf = (seed) => ({
  mechanism: 'blt-rational',
  epsilon: 1,
  delta: 1e-6,
  clipNorm: 1,
  dimension: 2,
  insecureSeed: seed,
});

const categories = ['tea', 'coffee', 'other'];

/** Options of ledgers of a histogram, whose records are a few categories a step. */
export const histogramOf = (seed) => {
  const { mechanism, epsilon, delta, insecureSeed } = targetOf(seed);
  return { statistic: 'histogram', categories, mechanism, epsilon, delta, insecureSeed };
};
export const someCategories = () =>
  Array.from({ length: 4 * Math.random() }, () => categories[Math.floor(3 * Math.random())]);
/** All numbers of a histogram. */
export const numbersOf = ({ total, count, share }) =>
  [total, ...count, ...share].flatMap(({ value, low, high }) => [value, low, high]);

/** Options of ledgers of people: what is durable, and with it what is released. */
export const peopleOf = (durable) => ({
  participation: { participations: 3, minSeparation: 2 },
  workload: durable === 'contribution' ? { window: 3 } : 'prefix',
});
export const VISITS_A_STEP = 5;

/** The i-th contribution to a ledger of people. Many do not count. */
export function visitOf(i) {
  const part = (factor) => ((i * factor) % 101) / 101 - 0.5;
  return { person: `person ${(i * i) % 197}`, record: [part(37), part(53)] };
}
