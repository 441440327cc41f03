// SPDX-License-Identifier: Apache-2.0

// All public types.

export type * from './async.js';
export type * from './budget.js';
export type * from './certificate.js';
export type * from './comparison.js';
export type * from './instance.js';
export type * from './learning/defaults.js';
export type * from './learning/hindsight.js';
export type * from './learning/learn.js';
export type * from './learning/simulation.js';
export type * from './library.js';
export type * from './mechanism.js';
export type * from './noise.js';
export type * from './optimization.js';
export type * from './privacy.js';
export type * from './problem.js';
export type * from './queries.js';
export type * from './refusal.js';
export type * from './search.js';
export type * from './simulation-noise.js';
export type * from './store.js';
export type * from './streams/gradient-learner.js';
export type * from './streams/learner.js';
export type * from './streams/loss.js';
export type * from './streams/model.js';
export type * from './streams/options.js';
export type * from './streams/readings.js';
export type * from './streams/stream.js';
export type * from './study.js';
export type * from './unit-error.js';
