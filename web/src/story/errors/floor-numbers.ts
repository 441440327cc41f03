// SPDX-License-Identifier: Apache-2.0

// Errors of a mechanism in which every step mixes the latest draws of noise in the same way. The
// bars g are the first column of the Toeplitz matrix C^-1: the noise of a step is g_0 of a fresh
// draw, g_1 of the draw before it, and so on. Scaling all bars changes nothing, so g_0 = 1.

/** Errors at noise multiplier 1 if each person contributes in one step. */
export interface BarErrors {
  /** Norm of the first column of C, which is the largest column norm. */
  readonly sensitivity: number;
  /** Standard deviation of the noise on the total after each step. */
  readonly stddev: Float64Array;
  /** Largest standard deviation, reached at the last step. */
  readonly worst: number;
  /** Standard deviation of the noise that the last step adds. */
  readonly increment: number;
}

/** Coefficients of (1 - x)^(1/2) = 1 - x/2 - x^2/8 - … */
export function squareRootBars(numSteps: number): Float64Array {
  const bars = new Float64Array(numSteps);
  bars[0] = 1;
  for (let i = 1; i < numSteps; ++i) bars[i] = (bars[i - 1]! * (2 * i - 3)) / (2 * i);
  return bars;
}

/**
 * Squared norm of the first column of C, the inverse of a series whose first term is 1: c_i = -(g_1
 * c_{i-1} + g_2 c_{i-2} + …). Infinity if it overflows.
 */
function squaredSensitivity(bars: Float64Array, numSteps: number): number {
  const column = new Float64Array(numSteps);
  column[0] = 1;
  let total = 1;
  for (let i = 1; i < numSteps; ++i) {
    let sum = 0;
    for (let j = Math.min(i, bars.length - 1); j > 0; --j) sum -= bars[j]! * column[i - j]!;
    column[i] = sum;
    total += sum * sum;
    if (!(total < Number.MAX_VALUE)) return Infinity;
  }
  return total;
}

/** Errors of bars that begin with 1; bars beyond the last are zero. O(steps * bars). */
export function errorsOfBars(bars: Float64Array, numSteps: number): BarErrors {
  const sensitivity = Math.sqrt(squaredSensitivity(bars, numSteps));
  const stddev = new Float64Array(numSteps);
  let inTotals = 0; // Weight of a draw in the totals `i` steps later.
  let squares = 0;
  let squaresOfBars = 0;
  for (let i = 0; i < numSteps; ++i) {
    const bar = bars[i] ?? 0;
    inTotals += bar;
    squares += inTotals * inTotals;
    squaresOfBars += bar * bar;
    stddev[i] = sensitivity * Math.sqrt(squares);
  }
  return {
    sensitivity,
    stddev,
    worst: stddev[numSteps - 1]!,
    increment: sensitivity * Math.sqrt(squaresOfBars),
  };
}
