// SPDX-License-Identifier: Apache-2.0

// npm run experiment: bundles the experiments, and runs one on the built package.

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { load } from '../../dist/index.js';

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL('main.ts', import.meta.url))],
  bundle: true,
  format: 'esm',
  platform: 'node',
  write: false,
});
const source = Buffer.from(outputFiles[0].contents).toString('base64');
const { main } = await import(`data:text/javascript;base64,${source}`);
process.exitCode = await main(load, process.argv.slice(2));
