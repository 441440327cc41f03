// SPDX-License-Identifier: Apache-2.0

// The library that `load` returns.

import type { CertificateOptions, CheckedCertificate } from './certificate.js';
import type { CompareOptions, Comparison } from './comparison.js';
import type { ConsistentCounts, Histogram } from './streams/readings.js';
import type { Budgets, Streams } from './streams/stream.js';
import type { LearnPlan, LearnPlanOptions } from './learning/defaults.js';
import type { LearnOptions } from './learning/learn.js';
import type { LearnedModel } from './streams/model.js';
import type { SavedStrategy, StrategyInfo } from './mechanism.js';
import type { Noise, NoiseOptions } from './noise.js';
import type { OptimizeOptions } from './optimization.js';
import type {
  ApproximateDp,
  CalibrateOptions,
  Calibration,
  GaussianCalibration,
  PureCalibration,
  PureDp,
} from './privacy.js';
import type { Queries } from './queries.js';
import type { Search } from './search.js';
import type { Study } from './study.js';
import type {
  ErrorBounds,
  BoundsOptions,
  PureError,
  PureErrorOptions,
  StackError,
  StackErrorOptions,
  UnitError,
  UnitErrorOptions,
} from './unit-error.js';

/** Functions that a worker also has, with promises. */
export interface Analysis {
  /**
   * Returns the noise required by a privacy target, at unit sensitivity; with delta 0, only the mu
   * and rho that the target implies.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { noiseMultiplier, mu } = dp.calibrate({ epsilon: 1, delta: 1e-6 });
   * console.log(noiseMultiplier, 1 / mu); // 4.2247 twice
   * ```
   */
  calibrate(options: PureDp): PureCalibration;
  calibrate(options: ApproximateDp | { mu: number; delta: number }): GaussianCalibration;
  /**
   * Returns the noise required by any kind of privacy target. With a target in rho, `epsilon` holds
   * for every rho-zCDP mechanism, including lattice noise.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * console.log(dp.calibrate({ rho: 0.5, delta: 1e-3 }).epsilon); // 3.5366
   * ```
   */
  calibrate(options: CalibrateOptions): Calibration;
  /**
   * Returns the errors of pure-DP totals (delta = 0), in input units.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { simultaneousError } = dp.error({ steps: 365, epsilon: 1, delta: 0, beta: 0.05 });
   * console.log(simultaneousError); // 48.15234375
   * ```
   */
  error(options: PureErrorOptions): PureError;
  /**
   * Returns the errors of several workloads of one stream that share their noise, at unit noise
   * multiplier.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const workloads = ['prefix', { window: 7 }];
   * const sums = dp.error({ steps: 365, workloads, beta: 0.05 });
   * console.log(sums.workloads.map((own) => own.simultaneousError));
   * ```
   */
  error(options: StackErrorOptions): StackError;
  /**
   * Returns all that is known about the error of a mechanism, at unit noise multiplier and clip
   * norm 1. Details that are large or slow to compute are included on request.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const problem = { steps: 8, participation: { epochs: 4 } };
   * const { maxError, perStep } = dp.error({ strategy: 'tree', ...problem, perStep: true });
   * console.log(maxError === Math.max(...perStep));
   * ```
   */
  error(options: UnitErrorOptions): UnitError;
  /**
   * Creates a search that compares all mechanisms; its result lists them best first.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { mechanisms } = dp.compare({ steps: 64, workload: { momentum: 0.9 } }).result();
   * const [{ mechanism, parameters, ratio }] = mechanisms;
   * console.log(mechanism, parameters, ratio);
   * ```
   */
  compare(options: CompareOptions): Search<Comparison>;
  /**
   * Returns proved and published bounds on the least error of prefix sums.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { max, published } = dp.bounds({ steps: 1024 });
   * console.log(max, published.lower.value, published.lower.holds);
   * console.log(dp.bounds({ steps: 1024, rho: 0.1 }).mechanisms?.every);
   * console.log(dp.bounds({ steps: 256, epochs: 4 }).epochs);
   * ```
   */
  bounds(options: BoundsOptions): ErrorBounds;
  /**
   * Returns the privacy guarantee of a mechanism without making a release, and its error relative
   * to a certified lower bound.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { mu, noiseStddev, maxError } = dp.certificate({
   *   strategy: 'honaker',
   *   steps: 1000,
   *   epsilon: 1,
   *   delta: 1e-6,
   *   participation: { times: 3, apart: 100 },
   * });
   * console.log(mu, noiseStddev, maxError);
   * ```
   */
  certificate(options: CertificateOptions): CheckedCertificate;
  /**
   * Creates a search for the best parameters of a mechanism; its result is a strategy to save and
   * reuse.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const saved = dp.optimize({ strategy: 'blt', steps: 64 }).result();
   * console.log(JSON.stringify(saved).length, saved.error);
   * ```
   */
  optimize(options: OptimizeOptions): Search<SavedStrategy>;
  /**
   * Learns a private linear model from a whole table. All other settings are chosen from public
   * numbers: rows, columns, loss, epsilon and delta. If there are enough rows, it releases second
   * moments of the features first (`precondition`). Protects one row of the table; the number of
   * rows is treated as public.
   * @throws if labels are not classes or features are not finite, and as `learner` does.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const minutes = Float64Array.from({ length: 500 }, () => 60 * Math.random());
   * const labels = minutes.map((m) => (m > 30 ? 1 : 0));
   * const columns = { minutes: [0, 60] };
   * const model = dp.learn({ features: minutes, labels, columns, epsilon: 1, delta: 1e-6 });
   * console.log(dp.predict(model, [10, 50])); // below 0, above 0
   * ```
   */
  learn(options: LearnOptions): LearnedModel;
  /**
   * Returns settings for learning, chosen from public numbers alone: options for `learner` (clip
   * norm, domain, lambda and, for a table, strategy and descent), and whether `learn` releases
   * second moments of a table first. Put your own options after them:
   * `{ ...plan.options, strategy: 'blt' }`.
   *
   * No theorem bounds the quality of these settings: see docs/math/learning.md, section 10.
   *
   * @throws if a loss has unbounded slopes.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const { options, precondition } = dp.learnPlan({ rows: 1000, dimension: 2, epsilon: 4, delta: 1e-6 });
   * const learner = dp.learner(options);
   * learner.learn([0.6, -0.2, -0.5, 0.1], [1, 0]); // two of the thousand
   * console.log(options.clip, precondition, learner.weights());
   * ```
   */
  learnPlan(options: LearnPlanOptions): LearnPlan;
  /**
   * Returns predictions of a model for examples, row after row, whose features are the `inputs` of
   * the model. A prediction is a score: for two classes, its sign gives the class and, for
   * 'logistic', 1 / (1 + e^-score) is the probability of class 1. For numeric labels it is the
   * predicted value, and for 'softmax' there is a score for each class.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const learner = dp.learner({ steps: 4, epsilon: 1, delta: 1e-6, loss: 'squared', dimension: 1 });
   * const model = JSON.parse(JSON.stringify(learner.model()));
   * console.log(dp.predict(model, [0.5, 1])); // two examples of one input
   * ```
   */
  predict(model: LearnedModel, features: ArrayLike<number>): Float64Array;
  /**
   * Creates exactly rounded rows of noise, for all coordinates or for a shard of them.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const key = crypto.getRandomValues(new Uint8Array(32));
   * const options = { strategy: 'tree', steps: 100, dimension: 500, key };
   * const left = dp.noise(options);
   * const right = dp.noise({ ...options, firstCoordinate: 500 });
   * console.log(left.rounded({ numRows: 1, scale: 64 }), right.rounded({ numRows: 1, scale: 64 }));
   * left.dispose();
   * right.dispose();
   * ```
   */
  noise(options: NoiseOptions): Noise;
}

