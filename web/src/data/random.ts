// SPDX-License-Identifier: Apache-2.0

/**
 * Uniform numbers in [0, 1) for records and shuffles: Marsaglia's xorshift32. Never used for noise.
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

/** Seed that nobody can guess, for the noise of the user's own data. */
export function randomSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  return (high >>> 12) * 2 ** 32 + low; // Stays below 2^53 when the page adds small numbers.
}

/** Shuffles a list in place (Fisher-Yates). */
export function shuffle<T>(list: T[], random: () => number): T[] {
  for (let i = list.length - 1; i > 0; --i) {
    const j = Math.floor((i + 1) * random());
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}
