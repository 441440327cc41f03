// SPDX-License-Identifier: Apache-2.0

// Budgets: accounts that streams and other releases of the same people draw from.

import type { Handle } from './instance.js';
import type { Neighbours } from './privacy.js';
import type { PrivacyTarget } from './streams/options.js';

/** Options of a budget, without its store. */
export interface BudgetOptions extends PrivacyTarget {
  /**
   * How losses compose: 'mu' (Gaussian differential privacy) as the root of the sum of squares, or
   * 'rho' (zero-concentrated differential privacy) as a sum, which also covers discrete Gaussian
   * noise. Default 'mu'.
   */
  account?: 'mu' | 'rho';
  /**
   * Part of `epsilon` that is reserved for releases with delta 0, whose epsilons add up. With 0,
   * these releases are charged to the account like all others. Default 0.
   */
  pure?: number;
  /** Neighbouring relation of everything that is charged. Default 'zero-out'. */
  neighbours?: Neighbours;
  /** With 'replace-one': whether streams with `fixedTimes` may be charged, too. Default false. */
  fixedTimes?: boolean;
  /** With `store`: true refuses an empty store with `bad_state`. Default false. */
  mustExist?: boolean;
}

/**
 * The proved privacy losses of a release: whichever are known of mu, rho, and an epsilon with delta
 * 0. Certificates and calibrations have this form.
 */
export interface Cost {
  /** Gaussian differential privacy; null if it is not known. */
  mu?: number | null;
  /** Zero-concentrated differential privacy. Default: derived from mu or epsilon. */
  rho?: number;
  /** Used only if `delta` is 0: an (epsilon, delta) guarantee does not determine mu or rho. */
  epsilon?: number;
  delta?: number;
}

/** A loss that was charged to a part of the budget. */
export interface Charge {
  readonly name: string;
  /** 'pure', or the account. */
  readonly part: 'pure' | 'mu' | 'rho';
  readonly cost: number;
  /** `identity` of the stream, if it is in a store. */
  readonly stream?: string;
}

/**
 * A privacy filter: all releases that it accepts are together (epsilon, delta)-differentially
 * private, even if each release is chosen after seeing earlier ones.
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
   * The guarantee of all charges together; `pure` is the sum of the epsilons in the pure part, and
   * `total` the mu or rho of the other charges. Rounded up.
   */
  readonly spent: Readonly<PrivacyTarget & { pure: number; total: number }>;
  /**
   * Largest target that a further stream may have, rounded down; epsilon is 0 if nothing is left.
   */
  readonly left: Readonly<PrivacyTarget>;
  /** Epsilon left for releases with delta 0, if a part is reserved for them. */
  readonly pureLeft: number;
  /** True if a release of this cost would be accepted. */
  fits(cost: Cost): boolean;
  /**
   * Charges a release that is not a stream, or is made elsewhere. Charge it before you make it. If
   * it does not fit, the call fails with `budget_spent` and charges nothing.
   */
  charge(name: string, cost: Cost): void;
  /**
   * Guarantee for a stream that takes this fraction of the whole budget: three of `share(1 / 3)`
   * fit.
   */
  share(fraction: number): PrivacyTarget;
}
