// SPDX-License-Identifier: Apache-2.0

// Costs of releases, and the budget of the package that adds them up: docs/math/budgets.md.

import { inWords, refusalOf } from '../../core/errors.js';
import { Misuse } from '../base/failure.js';
import type { Budget, BudgetOptions, Cost, DpFtrl } from '../../types/all.js';

export const ACCOUNTS = ['mu', 'rho'] as const;
export type Account = (typeof ACCOUNTS)[number];

/** Part of a limit in which releases add up: pure epsilons, or the account. */
export type Share = 'pure' | Account;

/** Costs of the exponential mechanism, whose range of losses is half that of all pure releases. */
export function choiceCosts(epsilon: number): Cost {
  // Rounded up.
  return { epsilon, delta: 0, rho: ((epsilon * epsilon) / 8) * (1 + 2 ** -51) };
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

/** A release that was charged to a share. */
export type Paid = { [share in Share]?: number };

function costOf({ pure, mu, rho }: Paid): Cost {
  if (pure !== undefined) return { epsilon: pure, delta: 0 };
  return mu === undefined ? { rho: rho! } : { mu };
}

function newBudget(dp: DpFtrl, options: BudgetOptions): Budget {
  try {
    return dp.budget(options);
  } catch (error) {
    throw new Misuse(inWords(refusalOf(error), (name) => `--budget-${name}`));
  }
}

/** Returns a budget to which these releases are charged. */
export function budgetOf(
  dp: DpFtrl,
  { account, limit, pure }: Split,
  releases: readonly Paid[],
): Budget {
  const budget = newBudget(dp, { ...limit, account, pure });
  for (const release of releases) budget.charge('', costOf(release));
  return budget;
}
