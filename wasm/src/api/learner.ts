// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../core/core.js';
import { Backstop } from '../core/handle.js';
import type { DpLearner } from '../types/all.js';
import { readCatalogue } from './catalogue.js';
import { makeGradientLearner } from './learning/gradient-learner.js';
import { learn } from './learning/learn.js';
import { makeLearner, makeLearnerLedger } from './learning/learner.js';
import { predict } from './learning/model.js';
import { learnerDefaults } from './learning/setup.js';
import { makeNoise } from './noise.js';

/** The API of one instance that learns and does nothing else. */
export function makeLearnerApi(core: Core): DpLearner {
  const backstop = new Backstop(core);
  const catalogue = readCatalogue(core);
  const mechanisms = catalogue.map((entry) => entry.name);
  return Object.freeze<DpLearner>({
    version: PACKAGE_VERSION,
    mechanisms: () => catalogue.map((entry) => ({ ...entry, parameters: [...entry.parameters] })),
    learn: (options) => learn(core, backstop, mechanisms, options),
    learnerDefaults: (options) => learnerDefaults(core, options),
    learner: (options) => makeLearner(core, backstop, mechanisms, options),
    learnerLedger: (options) => makeLearnerLedger(core, backstop, mechanisms, options),
    gradientLearner: (options) => makeGradientLearner(core, backstop, mechanisms, options),
    noise: ((options: unknown) =>
      makeNoise(core, backstop, mechanisms, options)) as DpLearner['noise'],
    predict: (model, features, out) => predict(model, features, out),
    get liveHandles() {
      return core.call('liveHandles');
    },
  });
}