/** The library. All functions are methods of this object: `const dp = await load()`. */
export interface DpFtrl extends Analysis, Streams, Budgets {
  readonly version: string;
  /** The available strategies, with the parameters and limits of each. */
  readonly strategies: readonly StrategyInfo[];
  /**
   * Makes the counts of a histogram consistent by post-processing, which costs no privacy.
   * 'non-negative' sets negative counts to 0, which moves none farther from the truth; 'monotone'
   * replaces the counts of all steps by the closest ones that are non-negative and never decrease,
   * which increases neither the sum of squared errors of a category nor its largest error.
   * 'monotone' takes the readings of all steps from the first on, and does not suit counts of a
   * window, which may truly decrease. The results are biased, and `stddev`, `low` and `high` do not
   * apply to them.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const drinks = dp.histogram({ steps: 84, epsilon: 1, delta: 1e-6, categories: ['tea', 'milk'] });
   * const days = drinks.releaseMany(['tea', 'milk', 'tea']);
   * console.log(dp.consistent(days, 'monotone').at(-1).count.tea >= 0);
   * ```
   */
  consistent<K extends string>(
    readings: readonly Histogram<K>[],
    how: 'non-negative' | 'monotone',
  ): ConsistentCounts<K>[];
  /** Linear queries on a histogram, and private choices. */
  readonly queries: Queries;
  /** Functions that look at true data or at noise with a known seed: NOTHING here is private. */
  readonly study: Study;
  /** Handles not yet disposed of, for leak tests. */
  readonly liveHandles: number;
}

/**
 * The library of `dp-ftrl/counter`: counters of the mechanisms `optimal`, `blt`, `honaker` and
 * `tree`, bit-identical to the full library for the same factorization. It has no searches.
 * `optimal` is the closed-form factorization, whose largest error, for one participation and the
 * default buffers, is up to 2.8 % above the least possible; `blt` takes `decays` and `weights`. A
 * saved strategy may replace a name, unless it is dense. Other workloads, `epochLength`,
 * `normalizeColumns` and `lattice` are refused.
 */
export type DpCounter = Pick<
  DpFtrl,
  'version' | 'strategies' | 'counter' | 'totals' | 'liveHandles'
>;
