// SPDX-License-Identifier: Apache-2.0

// Chooses the noise of a question: the least of those that are proved to protect exactly it.

import { defaultMechanism, pureMechanism } from '../../../shared/defaults.js';
import type { DpFtrl, MechanismName } from '../../../types/all.js';
import type { CounterOptions, PrivacyTarget } from '../../../types/streams/options.js';
import { isOfSteps } from '../../options/strategy.js';

/** A noise, and the root mean square over the steps of its standard deviation. */
export interface Noise {
  noise: 'Laplace' | 'Gaussian';
  mechanism: MechanismName;
  std: number;
}

export interface Choice extends Noise {
  /** The guarantee of the chosen noise, which Laplace noise gives without a delta. */
  target: PrivacyTarget;
  /** The other noise. */
  next: Noise;
}

/** A question of single steps, or of running totals. */
export interface ChoiceProblem
  extends Required<
    Pick<CounterOptions, 'steps' | 'clip' | 'neighbours' | 'participation' | 'workload'>
  > {
  target: PrivacyTarget;
  /** Whether Laplace noise is not to be chosen. */
  isGaussian: boolean;
}

/** Most steps whose standard deviations are averaged. */
const MOST_AVERAGED = 1000;

/** Returns the standard deviation of a noise at the steps of the question. */
function stdOf(
  dp: DpFtrl,
  asked: ChoiceProblem,
  mechanism: MechanismName,
  target: PrivacyTarget,
): number {
  const { steps, clip, neighbours, participation, workload } = asked;
  const problem = { steps, clip, neighbours, participation, workload };
  const stream = dp.counter({ ...problem, ...target, strategy: mechanism });
  try {
    const count = Math.min(steps, MOST_AVERAGED);
    const at = (i: number) => Math.floor(((i + 1) * steps) / count) - 1;
    const squares = Array.from({ length: count }, (_, i) => stream.stddev(at(i)) ** 2);
    return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / count);
  } finally {
    stream.dispose();
  }
}

export function chooseNoise(dp: DpFtrl, asked: ChoiceProblem): Choice {
  const { steps, target, workload, isGaussian } = asked;
  const areSteps = isOfSteps(workload, steps);
  const pure = { epsilon: target.epsilon, delta: 0 };
  const laplace = pureMechanism(areSteps);
  const gaussian = areSteps ? laplace : defaultMechanism(steps, true);
  const all = [
    {
      noise: 'Laplace',
      mechanism: laplace,
      std: stdOf(dp, asked, laplace, pure),
      target: pure,
    },
    {
      noise: 'Gaussian',
      mechanism: gaussian,
      std: stdOf(dp, asked, gaussian, target),
      target,
    },
  ] as const;
  const best = isGaussian || all[1].std < all[0].std ? 1 : 0;
  const { target: _, ...next } = all[1 - best]!;
  return { ...all[best], next };
}

/** The choice as JSON. */
export function shownOf({ target: _, ...shown }: Choice): Noise & { next: Noise } {
  return shown;
}

export function choiceText({ noise, mechanism, std, next }: Choice): string {
  const own = `${noise} noise (${mechanism}), of standard deviation ${rounded(std)}`;
  const other = `${next.noise} noise (${next.mechanism}) would have ${rounded(next.std)}`;
  return `chosen for this question: ${own}, where ${other}`;
}

function rounded(std: number): string {
  return String(Number(std.toPrecision(3)));
}
