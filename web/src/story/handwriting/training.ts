// SPDX-License-Identifier: Apache-2.0

// Trains the learners one after the other in the worker: first one seed of each learner, then the
// other seeds.

import type { Context } from '../scene.ts';
import type { AccuracyCurves } from './accuracy-chart.ts';
import type { DigitSet } from './numbers/digits.ts';
import { SIDE } from './numbers/image.ts';
import { mannerOf, NOISES, NUM_LOOKS, train } from './numbers/learners.ts';
import type {
  BatchSize,
  NoiseName,
  PrivateNoise,
  TrainingResult,
  WeightSums,
} from './numbers/learners.ts';

/** Seeds of the noise; the models of the first seed are shown. */
const SEEDS = [1, 2, 3, 4, 5];
/**
 * Index of the weight of a pixel in the middle of the digit 0, which has no ink there, so that the
 * weight moves far.
 */
export const WATCHED = 7 * SIDE + 7;

/** Settings chosen by the user. */
export interface TrainingSettings {
  epsilon: number;
  batchSize: BatchSize;
}

export interface TrainingProgress {
  /** The learner in training. */
  readonly noise: NoiseName;
  /** True for the run whose model is shown. */
  readonly isFirst: boolean;
  /** Share of all runs that is done. */
  readonly share: number;
}

interface Job extends TrainingSettings {
  noise: NoiseName;
  seed: number;
  signal: AbortSignal;
}

/** Training with two kinds of noise and with none, and the results so far. */
export class Training {
  private readonly done = new Map<NoiseName, TrainingResult[]>();
  private open: (TrainingResult & { noise: NoiseName }) | null = null;
  private running = new AbortController();
  /** Batch size of all results so far. */
  private batchSize: BatchSize | null = null;

  constructor(
    private readonly context: Context,
    private readonly digits: DigitSet,
    private readonly changed: (progress: TrainingProgress) => void,
  ) {}

  /** Models of the first seed, one of which may still be in training. */
  get models(): Map<NoiseName, Float64Array> {
    const models = new Map<NoiseName, Float64Array>();
    for (const [noise, [first]] of this.done) if (first) models.set(noise, first.weights);
    const { open } = this;
    if (open !== null && !models.has(open.noise)) models.set(open.noise, open.weights);
    return models;
  }

  get curves(): Map<NoiseName, AccuracyCurves> {
    const curves = new Map<NoiseName, AccuracyCurves>();
    for (const [noise, trained] of this.done)
      curves.set(
        noise,
        trained.map(({ looks }) => looks),
      );
    const { open } = this;
    if (open !== null && !curves.has(open.noise)) curves.set(open.noise, [open.looks]);
    return curves;
  }

  get sums(): Map<PrivateNoise, WeightSums> {
    const sums = new Map<PrivateNoise, WeightSums>();
    const add = (noise: NoiseName, one: WeightSums): void => {
      if (noise !== 'none' && !sums.has(noise)) sums.set(noise, one);
    };
    for (const [noise, [first]] of this.done) if (first) add(noise, first.sums);
    if (this.open !== null) add(this.open.noise, this.open.sums);
    return sums;
  }

  /** Restarts the training; resolves when all seeds are done or another setting is chosen. */
  async start(wish: TrainingSettings): Promise<void> {
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
      const tell = (part: number): void =>
        this.changed({ noise, isFirst: seed === SEEDS[0], share: (i + part) / jobs.length });
      tell(0);
      const trained = await this.one({ ...wish, noise, seed, signal }, (result) => {
        this.open = { noise, ...result };
        tell(result.looks.length / NUM_LOOKS);
      });
      if (trained === null) return;
      this.open = null;
      this.done.set(noise, [...(this.done.get(noise) ?? []), trained]);
      tell(1);
    }
  }

  stop(): void {
    this.running.abort();
  }

  /** Trains one learner; null if another setting was chosen meanwhile. */
  private async one(
    job: Job,
    looked: (result: TrainingResult) => void,
  ): Promise<TrainingResult | null> {
    const { noise, epsilon, batchSize, seed, signal } = job;
    const manner = mannerOf(noise, batchSize);
    try {
      const work = async (): Promise<TrainingResult> => {
        signal.throwIfAborted();
        return train(this.context.engine, this.digits, {
          noise,
          manner,
          epsilon,
          seed,
          ...(noise !== 'none' && seed === SEEDS[0] && { watched: WATCHED }),
          signal,
          looked: (result) => {
            signal.throwIfAborted();
            if (!this.context.calm) looked(result);
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
