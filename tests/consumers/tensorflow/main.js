// SPDX-License-Identifier: Apache-2.0

import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import '@tensorflow/tfjs-backend-cpu';
import { layers, sequential } from '@tensorflow/tfjs-layers';
import { load } from 'dp-ftrl';
import { privateOptimizer } from 'dp-ftrl/tfjs';
import { weightsAfterStep } from './step.js';

globalThis.outcome = weightsAfterStep({ tf, layers, sequential, load, privateOptimizer });
