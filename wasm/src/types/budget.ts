// SPDX-License-Identifier: Apache-2.0

// Budgets: accounts that streams and other releases of the same people draw from.

import type { Handle } from './instance.js';
import type { Neighbours } from './privacy.js';
import type { PrivacyTarget } from './streams/options.js';

/** Options of a budget, beside where it is kept. */
export interface BudgetOptions extends PrivacyTarget {
  /**
   * How losses add up: 'mu' of Gaussian differential privacy as the root of the sum of squares, or
   * 'rho' of zero-concentrated differential privacy as the sum, which also counts discrete Gaussian
   * noise. Default 'mu'.
   */
  account?: 'mu' | 'rho';
  /**
   * Part of `epsilon` that is reserved for releases with delta 0, whose epsilons add up. With 0 they
   * are charged to the account, like all others. Default 0.
   */
  pure?: number;
  /** Neighbours of everything that is charged. Default 'zero-out'. */
  neighbours?: Neighbours;
  /** With 'replace-one': whether streams with `fixedTimes` may be charged, too. Default false. */
  fixedTimes?: boolean;
  /** With `store`: true refuses an empty one with `bad_state`. Default false. */
  mustExist?: boolean;
}

/**
 * The proved losses of a release: mu, rho, or an epsilon with delta 0, as far as they are known.
 * Certificates and calibrations are such objects.
 */
export interface Cost {
  /** Gaussian differential privacy; null if it is not known. */
  mu?: number | null;
  /** Zero-concentrated differential privacy. If it is left out, it follows from the others. */
  rho?: number;
  /** Counts only if `delta` is 0: an approximate guarantee does not add up. */
  epsilon?: number;
  delta?: number;
}

/** A loss that was charged to a part of the budget. */
export interface Charge {
  readonly name: string;
  /** 'pure', or the account. */
  readonly part: 'pure' | 'mu' | 'rho';
  readonly cost: number;
  /** `identity` of a stream in a store. */
  readonly stream?: string;
}

/**
 * A privacy filter: all that it accepts is (epsilon, delta)-differentially private together, even
 * if each release is chosen after seeing earlier ones.
 */
export interface Budget extends Handle {
  readonly epsilon: number;
  readonly delta: number;
  readonly account: 'mu' | 'rho';
  readonly pure: number;
  readonly neighbours: Neighbours;
  readonly fixedTimes: boolean;
  readonly charges: readonly Charge[];
  /**
   * The guarantee of all charges together, their epsilons in the pure part, and the mu or rho of the
   * others; rounded up.
   */
  readonly spent: Readonly<PrivacyTarget & { pure: number; total: number }>;
  /** The most that a further stream may have, rounded down; epsilon is 0 if nothing is left. */
  readonly left: Readonly<PrivacyTarget>;
  /** Epsilon left for releases with delta 0, if a part is reserved for them. */
  readonly pureLeft: number;
  /** Returns whether a release of this cost would be accepted. */
  fits(cost: Cost): boolean;
  /**
   * Charges a release that is no stream, or was made elsewhere. Do so before you make it. If it does
   * not fit, fails with `budget_spent` and charges nothing.
   */
  charge(name: string, cost: Cost): void;
  /**
   * Returns the guarantee for a stream that takes a fraction of the whole: three of `share(1 / 3)`
   * fit.
   */
  share(fraction: number): PrivacyTarget;
}
