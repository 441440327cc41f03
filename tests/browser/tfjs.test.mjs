// SPDX-License-Identifier: Apache-2.0

// The optimizer of dp-ftrl/tfjs in Chromium, on the WebAssembly backend of TensorFlow.js.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import puppeteer from 'puppeteer-core';
import { chromium, contentTypes, withServer } from '../js/support/browser.mjs';
import { importEntry, installed, root } from '../js/support/consumer.mjs';
import { train } from '../js/support/digit-network.mjs';
import { digits, golden } from '../js/support/handwriting.mjs';
import { networkLayers, tf, useBackend } from '../js/support/tensorflow.mjs';
import { onlyInAll } from '../js/support/extent.mjs';

/** A fifth of the epochs of the reference, enough to distinguish learning from chance. */
const settings = { ...golden.settings, epochs: 2 };
const options = { data: digits(), settings, noise: 'optimal', seed: 1 };
const program = `
  import * as tf from '@tensorflow/tfjs-core';
  import '@tensorflow/tfjs-core/dist/register_all_gradients';
  import { layers, sequential } from '@tensorflow/tfjs-layers';
  import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
  import { load } from 'dp-ftrl';
  import { privateOptimizer } from 'dp-ftrl/tfjs';
  import { train } from './tests/js/support/digit-network.mjs';

  const network = { dense: layers.dense, model: (all) => sequential({ layers: all }) };
  async function run() {
    setWasmPaths('/');
    await tf.setBackend('wasm');
    const dp = await load();
    const options = await (await fetch('/options.json')).json();
    const { numTensors } = tf.memory();
    const accuracy = train({ tf, layers: network, dp, privateOptimizer }, options);
    const numLeft = tf.memory().numTensors - numTensors;
    return { backend: tf.getBackend(), accuracy, numLeft, liveHandles: dp.liveHandles };
  }
  globalThis.outcome = run();
`;

async function bundled() {
  const entry = (name) => join(installed, 'dist', `${name}.js`);
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: root },
    alias: { 'dp-ftrl/tfjs': entry('tfjs'), 'dp-ftrl': entry('index') },
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0].text;
}

test(
  'chromium: TensorFlow.js on WebAssembly learns to read privately, as in Node',
  onlyInAll,
  async () => {
    const files = {
      '/': '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/main.js"></script>',
      '/main.js': await bundled(),
      '/options.json': JSON.stringify(options),
    };
    const handler = ({ url }, response) => {
      const { pathname } = new URL(url, 'http://x');
      const modules = join(root, 'node_modules/@tensorflow/tfjs-backend-wasm/dist');
      const isModule = /^\/[\w-]+\.wasm$/.test(pathname);
      const type =
        pathname === '/' ? 'text/html' : (contentTypes[extname(pathname)] ?? 'text/plain');
      response.setHeader('content-type', type);
      response.end(isModule ? readFileSync(join(modules, pathname)) : files[pathname]);
    };
    const browser = await puppeteer.launch({ ...chromium, protocolTimeout: 600_000 });
    try {
      await withServer(handler, async (address) => {
        const page = await browser.newPage();
        const said = [];
        page.on('pageerror', (error) => said.push(String(error)));
        await page.goto(address);
        const { accuracy, ...rest } = await page.evaluate(() => globalThis.outcome);
        assert.deepEqual(said, []);
        assert.deepEqual(rest, { backend: 'wasm', numLeft: 0, liveHandles: 0 });
        await useBackend('cpu');
        const dp = await (await importEntry('dp-ftrl')).load();
        const { privateOptimizer } = await importEntry('dp-ftrl/tfjs');
        const here = train({ tf, layers: networkLayers, dp, privateOptimizer }, options);
        // The noise is the same, but summing in another order gives other rounding errors.
        assert.ok(here > 0.4 && Math.abs(accuracy - here) <= 0.02, `${accuracy}, in Node ${here}`);
      });
    } finally {
      await browser.close();
    }
  },
);
