// SPDX-License-Identifier: Apache-2.0

// Node: as a module, from a CommonJS file, and in a worker thread.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { node } from '../js/support/consumer.mjs';
import { assertWorks, prepare, project } from './support.mjs';

before(prepare);

const thread = `import { serve } from 'dp-ftrl/worker';
  import { parentPort } from 'node:worker_threads';
  serve(parentPort);`;

async function runs(name, file, text, parts) {
  const folder = project(name);
  writeFileSync(join(folder, 'thread.mjs'), thread);
  writeFileSync(join(folder, file), text);
  const { code, stdout, stderr } = await node([file], { cwd: folder });
  assert.equal(stderr, '');
  assert.equal(code, 0);
  assertWorks({ outcome: JSON.parse(stdout), said: [] }, parts);
}

const print = '.then((outcome) => process.stdout.write(JSON.stringify(outcome)));';

test('node: import', () =>
  runs(
    'node-import',
    'main.mjs',
    `import { load } from 'dp-ftrl';
     import { load as loadExternal } from 'dp-ftrl/external';
     import { use } from './use.js';
     use({ load, loadExternal })${print}`,
    ['inline', 'external'],
  ));

test('node: require() of the modules', () =>
  runs(
    'node-require',
    'main.cjs',
    `const { load } = require('dp-ftrl');
     const { load: loadExternal } = require('dp-ftrl/external');
     const { use } = require('./use.js');
     use({ load, loadExternal })${print}`,
    ['inline', 'external'],
  ));

test('node: a worker thread that serves', () =>
  runs(
    'node-worker',
    'main.mjs',
    `import { load } from 'dp-ftrl';
     import { connect } from 'dp-ftrl/worker-client';
     import { Worker } from 'node:worker_threads';
     import { use } from './use.js';
     const worker = new Worker(new URL('./thread.mjs', import.meta.url));
     use({ load, connect: () => connect({ worker }) })${print}`,
    ['inline', 'worker'],
  ));
