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
