// SPDX-License-Identifier: Apache-2.0

// Losses and constraint sets by name, as learner, simulation, models and the command read them.

import type { Reader } from './check.js';
import type { DomainName, LossName } from './types.js';

export const LOSSES: readonly LossName[] = [
  'logistic',
  'hinge',
  'squared',
  'huber',
  'absolute',
  'quantile',
];

export const DOMAINS: readonly DomainName[] = [
  'ball',
  'whole-space',
  'box',
  'simplex',
  'simplex-entropic',
];

export const LOSS_OPTIONS = [
  'loss',
  'quantile',
  'huberThreshold',
  'domain',
  'radius',
  'lambda',
] as const;

/** Labels of these losses are classes. */
export function classifies(loss: LossName): boolean {
  return loss === 'logistic' || loss === 'hinge';
}

export function readLoss(reader: Reader) {
  return {
    loss: reader.oneOfOr('loss', LOSSES, 'logistic'),
    quantile: reader.numberOr('quantile', 0.5),
    huberThreshold: reader.numberOr('huberThreshold', 1),
    domain: reader.oneOfOr('domain', DOMAINS, 'ball'),
    radius: reader.numberOr('radius', 1),
    lambda: reader.numberOr('lambda', undefined),
  };
}
