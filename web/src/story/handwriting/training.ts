// SPDX-License-Identifier: Apache-2.0

// Trains the learners one after the other in the worker: first one seed of each, then the other
// seeds.

import type { Context } from '../scene.ts';
import type { Curves } from './accuracy-chart.ts';
import type { DigitSet } from './numbers/digits.ts';
import { SIDE } from './numbers/image.ts';
import { mannerOf, NOISES, NUM_LOOKS, train } from './numbers/learners.ts';
import type { BatchSize, Noise, PrivateNoise, Trained, WeightSums } from './numbers/learners.ts';

/** Seeds of the noise; the models of the first seed are shown. */
const SEEDS = [1, 2, 3, 4, 5];
/** Weight of a pixel in the middle of the 0, where a 0 has no ink: it moves far. */
export const WATCHED = 7 * SIDE + 7;

type Progress = Pick<Trained, 'looks' | 'sums'>;

/** Settings chosen by the user. */
export interface Wish {
  epsilon: number;
  batchSize: BatchSize;
}

interface Job extends Wish {
  noise: Noise;
  seed: number;
  signal: AbortSignal;
}

/** Training with two kinds of noise and with none, and the results so far. */
export class Training {
  private readonly done = new Map<Noise, Trained[]>();
  private open: (Progress & { noise: Noise }) | null = null;
  private running = new AbortController();
  /** Batch size of all results so far. */
  private batchSize: BatchSize | null = null;

  constructor(
    private readonly context: Context,
    private readonly digits: DigitSet,
    private readonly changed: (share: number) => void,
  ) {}

  /** Returns the models of the first seed. */
  get models(): Map<Noise, Float64Array> {
    const models = new Map<Noise, Float64Array>();
    for (const [noise, [first]] of this.done) if (first) models.set(noise, first.weights);
    return models;
  }

  get curves(): Map<Noise, Curves> {
    const curves = new Map<Noise, Curves>();
    for (const [noise, trained] of this.done)
      curves.set(
        noise,
        trained.map(({ looks }) => looks),
      );
    const { open } = this;
    if (open !== null && !curves.has(open.noise)) curves.set(open.noise, [open.looks]);
    return curves;
  }

  /** Returns the sums of the watched weight with the first seed. */
  get sums(): Map<PrivateNoise, WeightSums> {
    const sums = new Map<PrivateNoise, WeightSums>();
    const add = (noise: Noise, one: WeightSums): void => {
      if (noise !== 'none' && !sums.has(noise)) sums.set(noise, one);
    };
    for (const [noise, [first]] of this.done) if (first) add(noise, first.sums);
    if (this.open !== null) add(this.open.noise, this.open.sums);
    return sums;
  }

  /** Restarts the training; resolves when all seeds are done or another setting is chosen. */
  async start(wish: Wish): Promise<void> {
    this.running.abort();
    const { signal } = (this.running = new AbortController());
    // Without noise, nothing depends on epsilon.
    const kept = wish.batchSize === this.batchSize ? this.done.get('none') : undefined;
    this.batchSize = wish.batchSize;
    this.done.clear();
    this.open = null;
    if (kept !== undefined) this.done.set('none', kept);
    const jobs = SEEDS.flatMap((seed, i) =>
      NOISES.filter((noise) => noise !== 'none' || (i === 0 && kept === undefined)).map(
        (noise) => ({ noise, seed }),
      ),
    );
    for (const [i, { noise, seed }] of jobs.entries()) {
      const trained = await this.one({ ...wish, noise, seed, signal }, (progress) => {
        this.open = { noise, ...progress };
        this.changed((i + progress.looks.length / NUM_LOOKS) / jobs.length);
      });
      if (trained === null) return;
      this.open = null;
      this.done.set(noise, [...(this.done.get(noise) ?? []), trained]);
      this.changed((i + 1) / jobs.length);
    }
  }

  stop(): void {
    this.running.abort();
  }

  /** Trains one learner; null if another setting was chosen meanwhile. */
  private async one(job: Job, looked: (progress: Progress) => void): Promise<Trained | null> {
    const { noise, epsilon, batchSize, seed, signal } = job;
    const manner = mannerOf(noise, batchSize);
    try {
      const work = async (): Promise<Trained> => {
        signal.throwIfAborted();
        return train(this.context.engine, this.digits, {
          noise,
          manner,
          epsilon,
          seed,
          ...(noise !== 'none' && seed === SEEDS[0] && { watched: WATCHED }),
          signal,
          looked: (progress) => {
            signal.throwIfAborted();
            if (!this.context.calm) looked(progress);
          },
        });
      };
      return await this.context.queue(work, { patient: true });
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }
}
