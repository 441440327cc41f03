// SPDX-License-Identifier: Apache-2.0

import type { Core } from '../core/core.js';
import type { DpLearner } from '../types/all.js';
import { copyOfCatalogue, makeInstance } from './catalogue.js';
import { makeGradientLearner } from './learning/gradient-learner.js';
import { makeLearner, makeLearnerLedger } from './learning/learner.js';
import { predict } from './learning/model.js';
import { learn, preconditioningCost } from './learning/precondition.js';
import { learnerDefaults } from './learning/setup.js';
import { makeNoise } from './noise.js';

/** Makes the API of an instance for learning only. */
export function makeLearnerApi(core: Core): DpLearner {
  const instance = makeInstance(core);
  return Object.freeze<DpLearner>({
    version: PACKAGE_VERSION,
    mechanisms: () => copyOfCatalogue(instance),
    learn: (options) => learn(instance, options),
    preconditioningCost: (options) => preconditioningCost(core, options),
    learnerDefaults: (options) => learnerDefaults(core, options),
    learner: (options) => makeLearner(instance, options),
    learnerLedger: (options) => makeLearnerLedger(instance, options),
    gradientLearner: (options) => makeGradientLearner(instance, options),
    noise: ((options: unknown) => makeNoise(instance, options)) as DpLearner['noise'],
    predict: (model, features, out) => predict(model, features, out),
    get liveHandles() {
      return core.call('liveHandles');
    },
  });
}
