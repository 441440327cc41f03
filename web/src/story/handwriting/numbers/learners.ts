// SPDX-License-Identifier: Apache-2.0

// The learners of the scene: the same pass over the same images with two kinds of noise, and with
// none.

import type { Engine } from '../../../base/engine.ts';
import type { DigitSet, Examples } from './digits.ts';
import { NUM_PIXELS } from './image.ts';
import { accuracy, clippedSumAt, lateMean, NUM_CLASSES } from './softmax.ts';

export type NoiseName = 'optimal' | 'independent' | 'none';
export const NOISES: readonly NoiseName[] = ['optimal', 'independent', 'none'];
export type PrivateNoise = Exclude<NoiseName, 'none'>;

export const DELTA = 1e-6;

/** Training parameters of a learner. */
export interface DigitLearnerSettings {
  batchSize: number;
  clip: number;
  lambda: number;
}

/** Batch sizes to choose from: a learner updates its model after this number of images. */
export const BATCH_SIZES = [700, 280, 70, 28] as const;
export type BatchSize = (typeof BATCH_SIZES)[number];

/** Clip norm, and learning rate, which is the clip norm over lambda. */
type TunedSettings = readonly [clip: number, rate: number];

/**
 * Settings that worked best for each learner on the stand-in data, at epsilon 1:
 * docs/handwriting.md.
 */
const CHOSEN: Readonly<Record<NoiseName, Readonly<Record<BatchSize, TunedSettings>>>> = {
  optimal: { 700: [1, 30], 280: [0.3, 30], 70: [0.3, 10], 28: [0.3, 3] },
  independent: { 700: [1, 30], 280: [0.1, 30], 70: [0.3, 3], 28: [0.1, 1] },
  none: { 700: [1, 30], 280: [0.3, 100], 70: [1, 100], 28: [0.3, 100] },
};

export function mannerOf(noise: NoiseName, batchSize: BatchSize): DigitLearnerSettings {
  const [clip, rate] = CHOSEN[noise][batchSize];
  return { batchSize, clip, lambda: clip / rate };
}

/** Largest number of evaluations of a model during training. */
export const NUM_LOOKS = 20;

/** Evaluation of a model after some images. */
export interface Evaluation {
  numRead: number;
  /** Share of held-out images that the model reads correctly. */
  accuracy: number;
}

/** Sums of the gradients with respect to one weight, after each step. */
export interface WeightSums {
  published: number[];
  /** The sums without noise, which only a simulation can show. */
  truth: number[];
  /** Standard deviation of the noise in `published` at each step. */
  stddev: Float64Array;
}

export interface TrainingResult {
  looks: Evaluation[];
  weights: Float64Array;
  /** Sums of the watched weight; empty without one. */
  sums: WeightSums;
}

/** Common interface of the private learner and its non-private twin. */
interface DigitLearner {
  learn(features: Float64Array, labels: Float64Array): Promise<void>;
  weights(): Promise<Float64Array>;
  /** Standard deviation of the noise in one entry of the sum of gradients, at each step. */
  stddev(): Promise<Float64Array>;
  dispose(): void;
}

export interface TrainOptions {
  noise: NoiseName;
  manner: DigitLearnerSettings;
  epsilon: number;
  seed: number;
  /** Index of a weight for which to record the sums. */
  watched?: number;
  signal?: AbortSignal;
  /** Called after each evaluation. */
  looked?(progress: TrainingResult): void;
}

async function makePupil(
  engine: Engine,
  numExamples: number,
  { noise, manner, epsilon, seed, signal }: TrainOptions,
): Promise<DigitLearner> {
  const steps = Math.floor(numExamples / manner.batchSize);
  const options = {
    loss: { softmax: NUM_CLASSES },
    dimension: NUM_PIXELS,
    domain: 'whole-space' as const,
    steps,
    ...manner,
  };
  // The bench uses the library without a worker; its methods then take no further argument.
  const call: [] | [{ signal: AbortSignal }] = signal === undefined ? [] : [{ signal }];
  if (noise === 'none') {
    const twin = await engine.study.twin(options, ...call);
    return {
      learn: async (features, labels) => void (await twin.learn(features, labels, ...call)),
      weights: () => twin.weights(),
      stddev: async () => new Float64Array(steps),
      dispose: () => void twin.dispose(),
    };
  }
  const learner = await engine.learner(
    { ...options, strategy: noise, epsilon, delta: DELTA, insecureSeed: seed },
    ...call,
  );
  return {
    learn: (features, labels) => learner.learn(features, labels, ...call),
    weights: () => learner.weights(),
    stddev: async () => {
      const errors = (await engine.error({ strategy: noise, steps, perStep: true })).perStep!;
      const { noiseMultiplier } = learner.certificate;
      return errors.map((error) => error * noiseMultiplier * manner.clip);
    },
    dispose: () => void learner.dispose(),
  };
}

/** Learns from examples step by step, and records the sums of a weight. */
async function learnWatching(
  pupil: DigitLearner,
  { labels, features }: Examples,
  { batchSize, clip, lambda }: DigitLearnerSettings,
  watched: number,
  [from, to]: readonly [number, number],
  { published, truth }: WeightSums,
): Promise<void> {
  let weights = await pupil.weights();
  for (let at = from; at < to; at += batchSize) {
    const end = at + batchSize;
    const batch = {
      labels: labels.subarray(at, end),
      features: features.subarray(at * NUM_PIXELS, end * NUM_PIXELS),
    };
    truth.push((truth.at(-1) ?? 0) + clippedSumAt(watched, weights, batch, clip));
    await pupil.learn(batch.features, batch.labels);
    weights = await pupil.weights();
    // Weights start at 0 and follow the published sums of gradients.
    published.push(-lambda * batchSize * weights[watched]!);
  }
}

/** Trains a learner in one pass over the training images. */
export async function train(
  engine: Engine,
  { training, heldOut }: DigitSet,
  options: TrainOptions,
): Promise<TrainingResult> {
  const { manner, watched } = options;
  const { batchSize } = manner;
  const numSteps = Math.floor(training.labels.length / batchSize);
  const numLooks = Math.min(NUM_LOOKS, numSteps);
  const pupil = await makePupil(engine, training.labels.length, options);
  try {
    const history: Float64Array[] = [];
    const looks: Evaluation[] = [];
    const stddev = watched === undefined ? new Float64Array() : await pupil.stddev();
    const sums: WeightSums = { published: [], truth: [], stddev };
    let weights: Float64Array = new Float64Array();
    for (let look = 1, from = 0; look <= numLooks; ++look) {
      const to = Math.round((look * numSteps) / numLooks) * batchSize;
      if (watched === undefined) {
        await pupil.learn(
          training.features.subarray(from * NUM_PIXELS, to * NUM_PIXELS),
          training.labels.subarray(from, to),
        );
      } else await learnWatching(pupil, training, manner, watched, [from, to], sums);
      from = to;
      history.push(await pupil.weights());
      weights = lateMean(history);
      looks.push({ numRead: to, accuracy: accuracy(weights, heldOut) });
      options.looked?.({ looks, weights, sums });
    }
    return { looks, weights, sums };
  } finally {
    pupil.dispose();
  }
}
