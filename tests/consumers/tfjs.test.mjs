// SPDX-License-Identifier: Apache-2.0

// A program with TensorFlow.js and dp-ftrl/tfjs, built by Vite, under a strict policy.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { build } from 'vite';
import { importEntry, rolldownOptions } from '../js/support/consumer.mjs';
import { layers, tf } from '../js/support/tensorflow.mjs';
import { browsers, outcomeOf, page, prepare, project, serving } from './support.mjs';
import { weightsAfterStep } from './tensorflow/step.js';

let folder;
before(async () => {
  prepare();
  const root = project('tensorflow', 'tensorflow');
  page(root, '<script type="module" src="./main.js"></script>');
  const options = {
    outDir: 'out',
    modulePreload: false,
    chunkSizeWarningLimit: 5000,
    rolldownOptions,
  };
  await build({ root, configFile: false, base: './', logLevel: 'error', build: options });
  folder = join(root, 'out');
});

for (const browser of browsers) {
  const isNeeded = process.env.CI && !browser.optional;
  const skip = browser.missing !== undefined && !isNeeded && `no ${browser.missing} found`;
  test(`Vite 8 build with TensorFlow.js, ${browser.name}`, { skip }, async () => {
    const { load } = await importEntry('dp-ftrl');
    const { privateOptimizer } = await importEntry('dp-ftrl/tfjs');
    const { sequential } = layers;
    const here = { tf, layers: layers.layers, sequential, load, privateOptimizer };
    const expected = await weightsAfterStep(here);
    const opened = await browser.launch();
    try {
      const { outcome, said } = await serving(folder, (address) => outcomeOf(opened, address));
      assert.deepEqual(said, []);
      assert.equal(outcome.length, expected.length);
      // The noise is the same, but functions such as tanh differ in their last bits.
      outcome.forEach((w, i) =>
        assert.ok(Math.abs(w - expected[i]) < 1e-3, `${outcome}, ${expected}`),
      );
    } finally {
      await opened.close();
    }
  });
}
