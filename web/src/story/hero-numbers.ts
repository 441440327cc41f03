// SPDX-License-Identifier: Apache-2.0

// One day in a shop, counted by several mechanisms, with the same people and the same privacy.

import type { MechanismName, SimulationChunk, SimulationOptions } from 'dp-ftrl';

/** Privacy parameters of the whole story, unless the user changes them. */
export const privacy = { epsilon: 1, delta: 1e-6 } as const;
/** Values of epsilon at which the reader can play the attacker. */
export const epsilons: readonly number[] = [
  0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10,
];
/** Number of passers-by, one per step. */
export const numPeople = 1024;

export interface Stop {
  readonly mechanism: MechanismName;
  readonly name: string;
  /** The noise in words. */
  readonly noise: string;
}

/** Mechanisms from the worst to the best. */
const stops: readonly Stop[] = [
  { mechanism: 'independent', name: 'fresh', noise: 'fresh noise' },
  { mechanism: 'tree', name: 'tree', noise: 'noise on blocks' },
  { mechanism: 'square-root', name: 'square root', noise: 'noise that cancels itself' },
  { mechanism: 'optimal', name: 'optimal', noise: 'noise that cancels itself' },
];

export interface HeroLane extends Stop {
  readonly release: Float64Array;
  /** Two standard deviations of the noise after each person. */
  readonly band: Float64Array;
  /** Largest value of `band`. */
  readonly worst: number;
}

export interface Day {
  /** For each passer-by, 1 if they came in, otherwise 0. */
  readonly came: Float64Array;
  /** Number of people who have come in, after each passer-by. */
  readonly truth: Float64Array;
  readonly lanes: readonly HeroLane[];
}

/** The library, on this thread or in a worker. */
export interface Simulator {
  readonly study: {
    simulation(options: SimulationOptions): MaybePromise<{
      advance(maxSteps: number): MaybePromise<SimulationChunk>;
      dispose(): void;
    }>;
  };
}
type MaybePromise<T> = T | Promise<T>;

/** 1 or 0 for each passer-by, with a morning, a noon and an evening rush. */
function passersBy(): Float64Array {
  let state = 20_240_229;
  // Marsaglia's xorshift32; never used for noise.
  const uniform = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const rush = (part: number, centre: number, width: number): number =>
    Math.max(0, 1 - ((part - centre) / width) ** 2);
  return Float64Array.from({ length: numPeople }, (_, i) => {
    const part = i / numPeople;
    const rate =
      0.22 +
      0.5 * rush(part, 0.15, 0.1) +
      0.55 * rush(part, 0.48, 0.13) +
      0.6 * rush(part, 0.82, 0.1);
    return uniform() < rate ? 1 : 0;
  });
}

function totalsOf(came: Float64Array): Float64Array {
  let total = 0;
  return came.map((one) => (total += one));
}

/** Reads the day from the table that the build stored. */
export function storedDay(
  came: string,
  lanes: readonly { noise: number[]; band: number[]; worst: number }[],
): Day {
  const values = Float64Array.from(came, Number);
  const truth = totalsOf(values);
  return {
    came: values,
    truth,
    lanes: lanes.map(({ noise, band, worst }, i) => ({
      ...stops[i]!,
      release: truth.map((total, step) => total + noise[step]!),
      band: Float64Array.from(band),
      worst,
    })),
  };
}

/** Counts the day with every mechanism. */
export async function countDay(library: Simulator, noiseSeed = 1): Promise<Day> {
  const values = passersBy();
  const lanes: HeroLane[] = [];
  for (const stop of stops) {
    const simulation = await library.study.simulation({
      ...privacy,
      strategy: stop.mechanism,
      steps: numPeople,
      table: { numRows: numPeople, numColumns: 1, values },
      noiseSeed,
    });
    const chunk = await simulation.advance(numPeople);
    simulation.dispose();
    const band = chunk.stddev.map((stddev) => 2 * stddev);
    lanes.push({ ...stop, release: chunk.noisySums, band, worst: Math.max(...band) });
  }
  return { came: values, truth: totalsOf(values), lanes };
}
