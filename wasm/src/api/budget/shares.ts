// SPDX-License-Identifier: Apache-2.0

// The rule by which a budget accepts releases; the theorem of docs/math/budgets.md proves it.

import type { Core } from '../../core/core.js';
import type { Composition } from '../../core/core.js';
import type { Charge } from '../../types/budget.js';
import type { PrivacyTarget } from '../../types/streams/options.js';
import type { Losses } from './cost.js';

/**
 * A limit and its split: the part `pure` of its epsilon is for pure releases, the rest for the
 * account.
 */
export interface Split extends PrivacyTarget {
  account: 'mu' | 'rho';
  pure: number;
}

export type BudgetPart = Charge['part'];
/** A loss that is charged to a part. */
export type Loss = Pick<Charge, 'part' | 'cost'>;

/** Relative excess over the pure part that is accepted, because sums of decimals are rounded. */
const PURE_SLACK = 2 ** -50;
/** Less than this fraction of a limit counts as nothing left, because shares are rounded. */
const NOTHING = 2 ** -38;

/** Epsilon of the account, rounded down, once the pure part is spent. */
function restOf({ epsilon, pure }: Split): number {
  if (pure === 0) return epsilon;
  return Math.max(0, (epsilon - pure - pure * PURE_SLACK) * (1 - 2 ** -50));
}

export class Shares {
  /** Epsilon of the account. */
  private readonly rest: number;

  constructor(
    private readonly core: Core,
    private readonly split: Split,
  ) {
    this.rest = restOf(split);
  }

  /** Loss of a release and the part that pays for it; undefined if the account cannot count it. */
  lossOf({ mu, rho, pure }: Losses): Loss | undefined {
    const { account } = this.split;
    if (pure !== undefined && this.split.pure > 0) return { part: 'pure', cost: pure };
    const cost = account === 'mu' ? mu : rho;
    return cost === undefined ? undefined : { part: account, cost };
  }

  /** True if all charges to the part of the last loss are within its limit. */
  isWithin(losses: readonly Loss[]): boolean {
    const { part } = losses.at(-1)!;
    if (part !== 'pure') return this.rest > 0 && this.composed(part, losses).fits;
    const { pure, delta } = this.split;
    // If everything is reserved for pure releases, delta covers the excess.
    const slack = this.rest > 0 ? pure * PURE_SLACK : Math.min(pure * PURE_SLACK, delta);
    return this.pureTotal(losses) - pure <= slack;
  }

  spent(losses: readonly Loss[]): PrivacyTarget & { pure: number; total: number } {
    const pure = this.pureTotal(losses);
    const { total, epsilon } = this.composed(this.split.account, losses);
    const isExact = pure === 0 || total === 0;
    return {
      epsilon: isExact ? pure + epsilon : (pure + epsilon) * (1 + Number.EPSILON),
      delta: total === 0 ? 0 : this.split.delta,
      pure,
      total,
    };
  }

  /** Rest of the account, and epsilon of the Gaussian release that uses it up. */
  left(losses: readonly Loss[]): { loss: number; epsilon: number } {
    const { account } = this.split;
    const { total, limit } = this.composed(account, losses);
    const less = limit - total;
    if (this.rest === 0 || less <= NOTHING * limit) return { loss: 0, epsilon: 0 };
    const loss = account === 'mu' ? Math.sqrt(less * (limit + total)) : less;
    return { loss, epsilon: this.epsilonWithin(account === 'mu' ? loss : Math.sqrt(2 * loss)) };
  }

  pureLeft(losses: readonly Loss[]): number {
    const { pure } = this.split;
    const left = (pure - this.pureTotal(losses)) * (1 - Number.EPSILON);
    return left <= NOTHING * pure ? 0 : left;
  }

  /** Guarantee of a release that takes this fraction of the budget. */
  share(fraction: number): PrivacyTarget {
    const { pure, account, delta } = this.split;
    if (this.rest === 0) return { epsilon: pure * fraction * (1 - Number.EPSILON), delta: 0 };
    const { limit } = this.composed(account, []);
    const mu = account === 'mu' ? limit * Math.sqrt(fraction) : Math.sqrt(2 * limit * fraction);
    return { epsilon: this.epsilonWithin(mu), delta };
  }

  /** Largest epsilon whose Gaussian noise has at most this mu, or a slightly smaller one. */
  private epsilonWithin(mu: number): number {
    const { delta } = this.split;
    const most = mu * (1 - Number.EPSILON);
    let { epsilon } = this.core.call('calibrate', 'mu', most, delta);
    while (epsilon > 0 && this.core.call('calibrate', 'epsilon', epsilon, delta).mu! > most) {
      epsilon *= 1 - 2 ** -40;
    }
    return Math.max(0, epsilon);
  }

  private pureTotal(losses: readonly Loss[]): number {
    // Composition of rho is a sum, rounded up; epsilon and delta do not matter for it.
    return this.compose('rho', costsOf(losses, 'pure'), 1).total;
  }

  private composed(part: 'mu' | 'rho', losses: readonly Loss[]): Composition {
    return this.compose(part, costsOf(losses, part), this.rest || this.split.epsilon);
  }

  private compose(how: 'mu' | 'rho', costs: Float64Array, epsilon: number): Composition {
    try {
      return this.core.call('compose', how, costs, epsilon, this.split.delta);
    } catch (error) {
      if (costs.length === 0) throw error;
      // The total or its epsilon overflows a double.
      return { total: Infinity, limit: 0, epsilon: Infinity, fits: false };
    }
  }
}

function costsOf(losses: readonly Loss[], part: BudgetPart): Float64Array {
  return Float64Array.from(losses.filter((it) => it.part === part).map(({ cost }) => cost));
}
