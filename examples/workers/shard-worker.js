// SPDX-License-Identifier: Apache-2.0

import { load } from '/index.js';

const MASK = (1n << 64n) - 1n;

/** Sums FNV-1a hashes of entries and their positions, so that parts of a row add in any order. */
function hashOf(values, step, begin) {
  let sum = 0n;
  const low = 0xffffffff;
  for (let i = 0; i < values.length; ++i) {
    let h = 0x811c9dc5;
    const value = values[i] + 2 ** 40;
    for (const word of [step, begin + i, value % 2 ** 32, Math.floor(value / 2 ** 32)]) {
      for (let shift = 0; shift < 32; shift += 8) {
        h = Math.imul(h ^ ((word >>> shift) & 0xff), 0x01000193) & low;
      }
    }
    sum += BigInt(h >>> 0);
  }
  return sum & MASK;
}

async function hashOfShard({ key, numSteps, begin, end }) {
  const dp = await load();
  const dimension = end - begin;
  const shard = { dimension, firstCoordinate: begin, strategy: { name: 'optimal', buffers: 4 } };
  const noise = dp.noise({ strategy: 'blt-rational', steps: numSteps, key, ...shard });
  let hash = 0n;
  for (let step = 0; step < numSteps; ++step) {
    hash += hashOf(noise.rounded({ numRows: 1, scale: 64 }), step, begin);
  }
  noise.dispose();
  return hash & MASK;
}

addEventListener('message', ({ data }) => {
  hashOfShard(data).then(postMessage, (error) => {
    setTimeout(() => {
      throw error;
    }); // Rethrown as an error of the worker.
  });
});
