// SPDX-License-Identifier: Apache-2.0

// Runs a step of the optimizer for TensorFlow.js with a fixed seed; returns the weights after it.

export async function weightsAfterStep({ tf, layers, sequential, load, privateOptimizer }) {
  await tf.setBackend('cpu');
  const dp = await load();
  const kernelInitializer = 'ones';
  const all = [
    layers.dense({ units: 2, activation: 'tanh', kernelInitializer, inputShape: [2] }),
    layers.dense({ units: 1, kernelInitializer }),
  ];
  const model = sequential({ layers: all });
  const target = { steps: 8, epsilon: 1, delta: 1e-6, strategy: 'honaker', insecureSeed: 7 };
  const optimizer = privateOptimizer(tf, dp, { ...target, model, rate: 0.1 });
  const lossOf = (x, y) => tf.losses.meanSquaredError(y, model.apply(x));
  optimizer.minimize(
    lossOf,
    tf.tensor2d([
      [1, 2],
      [-1, 0.5],
    ]),
    tf.tensor2d([[1], [0]]),
  );
  optimizer.dispose();
  return model.getWeights().flatMap((weight) => [...weight.dataSync()]);
}
