// SPDX-License-Identifier: Apache-2.0

// Costs of releases in the account of a budget: docs/math/budgets.md.

import type { CompositionOptions, DpFtrl } from '../../types/all.js';

export const ACCOUNTS = ['mu', 'rho'] as const;
export type Account = CompositionOptions['account'];

/** Costs of a release that is rho-zCDP and, if some mu is known, mu-GDP. */
export interface Costs {
  mu: number | null;
  rho: number;
}

export function pureCosts(dp: DpFtrl, epsilon: number): Costs {
  return { mu: dp.pureMu(epsilon), rho: dp.pureRho(epsilon) };
}

/** Costs of Gaussian noise calibrated for a delta. */
export function gaussianCosts(dp: DpFtrl, { mu, delta }: { mu: number; delta: number }): Costs {
  return { mu, rho: dp.calibrate({ mu, delta }).rho };
}
