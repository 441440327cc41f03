// SPDX-License-Identifier: Apache-2.0

// One day in a shop, counted by several mechanisms: the same people, the same privacy.

import type { MechanismName, SimulationChunk, SimulationOptions } from 'dp-ftrl';

/** Privacy parameters of the whole story, unless the user changes them. */
export const privacy = { epsilon: 1, delta: 1e-6 } as const;
/** Number of people who pass the shop, each of whom is one step. */
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

export interface Lane extends Stop {
  readonly release: Float64Array;
  /** Two standard deviations of the noise after each person. */
  readonly band: Float64Array;
  /** Largest value of `band`. */
  readonly worst: number;
}

export interface Day {
  /** Who came in: 1 or 0 for each passer-by. */
  readonly came: Float64Array;
  /** Number of people who have come in after each passer-by. */
  readonly truth: Float64Array;
  readonly lanes: readonly Lane[];
}

/** The library, on this thread or in a worker. */
export interface Simulator {
  readonly study: {
    simulation(options: SimulationOptions): Result<{
      advance(maxSteps: number): Result<SimulationChunk>;
      dispose(): void;
    }>;
  };
}
type Result<T> = T | Promise<T>;

/** Returns who came in: 1 or 0 for each passer-by, with a morning, a noon and an evening rush. */
function passersBy(): Float64Array {
  let state = 20_240_229;
  // Marsaglia's xorshift32; never for noise.
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

/** Returns the running total of who came in. */
function totalsOf(came: Float64Array): Float64Array {
  let total = 0;
  return came.map((one) => (total += one));
}

/** Returns the day from what the build has stored of it. */
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
  const lanes: Lane[] = [];
  for (const stop of stops) {
    const simulation = await library.study.simulation({
      ...privacy,
      mechanism: stop.mechanism,
      numSteps: numPeople,
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
