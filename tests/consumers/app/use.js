// SPDX-License-Identifier: Apache-2.0

// Every consumer runs this with the package, so that all results can be compared with Node's bit
// for bit.

const problem = { numSteps: 32, epsilon: 1, delta: 1e-6 };
const learning = { mechanism: 'honaker', dimension: 1, clipNorm: 1, rate: 0.1 };

/** Totals of a few records with a fixed seed. */
export function totals(dp, mechanism = 'optimal') {
  const sums = dp.prefixSum({ ...problem, mechanism, insecureSeed: 7 });
  const released = [...sums.releaseMany([1, 0, 1, 1])];
  sums.dispose();
  return released;
}

/** Weights after two gradients, with a fixed seed. */
export function weights(dp) {
  const learner = dp.gradientLearner({ ...problem, ...learning, insecureSeed: 7 });
  for (const gradient of [0.5, -0.25]) learner.update([gradient]);
  const found = [...learner.weights()];
  learner.dispose();
  return found;
}

async function inWorker(client) {
  const simulation = await client.simulation(problem);
  const { noisySums } = await simulation.advance(4);
  client.terminate();
  return [...noisySums];
}

/** Uses `load` and the other given entry points, once each. */
export async function use({ load, loadCounter, loadLearner, loadExternal, connect }) {
  try {
    const outcome = { inline: totals(await load()) };
    if (loadCounter) outcome.counter = totals(await loadCounter(), 'honaker');
    if (loadLearner) outcome.learner = weights(await loadLearner());
    if (loadExternal) outcome.external = totals(await loadExternal());
    if (connect) outcome.worker = await inWorker(connect());
    return outcome;
  } catch (error) {
    return { error: `${error.code} ${error.message}` };
  }
}
