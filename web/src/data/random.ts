// SPDX-License-Identifier: Apache-2.0

/**
 * Returns a generator of uniform numbers in [0, 1) for records and shuffles: Marsaglia's
 * xorshift32. Never for noise.
 */
export function generator(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Returns a seed that nobody can guess, for the noise of the user's own data. */
export function randomSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  return (high >>> 12) * 2 ** 32 + low; // The page adds small numbers to it, below 2^53.
}

/** Shuffles a list in place with Fisher and Yates's algorithm. */
export function shuffle<T>(list: T[], random: () => number): T[] {
  for (let i = list.length - 1; i > 0; --i) {
    const j = Math.floor((i + 1) * random());
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}
