// SPDX-License-Identifier: Apache-2.0

// Five hundred simulated phones that train one model: each phone sends the clipped gradient of its
// own images, and a server adds one row of correlated noise per round.

import type { Engine } from '../../../base/engine.ts';
import type { DigitSet, Examples } from './digits.ts';
import { accuracy, gradientSum, lateMean, NUM_WEIGHTS } from './softmax.ts';

export const NUM_PHONES = 500;
/** Number of phones per round. */
export const GROUP = 25;
/** Rounds until the same phones return. */
export const SEPARATION = NUM_PHONES / GROUP;
/** Number of rounds in which a phone takes part. */
export const PARTICIPATIONS = 5;
export const NUM_ROUNDS = SEPARATION * PARTICIPATIONS;
export const DELTA = 1e-6;

/** Training parameters of the crowd. */
export interface CrowdSettings {
  clip: number;
  /** Regularisation of the mean over a group. */
  lambda: number;
}

/** Settings that worked best on the stand-in data, at epsilon 2: docs/handwriting.md. */
export const CROWD_MANNER: CrowdSettings = { clip: 0.1, lambda: 0.1 / 3 };

/**
 * Everything in one round. Only published values are public; a real deployment keeps the rest
 * secret.
 */
export interface CrowdRound {
  /** Indices of the phones. */
  group: number[];
  /** The model sent to the phones. */
  weights: Float64Array;
  /** Sum of the contributions of the phones, each clipped separately. */
  sum: Float64Array;
  /** The sum with this round's noise. */
  published: Float64Array;
  /** The model after this round: the mean of the later half of all models so far. */
  model: Float64Array;
  /** Share of held-out images that the model reads correctly. */
  accuracy: number;
}

export interface Crowd {
  rounds: CrowdRound[];
  /** Standard deviation of the noise in one entry of the total over all rounds. */
  stddev: number;
  /** Standard deviation with fresh noise in each round, at the same privacy. */
  freshStddev: number;
}

export interface CrowdOptions {
  epsilon: number;
  seed: number;
  manner: CrowdSettings;
  signal?: AbortSignal;
  /** Called after each round with all rounds so far. */
  made?(rounds: readonly CrowdRound[]): void;
}

export function imagesOfPhone(phone: number, { labels }: Examples): number[] {
  const numImages = Math.floor(labels.length / NUM_PHONES);
  return Array.from({ length: numImages }, (_, i) => phone * numImages + i);
}

/** The group of a round: every phone takes part once before any phone does so again. */
export function groupOf(round: number): number[] {
  const first = (round % SEPARATION) * GROUP;
  return Array.from({ length: GROUP }, (_, i) => first + i);
}

const lengthOf = (vector: Float64Array): number =>
  Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));

/** The clipped mean gradient over the images of a phone, and its norm before clipping. */
export function contributionOf(
  phone: number,
  weights: Float64Array,
  examples: Examples,
  clip: number,
): { clipped: Float64Array; length: number } {
  const images = imagesOfPhone(phone, examples);
  const mean = gradientSum(weights, examples, images).map((value) => value / images.length);
  const length = lengthOf(mean);
  const scale = Math.min(1, clip / length);
  return { clipped: mean.map((value) => value * scale), length };
}

/** Runs all rounds. */
export async function runCrowd(
  engine: Engine,
  { training, heldOut }: DigitSet,
  { epsilon, seed, manner, signal, made }: CrowdOptions,
): Promise<Crowd> {
  const { clip, lambda } = manner;
  const call = signal === undefined ? undefined : { signal };
  const sums = await engine.totals(
    {
      steps: NUM_ROUNDS,
      people: { times: PARTICIPATIONS, apart: SEPARATION },
      dimension: NUM_WEIGHTS,
      strategy: { name: 'banded', bands: SEPARATION },
      epsilon,
      delta: DELTA,
      clip,
      insecureSeed: seed,
    },
    call,
  );
  try {
    const rounds: CrowdRound[] = [];
    const models: Float64Array[] = [];
    let weights: Float64Array = new Float64Array(NUM_WEIGHTS);
    let before: Float64Array = new Float64Array(NUM_WEIGHTS);
    for (let round = 0; round < NUM_ROUNDS; ++round) {
      const group = groupOf(round);
      const sum = new Float64Array(NUM_WEIGHTS);
      const records = new Float64Array(GROUP * NUM_WEIGHTS);
      group.forEach((phone, i) => {
        const { clipped } = contributionOf(phone, weights, training, clip);
        records.set(clipped, i * NUM_WEIGHTS);
        clipped.forEach((value, j) => (sum[j]! += value));
      });
      const people = group.map((phone) => `phone ${phone}`);
      const { values: release } = await sums.releaseBatch(people, records, call);
      const published = release.map((value, j) => value - before[j]!);
      const next = release.map((value) => -value / (lambda * GROUP));
      models.push(next);
      const model = lateMean(models);
      rounds.push({ group, weights, sum, published, model, accuracy: accuracy(model, heldOut) });
      [weights, before] = [next, release];
      made?.(rounds);
    }
    const fresh = await engine.error({
      steps: NUM_ROUNDS,
      participation: { times: PARTICIPATIONS, apart: SEPARATION },
      strategy: 'independent',
    });
    return {
      rounds,
      stddev: await sums.stddev(NUM_ROUNDS - 1),
      freshStddev: fresh.maxError * sums.certificate.noiseMultiplier * clip,
    };
  } finally {
    void sums.dispose();
  }
}
