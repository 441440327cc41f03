// SPDX-License-Identifier: Apache-2.0

// The types of the entries. Names of streams take the place of older ones.

export type * from './all.js';
export type {
  AdamParameters,
  GradientLearner,
  GradientLearnerOptions,
} from './streams/gradient-learner.js';
export type {
  Axes,
  Bound,
  CounterOptions,
  EstimateOptions,
  HistogramOptions,
  MomentsOptions,
  Named,
  NumberOptions,
  PrivacyTarget,
  Row,
  Strategy,
  StrategyParameters,
  StreamOptions,
  SumsOptions,
  TotalsOptions,
} from './streams/options.js';
export type {
  ConsistentCounts,
  Estimate,
  Estimates,
  Histogram,
  Moments,
  Step,
  Sums,
  Total,
  Totals,
  Weights,
} from './streams/readings.js';
export type {
  Account,
  Async,
  Budgets,
  Call,
  CallProgress,
  Columns,
  RecordArguments,
  Journal,
  Opened,
  Stream,
  Streams,
} from './streams/stream.js';
