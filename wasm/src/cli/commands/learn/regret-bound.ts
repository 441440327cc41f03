// SPDX-License-Identifier: Apache-2.0

// Bound of the regret theorem for a learner of the command, from public numbers only.

import { slopeSquared } from '../../../api/learning/setup.js';
import { given } from '../../../core/given.js';
import type { DpFtrl, LearnedModel } from '../../../types/all.js';
import { counted } from '../../../shared/counted.js';
import { roundedUp } from '../../../shared/number.js';
import type { LearnerSettings } from '../../options/learner.js';

/** Whether ranges and loss rule out gradients longer than the clip norm. */
function isNeverClipped(how: LearnerSettings, { inputs, intercept, certificate }: LearnedModel) {
  const areBounded = inputs.every(({ low }) => low !== undefined);
  const normSquared = inputs.length + Number(intercept);
  return areBounded && slopeSquared(how.loss) * normSquared <= certificate.clipNorm ** 2;
}

/** The bound on the expected average regret as a text, or the reason why no bound holds. */
export function regretBoundText(
  dp: DpFtrl,
  model: LearnedModel,
  {
    how,
    learner,
  }: {
    how: LearnerSettings;
    /** Steps made so far, and examples waiting in the open step. */
    learner: { readonly step: number; readonly waiting: number };
  },
): string {
  const { certificate, weights } = model;
  if (certificate.lattice) return 'none: no theorem for mode lattice';
  if (how.domain?.startsWith('simplex') && weights.length === 1) return 'none: one point only';
  const { domain, radius, lambda, descent, doubling, batchSize = 1, penalty } = how;
  const steps = { doubling, batchSize, penalty, numClasses: model.numClasses };
  const rule = { domain, radius, lambda, descent, ...steps, dimension: weights.length };
  const { expected } = dp.study.regretBounds(certificate, given(rule));
  if (!expected) return 'none: no theorem for this descent';
  const { numSteps } = certificate;
  const { step, waiting } = learner;
  // The bound is on the mean over full batches.
  if (model.numExamples - waiting !== step * batchSize) return 'none: a batch was not full';
  const when = step < numSteps ? ` after all ${counted(numSteps, 'step')}` : '';
  const bound = `${roundedUp(expected.total)}${when}`;
  return isNeverClipped(how, model) ? bound : `none: gradients may be clipped (else ${bound})`;
}
