// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />

// Private streams, here or in a worker, and the functions that make them.

import type { Certificate } from '../certificate.js';
import type { Async, Call } from '../async.js';
import type { Handle } from '../instance.js';
import type { Store } from '../store.js';
import type { Budget, BudgetOptions } from '../budget.js';
import type { Axes, NamedRecord, PrivacyTarget, Row } from './options.js';
import type { Bound } from '../mechanism.js';
import type { GradientLearner, GradientLearnerOptions } from './gradient-learner.js';
import type { Learner, LearnerOptions } from './learner.js';
import type { ActiveOptions, CounterOptions, HistogramOptions } from './options.js';
import type { IncrementsOptions, MomentsOptions } from './options.js';
import type { SumsOptions, TotalsOptions } from './options.js';
import type { ActiveCounts, Estimate, Estimates, Histogram, Moments } from './readings.js';
import type { Sums, Total, Totals, Weights } from './readings.js';

/** The arguments of `add` as lists, with one entry per record; rows of numbers are concatenated. */
export type Columns<A extends readonly unknown[]> = {
  [I in keyof A]-?: A[I] extends Row ? Row : ArrayLike<A[I]>;
};

/** The arguments of a record, preceded by its person if people are protected. */
export type RecordArguments<P, A extends readonly unknown[]> = [P] extends [never]
  ? A
  : [person: string, ...record: A];

/**
 * A private stream: records are added to the open step, and each step yields a reading when it
 * ends.
 *
 * @typeParam A  arguments that make a record.
 * @typeParam R  reading after each step.
 */
export interface Stream<A extends readonly unknown[], R> extends Handle {
  /** Adds a record to the open step. */
  add(...record: A): void;
  /** Adds records to the open step: all of them, or none if one is refused. */
  addMany(...columns: Columns<A>): void;
  /** Ends the open step, with or without records, and returns its reading. */
  end(): R;
  /**
   * Ends `steps` steps. Past the horizon the call fails, and the error's `released` holds the
   * readings up to there.
   */
  endMany(steps: number): R[];
  /** Adds a record and ends the step. If the record is refused, the step stays open. */
  release(...record: A): R;
  /** Adds records and ends the step. If one is refused, none is added, and the step stays open. */
  releaseBatch(...columns: Columns<A>): R;
  /**
   * Ends one step for each record; with a `batchSize`, one step for every `batchSize` records, and
   * records that do not fill a step stay in the open step. All records are checked before the first
   * step. Past the horizon the call fails, and the error's `released` holds the readings up to
   * there.
   */
  releaseMany(...columns: Columns<A>): R[];
  /** Index of the open step, which is the number of readings so far. */
  readonly step: number;
  /** The horizon. */
  readonly steps: number;
  /** Records so far, across restarts; also the index of the next record to add. */
  readonly records: number;
  /** Records in the open step. */
  readonly waiting: number;
  /** With `people`: number of records that did not count. It depends on the data: NOT private. */
  readonly dropped: number;
  /** The privacy guarantee for all readings together. */
  readonly certificate: Certificate;
  readonly grid: number;
  /** True with a fixed seed: nothing is then private, even if the certificate says so. */
  readonly insecure: boolean;
  /**
   * Standard deviation of the first number in the reading of a step, which may lie in the future;
   * for a learner, of the noise in each sum of gradients.
   */
  stddev(step: number): number;
  /**
   * Half width that the noise in each sum of a step exceeds with probability at most `probability`;
   * without a step, it holds for all sums of all steps together. For a learner, these are its sums
   * of gradients. Moments, histograms and counts of active people have intervals instead, and
   * refuse with `unsupported`.
   */
  halfWidth(of: { probability: number; step?: number }): number;
}

/** Methods that a store adds: they return earlier readings again. */
export interface Journal<A extends readonly unknown[], R> {
  /** Returns the reading of a released step again; -1 is the last released step. */
  at(step: number): R;
  /**
   * Releases the step of this index with exactly these records, once. If the step was already
   * released with the same records in the same order, returns its reading again; if with others,
   * fails with `already_released`. If the step is open and empty, releases it; if it is open and
   * has records, fails with `bad_state`. For callers that do not know whether an earlier call
   * arrived.
   */
  releaseAt(step: number, ...columns: Columns<A>): R;
  /** 32 hexadecimal digits that identify the key and reveal nothing about it. */
  readonly identity: string;
}

/**
 * The type of a stream with these options, here or in a worker.
 *
 * @typeParam More  members that only this kind of stream has.
 */
