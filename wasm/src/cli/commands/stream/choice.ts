// SPDX-License-Identifier: Apache-2.0

// Chooses the noise for a question: the smallest known that meets the privacy target.

import type { RefusalError } from '../../../core/errors.js';
import { DEFAULT_MECHANISM, pureMechanism } from '../../../shared/defaults.js';
import type {
  DpFtrl,
  MechanismName,
  Neighbours,
  Participation,
  StrategyParameters,
  Workload,
} from '../../../types/all.js';
import type { PrivacyTarget } from '../../../types/streams/options.js';
import { nameText } from '../../options/mechanism.js';
import { isOfSteps, withDefault } from '../../options/strategy.js';

/** A standard deviation, of one sum or of each of several. */
export type Std = number | Record<string, number>;

/** A kind of noise, and the root mean square of its standard deviation over the steps. */
export interface NoiseCandidate<S extends Std = Std> {
  noise: 'Laplace' | 'Gaussian';
  /** Name of the mechanism, with its parameters. */
  mechanism: string;
  std: S;
}

/** The chosen noise, and the best alternative, if any. */
export interface Choice<S extends Std = Std> extends NoiseCandidate<S> {
  next: NoiseCandidate<S> | undefined;
  /**
   * Names the numbers to which the standard deviations apply; absent if they apply to all numbers.
   */
  of?: string | undefined;
}

/** A strategy, and the guarantee of its noise; Laplace noise has no delta. */
export interface Noise {
  strategy: StrategyParameters;
  target: PrivacyTarget;
}

/** A choice for sums of one workload. */
export type ChosenNoise = Choice<number> & Noise;

/** A question about sums of one workload. */
export interface ChoiceProblem {
  steps: number;
  participation: Participation;
  workload: Workload;
  target: PrivacyTarget;
  /**
   * Whether Laplace noise may be chosen, is only mentioned, or is not available for the question.
   */
  laplace: 'allowed' | 'named' | 'unknown';
  /** Standard deviation of a noise, as a root mean square over the steps of the question. */
  stdOf(noise: Noise): number;
}

/** Maximum number of steps over which standard deviations are averaged. */
const MOST_AVERAGED = 1000;
/** Longest horizon at which all mechanisms are compared; the comparison then takes a second. */
export const MOST_COMPARED = 2 ** 16;
/** Smallest ratio of standard deviations for which a mechanism replaces the default. */
const LEAST_GAIN = 1.01;

const rootMeanSquare = (sumOfSquares: number, count: number): number =>
  Math.sqrt(sumOfSquares / count);

/**
 * Standard deviation of sums; every column of a row gets the same noise, so one column is measured.
 */
export function sumsStd(
  dp: DpFtrl,
  sums: Pick<ChoiceProblem, 'steps' | 'participation' | 'workload'> & {
    clip: number;
    neighbours: Neighbours;
  },
): ChoiceProblem['stdOf'] {
  return ({ strategy, target }) => {
    const { steps, clip, neighbours, participation, workload } = sums;
    const problem = { steps, clip, neighbours, participation, workload };
    const stream = dp.counter({ ...problem, ...target, strategy });
    try {
      const count = Math.min(steps, MOST_AVERAGED);
      const at = (i: number) => Math.floor(((i + 1) * steps) / count) - 1;
      const squares = Array.from({ length: count }, (_, i) => stream.stddev(at(i)) ** 2);
      return rootMeanSquare(
        squares.reduce((sum, square) => sum + square, 0),
        count,
      );
    } finally {
      stream.dispose();
    }
  };
}

/** A stream whose readings have counts. */
export interface CountingStream {
  endMany(steps: number): { count: { stddev: number } | Record<string, { stddev: number }> }[];
  dispose(): void;
}

/** Standard deviation of a count in moments or a histogram, read off a stream without records. */
export function countStd(
  make: (noise: Noise) => CountingStream,
  steps: number,
): ChoiceProblem['stdOf'] {
  return (noise) => {
    const stream = make(noise);
    try {
      let sum = 0;
      for (let left = steps; left > 0; left -= MOST_AVERAGED) {
        for (const { count } of stream.endMany(Math.min(left, MOST_AVERAGED))) {
          const [first] = Object.values(count) as { stddev: number }[];
          sum += (typeof count.stddev === 'number' ? count.stddev : first!.stddev) ** 2;
        }
      }
      return rootMeanSquare(sum, steps);
    } finally {
      stream.dispose();
    }
  };
}

