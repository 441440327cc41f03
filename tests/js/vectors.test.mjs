// SPDX-License-Identifier: Apache-2.0

// Checks the noise of the package's WebAssembly against test vectors, computed by a program that
// shares no code with the library. tests/vectors/README.md describes them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import decoderVectors from '../vectors/decoders.json' with { type: 'json' };
import noise from '../vectors/noise.json' with { type: 'json' };

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const { decoders } = decoderVectors;

/** Reads a double as C writes it with %a. */
function double(text) {
  const [, sign, whole, fraction = '', exponent] = /^(-?)0x(\d)(?:\.([\da-f]+))?p([+-]\d+)$/.exec(
    text,
  );
  const digits = Number(`0x${whole}${fraction}`);
  return (sign ? -digits : digits) * 2 ** (Number(exponent) - 4 * fraction.length);
}

const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));

/** Largest scale that the package takes; the core takes larger ones. */
const MAX_SCALE = 2 ** 40;

/** Strategies of the package with the decoders of the vectors, by the name of the decoder. */
const STRATEGIES = {
  output: 'output',
  independent: 'independent',
  tree: 'tree',
  honaker: 'honaker',
  'square-root': 'square-root',
  banded: { name: 'banded-square-root', bands: 4 },
  'banded-inverse-square-root': {
    name: 'banded-inverse-square-root',
    bands: decoders['banded-inverse-square-root'].coefficients.length,
  },
  blt: {
    name: 'blt',
    decays: decoders.blt.decays.map(double),
    weights: decoders.blt.weights.map(double),
  },
};

for (const [decoder, strategy] of Object.entries(STRATEGIES)) {
  const vectors = noise.vectors.filter(
    (vector) => vector.decoder === decoder && double(vector.scale) <= MAX_SCALE,
  );
  test(`vectors: noise of ${decoder}`, () => {
    assert.ok(vectors.length > 0);
    for (const { step, coordinate, scale, key, noise: outcome, note } of vectors) {
      const stream = dp.noise({
        strategy,
        steps: Number(step) + 1,
        firstCoordinate: Number(coordinate),
        key: bytes(key),
      });
      stream.seek(Number(step));
      const [row] = stream.rounded({ numRows: 1, scale: double(scale) });
      assert.equal(BigInt(row), BigInt(outcome), `${note}: step ${step}, ${coordinate}`);
      stream.dispose();
    }
  });
}
