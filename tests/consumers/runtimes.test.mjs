// SPDX-License-Identifier: Apache-2.0

// Other runtimes than Node and browsers: Bun, Deno, and workerd, which does not compile WebAssembly
// at run time. A runtime whose binary is missing from the registry skips its tests.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { build as esbuild } from 'esbuild';
import { installed, root, run } from '../js/support/consumer.mjs';
import { assertWorks, prepare, project, workshop } from './support.mjs';

before(prepare);

/** Program of a package with one binary per platform: the one for this platform, if installed. */
function programOf(scope, name) {
  const folder = join(workshop, 'node_modules', scope);
  const packages = existsSync(folder) ? readdirSync(folder).sort() : [];
  return packages.map((each) => join(folder, each, name)).find(existsSync);
}

/** Defines a test of a runtime; `use` receives its program. */
function runsIn(name, [scope, file], use) {
  test(name, { timeout: 120_000 }, async (t) => {
    const program = programOf(scope, file);
    if (program === undefined) return t.skip(`no ${scope} found`);
    return use(program);
  });
}

const main = `import { load } from 'dp-ftrl';
  import { load as loadCounter } from 'dp-ftrl/counter';
  import { load as loadExternal } from 'dp-ftrl/external';
  import { connect } from 'dp-ftrl/worker-client';
  import { use } from './use.js';
  console.log(JSON.stringify(await use({ load, loadCounter, loadExternal, connect })));`;

async function printsTotals(name, program, args, env = {}) {
  const cwd = project(name);
  writeFileSync(join(cwd, 'main.mjs'), main);
  const all = { ...process.env, ...env };
  const { code, stdout, stderr } = await run(program, [...args, 'main.mjs'], { cwd, env: all });
  assert.equal(stderr, '');
  assert.equal(code, 0);
  assertWorks({ outcome: JSON.parse(stdout), said: [] });
}

runsIn('Bun', ['@oven', 'bin/bun'], (bun) => printsTotals('bun', bun, ['run']));

runsIn('Deno', ['@deno', 'deno'], (deno) =>
  // Only reading files is allowed: no fetching, writing or prompting.
  printsTotals('deno', deno, ['run', '--no-prompt', '--no-remote', '--allow-read'], {
    DENO_NO_UPDATE_CHECK: '1',
    DENO_DIR: join(workshop, 'deno-cache'),
  }),
);

const worker = `import { load as loadInline } from 'dp-ftrl';
  import { load } from 'dp-ftrl/external';
  import { use } from './use.js';
  import wasm from './dp-ftrl.wasm';
  export default {
    async fetch() {
      const outcome = await use({ load: () => load({ wasm }) });
      const failed = ({ name, code }) => ({ name, code });
      const bare = await load().catch(failed);
      const inline = await loadInline().catch(failed);
      return Response.json({ outcome, bare, inline });
    },
  };`;

const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [
    (name = "main.js", esModule = embed "main.js"),
    (name = "dp-ftrl.wasm", wasm = embed "dp-ftrl.wasm"),
  ],
  compatibilityDate = "2025-11-01",
);
`;

/** Bundles worker.js of a folder, beside the WebAssembly. */
async function bundle(cwd, configuration) {
  writeFileSync(join(cwd, 'config.capnp'), configuration);
  cpSync(join(installed, 'dist/dp-ftrl.wasm'), join(cwd, 'dp-ftrl.wasm'));
  const { warnings } = await esbuild({
    entryPoints: [join(cwd, 'worker.js')],
    outfile: join(cwd, 'main.js'),
    bundle: true,
    format: 'esm',
    external: ['./dp-ftrl.wasm'],
    logLevel: 'silent',
  });
  assert.deepEqual(warnings, []);
}

/** Starts the worker of a folder; `stop` kills it. */
async function serve(workerd, cwd) {
  const server = spawn(workerd, ['serve', '--control-fd=1', 'config.capnp'], { cwd });
  let said = '';
  server.stderr.setEncoding('utf8').on('data', (text) => (said += text));
  let events = '';
  server.stdout.setEncoding('utf8').on('data', (text) => (events += text));
  while (!/"port":/.test(events))
    await Promise.race([once(server.stdout, 'data'), failed(server, () => said)]);
  const [, port] = /"port":(\d+)/.exec(events);
  const stop = async () => {
    server.kill('SIGKILL');
    await once(server, 'close');
  };
  return { address: `http://127.0.0.1:${port}/`, stop, said: () => said };
}

runsIn(
  'workerd, with the WebAssembly as a module',
  ['@cloudflare', 'bin/workerd'],
  async (workerd) => {
    const cwd = project('workerd');
    writeFileSync(join(cwd, 'worker.js'), worker);
    await bundle(cwd, config);
    const { address, stop, said } = await serve(workerd, cwd);
    try {
      const { outcome, bare, inline } = await (await fetch(address)).json();
      assertWorks({ outcome, said: [] }, ['inline']);
      // Without the module, no file can be found and no text may be compiled.
      assert.deepEqual(bare, { name: 'DpError', code: 'load_failed' });
      assert.deepEqual(inline, { name: 'DpError', code: 'compilation_blocked' });
      assert.equal(said(), '');
    } finally {
      await stop();
    }
  },
);

const activeConfig = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "disk", disk = (path = "disk", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [
    (name = "main.js", esModule = embed "main.js"),
    (name = "dp-ftrl.wasm", wasm = embed "dp-ftrl.wasm"),
  ],
  compatibilityDate = "2025-11-01",
  durableObjectNamespaces = [(className = "People", uniqueKey = "people", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [(name = "PEOPLE", durableObjectNamespace = "People")],
);
`;

runsIn(
  'workerd counts active people, also after it was killed',
  ['@cloudflare', 'bin/workerd'],
  async (workerd) => {
    const cwd = project('workerd-active');
    mkdirSync(join(cwd, 'disk'));
    const example = readFileSync(join(root, 'examples/server/active-worker.mjs'), 'utf8');
    writeFileSync(join(cwd, 'worker.js'), example.replace('24 * 3600 * 1000', '200'));
    await bundle(cwd, activeConfig);
    let last = -1;
    for (let life = 0; life < 2; ++life) {
      const { address, stop } = await serve(workerd, cwd);
      try {
        for (let days = 0; days < 2; ) {
          assert.equal((await fetch(`${address}ann`, { method: 'POST' })).status, 200);
          const { step, active } = (await (await fetch(address)).json()) ?? { step: -1 };
          assert.ok(step >= last, `${step} after ${last}`);
          if (step > last) days += 1;
          if (active) assert.deepEqual(Object.keys(active), ['day', 'week', 'month']);
          last = step;
        }
      } finally {
        await stop();
      }
    }
  },
);

/** Rejects if a process ends instead of answering. */
async function failed(child, said) {
  const [code] = await once(child, 'close');
  throw new Error(`it ended with ${code}: ${said()}`);
}