/** Mechanisms that `compare` finds for the question, in order of increasing error. */
function leastOf(
  dp: DpFtrl,
  { steps, participation, workload }: ChoiceProblem,
  usual: MechanismName,
): StrategyParameters[] {
  if (steps > MOST_COMPARED) return [];
  // For a single participation, an optimum is known without a comparison.
  if (participation === 'once' && usual === DEFAULT_MECHANISM)
    return [{ name: DEFAULT_MECHANISM, objective: 'mean' }];
  const found = dp.compare({ steps, participation, workload, objective: 'mean' }).result();
  return found.mechanisms.map(
    ({ mechanism, parameters }): StrategyParameters => ({ name: mechanism, ...parameters }),
  );
}

/**
 * The guarantee of a kind of noise: as requested or, for Laplace noise, stronger because it has no
 * delta.
 */
export function targetOf(noise: NoiseCandidate['noise'], asked: PrivacyTarget): PrivacyTarget {
  return noise === 'Laplace' ? { epsilon: asked.epsilon, delta: 0 } : asked;
}

/** Undefined if the noise is refused because its numbers would not fit on a grid. */
function ifThereIs<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if ((error as Partial<RefusalError>).code === 'invalid_argument') return undefined;
    throw error;
  }
}

export function chooseNoise(dp: DpFtrl, asked: ChoiceProblem): ChosenNoise {
  const { steps, target, workload, laplace, stdOf } = asked;
  const areSteps = isOfSteps(workload, steps);
  const noiseOf = (noise: NoiseCandidate['noise'], strategy: StrategyParameters) => {
    const own = targetOf(noise, target);
    const std = stdOf({ strategy, target: own });
    return { noise, mechanism: nameText(strategy), strategy, target: own, std };
  };
  const pure = { name: pureMechanism(areSteps) };
  const usual = noiseOf('Gaussian', areSteps ? pure : defaultFor(asked));
  // For sums of single steps nothing is better than independent noise.
  const least = areSteps ? [] : leastOf(dp, asked, usual.strategy.name);
  const [first] = least;
  const better = first && nameText(first) !== usual.mechanism && noiseOf('Gaussian', first);
  const gaussian = better && isLess(better, usual) ? [usual, better] : [usual];
  // If Laplace noise is an alternative, another Gaussian mechanism matters only if it has less
  // noise.
  const other =
    laplace === 'unknown' && gaussian.length === 1
      ? least.find(({ name }) => name !== usual.strategy.name)
      : undefined;
  if (other) gaussian.push(noiseOf('Gaussian', other));
  const pureNoise = laplace === 'unknown' ? undefined : ifThereIs(() => noiseOf('Laplace', pure));
  const all = pureNoise ? [pureNoise, ...gaussian] : gaussian;
  let [best] = (laplace === 'allowed' ? all : gaussian) as [typeof usual];
  for (const it of laplace === 'allowed' ? all : gaussian) if (isLess(it, best)) best = it;
  const [next] = all.filter((it) => it !== best).toSorted((one, two) => one.std - two.std);
  return { ...best, next: next && shownNoise(next) };
}

const isLess = (one: NoiseCandidate<number>, other: NoiseCandidate<number>): boolean =>
  one.std * LEAST_GAIN < other.std;

/** The default mechanism of the question. */
function defaultFor({ steps, workload }: ChoiceProblem): StrategyParameters {
  const none = { strategy: { name: DEFAULT_MECHANISM }, name: '', saved: undefined };
  const { strategy } = withDefault(none, { numSteps: steps, workloads: [workload] });
  return strategy as StrategyParameters;
}

function shownNoise<S extends Std>({ noise, mechanism, std }: NoiseCandidate<S>) {
  return { noise, mechanism, std };
}

/** The choice as JSON. */
export function shownOf({ next, ...chosen }: Choice): object {
  return { ...shownNoise(chosen), next };
}

export function choiceText({ next, of, ...chosen }: Choice): string {
  const nameOf = ({ noise, mechanism }: NoiseCandidate) => `${noise} noise (${mechanism})`;
  const sizeOf = ({ std }: NoiseCandidate) =>
    stdText(of !== undefined && typeof std === 'number' ? { [of]: std } : std);
  const own = `${nameOf(chosen)}, of standard deviation ${sizeOf(chosen)}`;
  // Laplace noise that is smaller is passed over only under a budget.
  const [less, more] = [next?.std, chosen.std];
  const isLess = typeof less === 'number' && typeof more === 'number' && less < more;
  const cost = isLess && next?.noise === 'Laplace' ? ' and cost more of the --budget' : '';
  const other = next && `, where ${nameOf(next)} would have ${sizeOf(next)}${cost}`;
  return `chosen for this question: ${own}${other ?? ''}`;
}

/** A standard deviation in words. */
export function stdText(std: Std): string {
  const rounded = (value: number) => String(Number(value.toPrecision(3)));
  if (typeof std === 'number') return rounded(std);
  return Object.entries(std)
    .map(([name, value]) => `${rounded(value)} (${name})`)
    .join(', ');
}