export type StreamAt<Where, S, B, A extends readonly unknown[], R, More = unknown> = [S] extends [
  never,
]
  ? Where extends 'worker'
    ? Promise<Async<Stream<A, R> & More>>
    : [B] extends [Budget]
      ? Stream<A, R> & More
      : Promise<Stream<A, R> & More>
  : Promise<Async<Stream<A, R> & Journal<A, R> & More>>;

/** Members specific to counts of active people. */
export interface Forgets {
  /**
   * Forgets a person, whose name is kept only as a keyed hash. The person still counts until the
   * windows of earlier events end, because an earlier drop would reveal the request; new events of
   * the person do not count for the length of the longest window. After that, nothing about the
   * person is kept.
   */
  forget(person: string): void;
}

/** The last arguments of a function that makes a stream: in a worker, the options of the call. */
type CallArguments<Where> = Where extends 'worker' ? [call?: Call] : [];

/** The functions that make streams: here, or in a worker, which has neither stores nor budgets. */
export interface Streams<Where extends 'here' | 'worker' = 'here'> {
  /**
   * Counts: a record is a number, by default 1.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const visits = dp.counter({ steps: 365, epsilon: 1, delta: 1e-6 });
   * visits.addMany([1, 0, 1]);
   * const { value, low, high } = visits.end();
   * console.log(value.toFixed(0), low < high);
   * ```
   */
  counter<
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: CounterOptions & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<Where, S, B, RecordArguments<P, [amount?: number]>, Total>;
  /**
   * Sums of rows of `dimension` numbers.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const sums = dp.totals({ steps: 365, epsilon: 1, delta: 1e-6, dimension: 2, clip: 5 });
   * const { values, halfWidth } = sums.release([3, 4]);
   * console.log(values.length, halfWidth > 0);
   * ```
   */
  totals<
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: TotalsOptions & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<Where, S, B, RecordArguments<P, [record: Row]>, Totals>;
  /**
   * Several sums of one stream that share their noise: a total, a week, a month.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const workloads = { all: 'prefix', week: { window: 7 } };
   * const visits = dp.sums({ steps: 84, epsilon: 1, delta: 1e-6, workloads });
   * const { all, week } = visits.release(1).sums;
   * console.log(all.value.toFixed(0), week.value.toFixed(0));
   * ```
   */
  sums<
    const K extends string,
    D extends number | undefined = undefined,
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: SumsOptions<K, D> & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<
    Where,
    S,
    B,
    RecordArguments<P, [D] extends [undefined] ? [amount?: number] : [record: Row]>,
    Sums<K, [D] extends [undefined] ? Estimate : Estimates>
  >;
  /**
   * Count, means and variances of columns with public ranges.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const ages = dp.moments({ steps: 84, epsilon: 1, delta: 1e-6, columns: { age: [0, 100] } });
   * const { count, mean } = ages.releaseBatch([{ age: 37 }, { age: 52 }]);
   * console.log(count.value.toFixed(0), mean.age.value.toFixed(0));
   * ```
   */
  moments<
    const K extends string,
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: MomentsOptions<K> & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<Where, S, B, RecordArguments<P, [record: NamedRecord<K, number>]>, Moments<K>>;
  /**
   * Counts of public categories.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const drinks = dp.histogram({ steps: 84, epsilon: 1, delta: 1e-6, categories: ['tea', 'coffee'] });
   * const { count, total } = drinks.releaseBatch(['tea', 'coffee', 'tea']);
   * console.log(count.tea.value.toFixed(0), total.value.toFixed(0));
   * ```
   */
  histogram<
    const K extends string,
    const O extends string = never,
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: HistogramOptions<K, O> & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<
    Where,
    S,
    B,
    RecordArguments<P, [category: [O] extends [never] ? NoInfer<K> : string]>,
    Histogram<K | O>
  >;
  /**
   * Active people of days, weeks and months: a record is the name of a person who did something in
   * the open step, any number of times. All that one person does is protected, over all steps
   * together and before the first; with `steps: 'endless'`, in any 365 consecutive steps. Windows
   * are measured in steps, not by a clock: end one step each day. Errors of different steps are
   * correlated, so the mean of a year is less precise than the error of one day suggests.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const windows = { day: 1, week: 7, month: 30 };
   * const people = dp.active({ windows, steps: 365, epsilon: 1, delta: 1e-6 });
   * people.add('ann');
   * people.add('ann'); // the same person
   * people.add('bob');
   * const { day, month } = people.end().active;
   * console.log(day.value, month.low < 2);
   * ```
   */
  active<
    const K extends string,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: ActiveOptions<K> & Omit<Axes<never, S, B>, 'people'> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<Where, S, B, [person: string], ActiveCounts<K>, Forgets>;
  /**
   * Noisy sums of individual steps, for optimisers of your own. Their noise is correlated, so that
   * it mostly cancels when they are added up: the sum of all readings so far is the reading of
   * `totals`, with its noise. Default strategy: 'optimal' up to 4096 steps, and 'blt' beyond, where
   * only strategies with a Toeplitz encoder are accepted.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const target = { steps: 100, epsilon: 4, delta: 1e-6 };
   * const gradients = dp.increments({ ...target, dimension: 3, clippedTo: 1 });
   * const sum = [0.6, 0.3, -0.8]; // of a batch of gradients, each of norm at most 1
   * const { values, stddev } = gradients.release(sum);
   * console.log(values.length, stddev > 1, gradients.certificate.clipping); // 3 true by the caller
   * ```
   */
  increments<
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: IncrementsOptions & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<Where, S, B, RecordArguments<P, [record: Row]>, Totals>;
  /**
   * Private online learning of a linear model: a record is the features of an example and its
   * label, and the reading of a step has the next weights. Gradients are clipped and summed
   * privately, and the weights are computed from the sums alone, so that they, and all that is
   * derived from them, are as private as the certificate says. Class labels are 0 and 1, or -1 and
   * +1. With `people`, the first example of a person in a step counts; the others keep their place
   * in the batch. Replace a refused example by one whose features are 0: leaving it out would shift
   * all later examples.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const learner = dp.learner({ steps: 1000, dimension: 2, epsilon: 4, delta: 1e-6 });
   * learner.release([0.6, -0.2], 1);
   * learner.learn([-0.5, 0.1, 0.3, 0.2], [0, 1]); // two more steps
   * const model = learner.model();
   * console.log(model.weights, dp.predict(model, [0.3, 0.3]));
   * ```
   */
  learner<
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: LearnerOptions & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<Where, S, B, RecordArguments<P, [features: Row, label: number]>, Weights, Learner>;
  /**
   * Private learning of any model: a record is a gradient, which you compute at `weights()`, and
   * the reading of a step has the next weights. They are computed from private sums alone, so that
   * they, and all that is derived from them, are as private as the certificate says. If weights
   * overflow, the step is spent, and the call fails with `bad_state`.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const target = { steps: 100, epsilon: 4, delta: 1e-6 };
   * const options = { dimension: 2, batchSize: 2, rule: { adam: {} }, rate: 0.1 };
   * const learner = dp.gradientLearner({ ...target, ...options });
   * const gradientAt = ([a, b], x) => [a - x, b + x]; // of your model, at the weights
   * const weights = learner.weights();
   * const batch = [...gradientAt(weights, 1), ...gradientAt(weights, 2)];
   * const reading = learner.releaseBatch(batch);
   * console.log(reading.weights, learner.step);
   * ```
   */
  gradientLearner<
    P extends Bound = never,
    S extends StoreAt<Where> = never,
    B extends BudgetAt<Where> = never,
  >(
    options: GradientLearnerOptions & Axes<P, S, B> & PrivacyTarget,
    ...rest: CallArguments<Where>
  ): StreamAt<Where, S, B, RecordArguments<P, [gradient: Row]>, Weights, GradientLearner>;
}

/** A worker has no stores, and no budgets. */
type StoreAt<Where> = Where extends 'worker' ? never : Store;
type BudgetAt<Where> = Where extends 'worker' ? never : AnyBudget;

/** A budget in memory, or in a store. */
export type AnyBudget = Budget | Async<Budget>;

/** The function that makes budgets. */
export interface Budgets {
  /**
   * Makes a privacy budget, from which streams and other releases about the same people draw. With
   * `store` it survives restarts.
   * @example
   * ```js
   * import { load } from 'dp-ftrl';
   *
   * const dp = await load();
   * const budget = dp.budget({ epsilon: 1, delta: 1e-6 });
   * const visits = dp.counter({ steps: 365, ...budget.share(1 / 2), budget });
   * const pages = dp.histogram({ steps: 365, ...budget.left, categories: ['a', 'b'], budget });
   * console.log(visits.step, pages.step, budget.left.epsilon); // 0 0 0
   * ```
   */
  budget<S extends Store = never>(
    options: BudgetOptions & Partial<{ store: S }>,
  ): [S] extends [never] ? Budget : Promise<Async<Budget>>;
}
