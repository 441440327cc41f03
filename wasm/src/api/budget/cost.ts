// SPDX-License-Identifier: Apache-2.0

// The proved losses of a release, in the units in which they compose: docs/math/budgets.md.

import { type Fields, outOfRange, wrongType } from '../../core/check.js';
import type { Core } from '../../core/core.js';
import { asErrorsOf, makeError, within, type ErrorPlace } from '../../core/errors.js';

/** The losses of a release, each of which holds on its own; `mu` and `pure` may be unknown. */
export interface Losses {
  mu: number | undefined;
  rho: number;
  /** Epsilon at delta 0. */
  pure: number | undefined;
}

function readLoss(where: ErrorPlace, fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined || (value === null && name === 'mu')) return undefined;
  if (typeof value !== 'number') throw wrongType(where, name, 'a number', value);
  if (value > 0 && value < Infinity) return value;
  throw outOfRange(where, name, 'positive and finite', value);
}

/** Reads the cost of a release, as given by the caller or in a certificate. */
export function readLosses(core: Core, where: ErrorPlace, cost: unknown): Losses {
  if (typeof cost !== 'object' || cost === null) throw wrongType(where, 'cost', 'an object', cost);
  const fields = cost as Fields;
  const inside = within(where, 'cost');
  const pure = fields['delta'] === 0 ? readLoss(inside, fields, 'epsilon') : undefined;
  const mu = readLoss(inside, fields, 'mu') ?? (pure && core.call('pureMu', pure));
  const rho = readLoss(inside, fields, 'rho') ?? (pure && core.call('pureRho', pure));
  if (rho !== undefined) return { mu, rho, pure };
  // The delta at which epsilon is stated does not matter for rho.
  if (mu !== undefined) {
    return { mu, rho: asErrorsOf(inside, () => core.call('calibrate', 'mu', mu, 0.5).rho), pure };
  }
  throw makeError('wrong_type', where, {
    parameter: 'cost',
    constraint: 'must have mu, rho, or an epsilon with delta 0: others do not add up',
  });
}
