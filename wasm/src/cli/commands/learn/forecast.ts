// SPDX-License-Identifier: Apache-2.0

// Shows what a run would promise, how noisy it would be and what it would cost (--dry-run).

import type { Certificate, DpFtrl, LearnPlan } from '../../../types/all.js';
import type { Args } from '../../options/args.js';
import { spendingOf } from '../../state/budget.js';
import { writeForecast } from '../stream/forecast-text.js';
import { prepare, promiseOf, type LearnInputs } from './prepare.js';
import type { LearnSettings } from './settings.js';
import { wholePromise } from './whole.js';

/**
 * The noise in units of the clip norm, because preconditioning by second moments changes the clip
 * norm itself.
 */
function noiseText({ algorithm = '', ...claim }: Certificate): string {
  const { noiseStddev, clipNorm, maxError, sensitivity } = claim;
  const ratio = noiseStddev / clipNorm;
  const isDescent = !algorithm.startsWith('DP-FTRL');
  const size = isDescent ? ratio : (ratio * maxError) / sensitivity;
  const where = isDescent
    ? 'the sum of the gradients of a step'
    : 'the running totals of gradients';
  return `${Number(size.toPrecision(3))} clip norms, in each entry of ${where}`;
}

/** Writes the forecast of a run to standard output. */
export async function forecast(
  dp: DpFtrl,
  args: Args,
  {
    settings,
    opened,
    moments,
  }: { settings: LearnSettings; opened: LearnInputs; moments: LearnPlan | undefined },
): Promise<void> {
  const { problem } = opened;
  const { claim, certificate, spending } = moments
    ? wholePromise(dp, args, { settings, moments, problem })
    : await learnerPromise(dp, args, { settings, opened });
  const cost = await settings.budget?.quote(dp, spending);
  const { numSteps: steps, read } = problem;
  const std = noiseText(certificate);
  writeForecast({ claim, steps, std, cost, read, certificate }, settings.json);
}

async function learnerPromise(
  dp: DpFtrl,
  args: Args,
  { settings, opened }: { settings: LearnSettings; opened: LearnInputs },
) {
  const prepared = await prepare(dp, args, { settings, opened });
  const learner = dp.learner(prepared.how);
  const { certificate } = learner;
  learner.dispose();
  const { about, sentence: claim } = promiseOf(certificate, settings, prepared);
  return { claim, certificate, spending: spendingOf(certificate, about) };
}
