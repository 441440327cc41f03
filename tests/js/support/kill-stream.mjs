// SPDX-License-Identifier: Apache-2.0

// Streams of kill.test.mjs, for the killed processes and for the comparing process.

/** Mechanisms of the ledgers of numbers. */
const sums = {
  totals: { mechanism: 'blt-rational', delta: 1e-6 },
  'pure totals': { pure: true },
  windows: { mechanism: 'blt-rational', delta: 1e-6, workload: { window: 3 } },
  'decaying sums': { mechanism: 'square-root', delta: 1e-6, workload: { decay: 0.75 } },
};
export const SUMS = Object.keys(sums);

/** Options of ledgers of numbers, and of people's. */
export const targetOf = (seed, kind = 'totals') => ({
  ...sums[kind],
  epsilon: 1,
  clipNorm: 1,
  dimension: 2,
  insecureSeed: seed,
});

const categories = ['tea', 'coffee', 'other'];

/** Records of a step: a few drawn ones, or none. */
const some = (draw) => Array.from({ length: 4 * Math.random() }, draw);
const pair = () => [Math.random() - 0.5, Math.random() - 0.5];

/** Statistics with the records of a step, and the estimates of a reading. */
const statistics = {
  histogram: {
    what: { categories },
    draw: () => some(() => categories[Math.floor(3 * Math.random())]),
    estimates: ({ total, count, share }) => [total, ...count, ...share],
  },
  moments: {
    what: {
      ranges: [
        [-0.5, 0.5],
        [0, 0.5],
      ],
      covariance: true,
    },
    draw: () => some(pair).flat(),
    estimates: ({ count, mean, variance, covariance }) => [
      count,
      ...mean,
      ...variance,
      covariance[0][1],
    ],
  },
  sums: {
    what: {
      workloads: ['prefix', { window: 3 }, { decay: 0.5 }],
      dimension: 2,
      importance: [1, 2, 1],
    },
    draw: () => some(pair).flat(),
    estimates: ({ sum }) => sum.flat(),
  },
};
export const STATISTICS = Object.keys(statistics);

/**
 * Options of ledgers of a statistic, a function that draws the records of a step, and all numbers
 * of a reading.
 */
export function statisticOf(statistic, seed) {
  const { mechanism, epsilon, delta, insecureSeed } = targetOf(seed);
  const { what, draw, estimates } = statistics[statistic];
  return {
    options: { statistic, ...what, mechanism, epsilon, delta, insecureSeed },
    draw,
    numbersOf: (reading) =>
      estimates(reading).flatMap(({ value, low, high }) => [value, low, high]),
  };
}

export const VISITS_A_STEP = 5;

/**
 * A person's contribution of two numbers. Many do not count; the last one of a step is by an
 * earlier person.
 */
function visitOf(i) {
  const part = (factor) => ((i * factor) % 101) / 101 - 0.5;
  const first = i % VISITS_A_STEP === VISITS_A_STEP - 1 ? i - 1 : i;
  return { person: `person ${(first * first) % 197}`, numbers: [part(37), part(53)] };
}

/**
 * Ledgers of people: their options (of totals, with `durable`, or of a statistic), the i-th
 * contribution, and all numbers of a release.
 */
export function peopleOf({ durable, statistic, seed }) {
  const participation = { participations: 3, minSeparation: 2 };
  if (statistic === undefined) {
    const workload = durable === 'contribution' ? { window: 3 } : 'prefix';
    return {
      options: { ...targetOf(seed), participation, workload },
      given: (i) => ({ person: visitOf(i).person, record: visitOf(i).numbers }),
      numbersOf: (totals) => [...totals],
    };
  }
  const { options, numbersOf } = statisticOf(statistic, seed);
  const isNamed = statistic === 'histogram';
  return {
    options: { ...options, participation },
    given: (i) => {
      const { person, numbers } = visitOf(i);
      return { person, record: isNamed ? [categories[i % 3]] : numbers };
    },
    numbersOf,
  };
}
