// SPDX-License-Identifier: Apache-2.0

// Statistics without noise, of the records so far or of a window. They are secret.

/** Records by step: those of step t are `starts[t]` to before `starts[t + 1]`. */
export interface Steps {
  starts: readonly number[];
  /** Number of latest steps whose records count. */
  window: number;
}

/** Returns for each step the sum of `valueOf` over the records that count. */
function windowed({ starts, window }: Steps, valueOf: (record: number) => number): Float64Array {
  const numSteps = starts.length - 1;
  const before = new Float64Array(starts[numSteps]! + 1);
  for (let i = 1; i < before.length; ++i) before[i] = before[i - 1]! + valueOf(i - 1);
  return Float64Array.from({ length: numSteps }, (_, step) => {
    const first = starts[Math.max(0, step + 1 - window)]!;
    return before[starts[step + 1]!]! - before[first]!;
  });
}

export interface TrueMoments {
  count: Float64Array;
  /** NaN if no record counts. */
  mean: Float64Array;
  standardDeviation: Float64Array;
}

/**
 * Returns moments without noise. `centre` is a number near the values, so that their squares lose
 * no digits.
 */
export function trueMoments(steps: Steps, values: Float64Array, centre: number): TrueMoments {
  const count = windowed(steps, () => 1);
  const sums = windowed(steps, (i) => values[i]! - centre);
  const squares = windowed(steps, (i) => (values[i]! - centre) ** 2);
  const mean = sums.map((sum, step) => centre + sum / count[step]!);
  const spread = squares.map((sum, step) => {
    const offset = sums[step]! / count[step]!;
    return Math.sqrt(Math.max(0, sum / count[step]! - offset ** 2));
  });
  return { count, mean, standardDeviation: spread };
}

/** Returns the counts of each category, in their order. */
export function trueCounts(
  steps: Steps,
  names: readonly string[],
  categories: readonly string[],
): Float64Array[] {
  return categories.map((category) => windowed(steps, (i) => Number(names[i] === category)));
}
