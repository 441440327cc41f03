// SPDX-License-Identifier: Apache-2.0

// Functions for the study of mechanisms and learners.

import type { Certificate } from './certificate.js';
import type {
  Comparator,
  ComparatorOptions,
  RegretBounds,
  RegretBoundsOptions,
  Twin,
  TwinOptions,
} from './learning/hindsight.js';
import type { Simulation, SimulationOptions } from './learning/simulation.js';
import type { SimulationNoise, SimulationNoiseOptions } from './simulation-noise.js';

/** Functions that look at true data or at noise with a known seed: NOTHING here is private. */
export interface Study {
  /**
   * Creates a simulation of true and private sums and a learner side by side, for study: NEVER
   * private.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const play = dp.study.simulation({ steps: 200, epsilon: 4, delta: 1e-6 });
   * while (!play.finished) {
   *   const { noisySums, privateLoss } = play.advance(50);
   *   console.log(noisySums.length, privateLoss.length);
   * }
   * play.dispose();
   * ```
   */
  simulation(options: SimulationOptions): Simulation;
  /**
   * Creates rows of a mechanism's noise in floating point, at the speed of the core. For
   * simulations only, and NOT private; for releases use `noise`.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const noise = dp.study.noise({ strategy: 'blt', steps: 64, dimension: 1000 });
   * const rows = new Float32Array(16 * 1000);
   * let sum = 0;
   * while (noise.step < 64) sum += noise.next(16, rows)[0] ** 2; // of every 16th step
   * console.log(sum / 4);
   * noise.dispose();
   * ```
   */
  noise(options: SimulationNoiseOptions & { precision: 'float64' }): SimulationNoise<Float64Array>;
  noise(options: SimulationNoiseOptions & { precision?: 'float32' }): SimulationNoise<Float32Array>;
  /**
   * Creates a learner without noise, as a baseline: NOT private.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const twin = dp.study.twin({ steps: 1000, dimension: 2 });
   * const scores = twin.learn([0.6, -0.2, -0.5, 0.1], [1, 0]);
   * console.log(scores); // what it would have said before each label was known
   * twin.dispose();
   * ```
   */
  twin(options: TwinOptions): Twin;
  /**
   * Creates a search for the best fixed weights in hindsight: NOT private.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const comparator = dp.study.comparator({ dimension: 2, radius: 3 });
   * comparator.append([0.6, -0.2, -0.5, 0.1], [1, 0]);
   * const { weights, loss, gap } = comparator.best();
   * comparator.dispose();
   * console.log(weights, loss, gap); // no weights have less than loss - gap
   * ```
   */
  comparator(options: ComparatorOptions): Comparator;
  /**
   * Returns upper bounds on the average regret of a learner with this certificate, term by term,
   * for losses whose gradients are never clipped. They do not depend on data, and omit the effect
   * of truncating gradients to the grid of the release: at most batchSize / 8 of the noise term, at
   * the default grid and up to 2^18 steps.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const learner = dp.learner({ steps: 1000, dimension: 2, epsilon: 4, delta: 1e-6 });
   * const { expected, highProbability } = dp.study.regretBounds(learner.certificate, { dimension: 2 });
   * learner.dispose();
   * console.log(expected.regularisation, expected.stability, expected.noise);
   * console.log(highProbability.total); // exceeded with probability 0.05 at most
   * ```
   */
  regretBounds(certificate: Certificate, options?: RegretBoundsOptions): RegretBounds;
}
