// SPDX-License-Identifier: Apache-2.0

// What several releases spend together: docs/math/people.md, "Budgets".

import type { DpFtrl } from '../types.js';

export interface PrivacyTarget {
  epsilon: number;
  delta: number;
}

/** mu-GDP for its mu; with delta 0 also epsilon-DP. */
export interface Part extends PrivacyTarget {
  mu: number;
}

/** Root of the sum of squares, never below it; of one mu that mu. */
export function composedMu(parts: readonly Part[]): number {
  if (parts.length === 1) return parts[0]!.mu;
  const sum = parts.reduce((total, { mu }) => total + mu * mu, 0);
  return Math.sqrt(sum) * (1 + (parts.length + 4) * Number.EPSILON);
}

/** The sum of the decimal numbers that these are written as, exact but for one rounding. */
export function sumOfDecimals(values: readonly number[]): number {
  const parts = values.map((value) => {
    const [digits, exponent] = value.toExponential().split('e') as [string, string];
    const [whole, fraction = ''] = digits.split('.') as [string, string?];
    return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
  });
  const least = Math.min(0, ...parts.map(({ exponent }) => exponent));
  const sum = parts.reduce(
    (total, { digits, exponent }) => total + digits * 10n ** BigInt(exponent - least),
    0n,
  );
  return Number(`${sum}e${least}`);
}

/** The pure ones of some releases, and the others. */
function split(parts: readonly Part[]) {
  return {
    epsilons: parts.filter(({ delta }) => delta === 0).map(({ epsilon }) => epsilon),
    others: parts.filter(({ delta }) => delta !== 0),
  };
}

/** The least epsilon that is known of all of them together, at a delta. */
export function epsilonOf(dp: DpFtrl, parts: readonly Part[], delta: number): number {
  const ofMu = (some: readonly Part[]) => dp.calibrate({ mu: composedMu(some), delta }).epsilon;
  const { epsilons, others } = split(parts);
  if (others.length === parts.length) return ofMu(parts);
  const epsilon = sumOfDecimals(epsilons);
  const apart = others.length === 0 ? epsilon : (epsilon + ofMu(others)) * (1 + Number.EPSILON);
  return Math.min(ofMu(parts), apart);
}

/** Whether all of them together are known to stay within a limit. */
export function fits(dp: DpFtrl, parts: readonly Part[], limit: PrivacyTarget): boolean {
  if (composedMu(parts) <= dp.calibrate(limit).mu) return true;
  const { epsilons, others } = split(parts);
  const rest = sumOfDecimals([limit.epsilon, ...epsilons.map((epsilon) => -epsilon)]);
  if (others.length === 0) return rest >= 0;
  return rest > 0 && composedMu(others) <= dp.calibrate({ ...limit, epsilon: rest }).mu;
}
