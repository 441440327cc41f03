// SPDX-License-Identifier: Apache-2.0

// TensorFlow.js in Node, with the two backends that need no GPU.

import * as tf from '@tensorflow/tfjs-core';
import * as layers from '@tensorflow/tfjs-layers';
import '@tensorflow/tfjs-backend-cpu';
import '@tensorflow/tfjs-backend-wasm';

export { layers, tf };

/** Layers in the form that the digit network expects. */
export const networkLayers = {
  dense: layers.layers.dense,
  model: (all) => layers.sequential({ layers: all }),
};

export async function useBackend(name) {
  await tf.setBackend(name);
  await tf.ready();
}
