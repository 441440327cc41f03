// SPDX-License-Identifier: Apache-2.0

// Workers only need to share a key to generate the noise of one model. Expects the package at
// /index.js.

const NUM_WORKERS = 4;
const query = new URLSearchParams(location.search);
const dimension = Number(query.get('dimension') ?? 1_000_000);
const numSteps = Number(query.get('steps') ?? 4);
const key = crypto.getRandomValues(new Uint8Array(32));

/** Hash of a range of coordinates, computed by a separate worker. */
function hashOf(begin, end) {
  const worker = new Worker(new URL('shard-worker.js', import.meta.url), { type: 'module' });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ key, numSteps, begin, end });
  }).finally(() => worker.terminate());
}

async function timed(ranges) {
  const start = performance.now();
  const hashes = await Promise.all(ranges.map(([begin, end]) => hashOf(begin, end)));
  const hash = hashes.reduce((sum, part) => BigInt.asUintN(64, sum + part), 0n);
  return { hash: hash.toString(16), seconds: (performance.now() - start) / 1000 };
}

const edge = (i) => Math.floor((dimension * i) / NUM_WORKERS);
const ranges = Array.from({ length: NUM_WORKERS }, (_, i) => [edge(i), edge(i + 1)]);
const shards = await timed(ranges);
const whole = await timed([[0, dimension]]);
const same = shards.hash === whole.hash;
document.querySelector('#result').textContent = [
  `${dimension} coordinates, ${numSteps} steps`,
  `${NUM_WORKERS} workers  ${shards.hash}  ${shards.seconds.toFixed(2)} s`,
  `one worker ${whole.hash}  ${whole.seconds.toFixed(2)} s`,
  same ? 'the same noise' : 'DIFFERENT noise',
].join('\n');
document.body.dataset.done = String(same);
