// SPDX-License-Identifier: Apache-2.0

// Every consumer runs this with the package, so that all results can be compared with Node's bit
// for bit.

const problem = { steps: 32, epsilon: 1, delta: 1e-6 };

/** Totals of a few records with a fixed seed. */
export function totals(dp, strategy = 'optimal') {
  const visits = dp.counter({ ...problem, strategy, insecureSeed: 7 });
  const released = visits.releaseMany([1, 0, 1, 1]).map(({ value }) => value);
  visits.dispose();
  return released;
}

async function inWorker(client) {
  const simulation = await client.study.simulation(problem);
  const { noisySums } = await simulation.advance(4);
  client.terminate();
  return [...noisySums];
}

/** Uses `load` and the other given entry points, once each. */
export async function use({ load, loadCounter, loadExternal, connect }) {
  try {
    const outcome = { inline: totals(await load()) };
    if (loadCounter) outcome.counter = totals(await loadCounter(), 'honaker');
    if (loadExternal) outcome.external = totals(await loadExternal());
    if (connect) outcome.worker = await inWorker(connect());
    return outcome;
  } catch (error) {
    return { error: `${error.code} ${error.message}` };
  }
}
