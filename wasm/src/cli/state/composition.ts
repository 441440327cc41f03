// SPDX-License-Identifier: Apache-2.0

// Costs of releases, and the budget of the package that adds them up: docs/math/budgets.md.

import { inWords, refusalOf } from '../../core/errors.js';
import { Misuse } from '../base/failure.js';
import type { Budget, BudgetOptions, Cost, DpFtrl } from '../../types/all.js';

export const ACCOUNTS = ['mu', 'rho'] as const;
export type AccountName = (typeof ACCOUNTS)[number];

/** Part of a limit within which releases add up: the epsilons of pure releases, or the account. */
export type Share = 'pure' | AccountName;

/**
 * Costs of the exponential mechanism, whose privacy loss has half the range of that of other pure
 * releases.
 */
export function choiceCosts(epsilon: number): Cost {
  // Rounded up.
  return { epsilon, delta: 0, rho: ((epsilon * epsilon) / 8) * (1 + 2 ** -51) };
}

export interface PrivacyLimit {
  epsilon: number;
  delta: number;
}

/**
 * A limit, and its split: `pure` of its epsilon is for pure releases, and the rest for the account.
 */
export interface BudgetSplit {
  account: AccountName;
  limit: PrivacyLimit;
  pure: number;
}

/** A release charged to a share. */
export type BudgetCharge = { [share in Share]?: number };

function costOf({ pure, mu, rho }: BudgetCharge): Cost {
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

/** Charges these releases to a new budget. */
export function budgetOf(
  dp: DpFtrl,
  { account, limit, pure }: BudgetSplit,
  releases: readonly BudgetCharge[],
): Budget {
  const budget = newBudget(dp, { ...limit, account, pure });
  for (const release of releases) budget.charge('', costOf(release));
  return budget;
}
