// SPDX-License-Identifier: Apache-2.0

// A counter without a trusted party: it adds up bits that their owners sometimes flip, which is
// randomised response. docs/math/queries.md has the formula.

import type { UnitError } from 'dp-ftrl';
import { sumOfSquares, type SumWeights } from '../data/weighted-sums.ts';
import { count, counted } from '../base/format.ts';
import type { Lane } from '../run/run.ts';

/** Standard deviation of a count of `numReports` reports. */
export function localStddev(epsilon: number, numReports: number): number {
  return Math.sqrt(numReports) / (2 * Math.sinh(epsilon / 2));
}

/**
 * Standard deviation at a step in the units of `error`, at the epsilon of a lane. A user divides
 * epsilon among their reports; each report is 0 or the clip norm.
 */
export function localUnitStddev(
  { history }: Lane,
  error: UnitError,
  weights: SumWeights,
): (step: number) => number {
  const { epsilon, maxParticipations, clipNorm, noiseStddev } = history.info.certificate;
  const first = localStddev(epsilon / maxParticipations, 1);
  const unit = (clipNorm * first * error.sensitivity) / noiseStddev;
  return (step) => unit * Math.sqrt(sumOfSquares(weights, step));
}

/**
 * First step (from 1) from which the error of the local counter stays larger; null if it is not
 * larger at the end.
 */
export function overtakes(local: (step: number) => number, stddev: Float64Array): number | null {
  let from = stddev.length + 1;
  while (from > 1 && local(from - 1) > stddev[from - 2]!) from -= 1;
  return from > stddev.length ? null : from;
}

/** Says until when the error grows. */
function until({ window, decay }: SumWeights): string {
  if (window < Infinity) return ', until the window is full';
  return decay < 1 ? ', until as much fades as is added' : '';
}

/** Explains the curve; `name` is the mechanism whose standard deviations are `stddev`. */
export function localText(
  name: string,
  { history }: Lane,
  local: (step: number) => number,
  stddev: Float64Array,
  weights: SumWeights,
): string {
  const { maxParticipations } = history.info.certificate;
  const share =
    maxParticipations === 1
      ? ''
      : `, divided by the ${counted(maxParticipations, 'record')} of a user`;
  const from = overtakes(local, stddev);
  const larger =
    from === null
      ? `it ends below that of ${name}`
      : from === 1
        ? `it is above that of ${name} at every step`
        : `it is above that of ${name} from step ${count(from)} on`;
  return (
    'Randomised response: everyone sends one bit, 0 or the clip norm, and sometimes flips it, so ' +
    `nobody has to be trusted. At the same ε${share}, without δ, the standard deviation of the ` +
    `count grows like the square root of the step${until(weights)}; ${larger}. The lower bound, which is for Gaussian ` +
    'noise, does not apply to it.'
  );
}
