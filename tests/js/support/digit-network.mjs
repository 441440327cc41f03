// SPDX-License-Identifier: Apache-2.0

// A small network that reads digits, trained by TensorFlow.js in Node and in browsers, and in JAX
// by tests/reference/handwriting_network.py. It has no imports, so that a page can load it.

/**
 * Trains the network, and returns the share of test images that it reads right.
 * @param libraries `tf`, `layers` of TensorFlow.js, and of this package `dp` and `privateOptimizer`
 * @param noise 'none' for TensorFlow.js's own SGD; else a mechanism, with a privacy target
 */
export function train(
  { tf, layers, dp, privateOptimizer },
  { data, settings, noise, seed, ...more },
) {
  const { batchSize, epochs, hidden, rate, training, test, clipNorm: clip, ...target } = settings;
  const numPixels = data.training.images[0].length;
  let state = seed;
  const uniforms = (rows, columns) => {
    const most = Math.sqrt(6 / (rows + columns));
    const next = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return most * (2 * (state / 2 ** 32) - 1);
    };
    return tf.tensor(Float32Array.from({ length: rows * columns }, next), [rows, columns]);
  };
  return tf.tidy(() => {
    const first = layers.dense({ units: hidden, activation: 'tanh', inputShape: [numPixels] });
    const model = layers.model([first, layers.dense({ units: 10 })]);
    const [into, out] = [uniforms(numPixels, hidden), uniforms(hidden, 10)];
    model.setWeights([into, tf.zeros([hidden]), out, tf.zeros([10])]);
    const tensorsOf = ({ images, labels }) => [
      tf.tensor2d(images),
      tf.oneHot(tf.tensor1d(labels, 'int32'), 10),
    ];
    const lossOf = (image, label) => tf.losses.softmaxCrossEntropy(label, model.apply(image));
    const [images, labels] = tensorsOf(data.training);
    const perEpoch = images.shape[0] / batchSize;
    const steps = perEpoch * epochs;
    const participation = { epochs };
    const options = { ...target, clip, strategy: noise, participation, steps, batchSize, rate };
    const seeded = { ...options, insecureSeed: seed, model, ...more };
    const ours = noise === 'none' ? undefined : privateOptimizer(tf, dp, seeded);
    const plain = tf.train.sgd(rate);
    for (let step = 0; step < steps; ++step) {
      tf.tidy(() => {
        const begin = (step % perEpoch) * batchSize;
        const batch = [images, labels].map((all) => tf.slice(all, [begin, 0], [batchSize, -1]));
        if (ours) ours.minimize(lossOf, ...batch);
        else plain.minimize(() => lossOf(...batch));
      });
    }
    ours?.dispose();
    const [shown, wanted] = tensorsOf(data.test);
    const read = tf.argMax(model.predict(shown), 1).dataSync();
    const right = tf.argMax(wanted, 1).dataSync();
    const count = read.filter((digit, i) => digit === right[i]).length;
    model.dispose();
    plain.dispose();
    return count / read.length;
  });
}
