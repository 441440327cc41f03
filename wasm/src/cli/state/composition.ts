// SPDX-License-Identifier: Apache-2.0

// Costs of releases in the shares of a budget, and what they add up to: docs/math/budgets.md.

import { inWords, refusalOf } from '../../core/errors.js';
import { Misuse } from '../base/failure.js';
import type { CompositionOptions, DpFtrl } from '../../types/all.js';

export const ACCOUNTS = ['mu', 'rho'] as const;
export type Account = CompositionOptions['account'];

/** Part of a limit in which releases add up: pure epsilons, or the account. */
export type Share = 'pure' | Account;

/** Costs of a release that is rho-zCDP and, if some mu is known, mu-GDP. */
export interface Costs {
  mu: number | null;
  rho: number;
}

export function pureCosts(dp: DpFtrl, epsilon: number): Costs {
  return { mu: dp.pureMu(epsilon), rho: dp.pureRho(epsilon) };
}

/** Costs of the exponential mechanism, whose range of losses is half that of all pure releases. */
export function choiceCosts(dp: DpFtrl, epsilon: number): Costs {
  // Rounded up.
  return { mu: dp.pureMu(epsilon), rho: ((epsilon * epsilon) / 8) * (1 + 2 ** -51) };
}

/** Costs of Gaussian noise calibrated for a delta. */
export function gaussianCosts(dp: DpFtrl, { mu, delta }: { mu: number; delta: number }): Costs {
  return { mu, rho: dp.calibrate({ mu, delta }).rho };
}

export interface PrivacyTarget {
  epsilon: number;
  delta: number;
}

/** A limit, and its split: `pure` of its epsilon is for pure releases, the rest for the account. */
export interface Split {
  account: Account;
  limit: PrivacyTarget;
  pure: number;
}

/** Total of one share, compared with the limit of the share. */
export interface ShareSpent {
  /** In the unit of the share, rounded up. */
  total: number;
  spent: PrivacyTarget;
  limit: PrivacyTarget;
  fits: boolean;
}

/** Relative excess over the pure share that is accepted, because sums of decimals are rounded. */
const PURE_SLACK = 2 ** -50;

/** Epsilon of the account, rounded down: what an exhausted pure share leaves. */
function restOf({ limit, pure }: Split): number {
  if (pure === 0) return limit.epsilon;
  return Math.max(0, (limit.epsilon - pure - pure * PURE_SLACK) * (1 - 2 ** -50));
}

function isRoomFor(total: number, { pure, limit }: Split, rest: number): boolean {
  // Without an account, delta covers the excess.
  const slack = rest > 0 ? pure * PURE_SLACK : Math.min(pure * PURE_SLACK, limit.delta);
  return total - pure <= slack;
}

/** Calls `compose`; its errors name the options of a budget. */
function composed(dp: DpFtrl, options: CompositionOptions): ReturnType<DpFtrl['compose']> {
  try {
    return dp.compose(options);
  } catch (error) {
    const refusal = refusalOf(error);
    const { parameter = '' } = refusal;
    if (['epsilon', 'delta'].includes(parameter)) {
      throw new Misuse(inWords(refusal, (name) => `--budget-${name}`));
    }
    // A total that leaves the doubles, or whose epsilon does.
    return { total: Infinity, limit: 0, epsilon: Infinity, fits: false };
  }
}

/** Adds up the costs of one share. */
export function spentOf(
  dp: DpFtrl,
  split: Split,
  share: Share,
  costs: readonly number[],
): ShareSpent {
  const { account, limit, pure } = split;
  const rest = restOf(split);
  if (share === 'pure') {
    // Both are sums that are rounded up; epsilon and delta do not matter.
    const { total } = composed(dp, { account: 'rho', costs, epsilon: 1, delta: 0.5 });
    const fits = isRoomFor(total, split, rest);
    return { total, spent: { epsilon: total, delta: 0 }, limit: { epsilon: pure, delta: 0 }, fits };
  }
  const { delta } = limit;
  const own = { epsilon: Number((limit.epsilon - pure).toPrecision(12)), delta };
  if (costs.length === 0)
    return { total: 0, spent: { epsilon: 0, delta: 0 }, limit: own, fits: true };
  const { total, epsilon, fits } = composed(dp, {
    account,
    costs,
    epsilon: rest || limit.epsilon,
    delta,
  });
  return { total, spent: { epsilon, delta }, limit: own, fits: fits && rest > 0 };
}
