// SPDX-License-Identifier: Apache-2.0

// Runs the package in every available browser, as built by each bundler and without a bundler. A
// missing browser skips its tests, and fails them if CI is set, except for WebKit.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build as esbuild } from 'esbuild';
import * as vite8 from 'vite';
import { recordingLogger } from '../js/support/browser.mjs';
import { installed, rolldownOptions } from '../js/support/consumer.mjs';
import { assertWorks, bundler, inBrowsers, outcomeOf, page, prepare } from './support.mjs';
import { project, serving, strictPolicy } from './support.mjs';

const moduleScript = (file) => `<script type="module" src="./${file}"></script>`;

/** Consumers built so far: name -> folder to serve, built once. */
const made = {};

function viteProject(name) {
  const folder = project(name);
  page(folder, moduleScript('found.js'));
  return folder;
}

async function viteBuild(name, vite) {
  const root = viteProject(name);
  const { customLogger, warnings } = recordingLogger();
  await vite.build({
    root,
    configFile: false,
    base: './',
    logLevel: 'warn',
    build: { outDir: 'out', modulePreload: false, chunkSizeWarningLimit: 5000, rolldownOptions },
    worker: { format: 'es', rolldownOptions },
    customLogger,
  });
  assert.deepEqual(warnings, []);
  return join(root, 'out');
}

async function webpackBuild() {
  const context = project('webpack');
  const { default: webpack } = await bundler('webpack');
  const path = join(context, 'out');
  const performance = { hints: false };
  const compiler = webpack({
    context,
    mode: 'production',
    entry: './found.js',
    output: { path, publicPath: 'auto' },
    performance,
  });
  const stats = await new Promise((resolve, reject) =>
    compiler.run((error, result) => (error ? reject(error) : resolve(result))),
  );
  await new Promise((resolve) => compiler.close(resolve));
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  assert.deepEqual([errors, warnings], [[], []]);
  page(path, '<script defer src="./main.js"></script>');
  return path;
}

/** For bundlers that ignore other files, copies the modules to where the page expects them. */
function withAssets(out) {
  mkdirSync(join(out, 'assets'), { recursive: true });
  for (const name of ['dp-ftrl.wasm', 'counter.wasm']) {
    cpSync(join(installed, 'dist', name), join(out, 'assets', name));
  }
  page(out, moduleScript('given.js'));
  return out;
}

async function rollupBuild() {
  const folder = project('rollup');
  const { rollup } = await bundler('rollup');
  const { nodeResolve } = await bundler('@rollup/plugin-node-resolve');
  const warnings = [];
  const bundle = await rollup({
    input: { given: join(folder, 'given.js'), worker: join(folder, 'worker.js') },
    plugins: [nodeResolve()],
    onwarn: (warning) => warnings.push(warning.message),
  });
  const dir = join(folder, 'out');
  await bundle.write({ dir, format: 'es', entryFileNames: '[name].js' });
  await bundle.close();
  assert.deepEqual(warnings, []);
  return withAssets(dir);
}

/** Parcel reads exports of packages only if the project's package.json says so, as ours does. */
async function parcelBuild() {
  const folder = project('parcel');
  page(folder, moduleScript('found.js'));
  const distDir = join(folder, 'out');
  const { Parcel } = await bundler('@parcel/core');
  const made = new Parcel({
    entries: join(folder, 'index.html'),
    defaultConfig: '@parcel/config-default',
    mode: 'production',
    shouldDisableCache: true,
    defaultTargetOptions: { distDir, publicUrl: './', sourceMaps: false },
  });
  await made.run();
  return distDir;
}

/** The strict policy, with the hash of the import map that Parcel writes into the page. */
function withImportMap(folder) {
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  const [, map] = /<script type="?importmap"?>([^<]*)<\/script>/.exec(html);
  const hash = createHash('sha256').update(map).digest('base64');
  return strictPolicy.replace("script-src 'self'", `script-src 'self' 'sha256-${hash}'`);
}

async function esbuildBuild() {
  const folder = project('esbuild');
  const outdir = join(folder, 'out');
  const { warnings } = await esbuild({
    entryPoints: [join(folder, 'given.js'), join(folder, 'worker.js')],
    bundle: true,
    format: 'esm',
    minify: true,
    outdir,
    logLevel: 'silent',
  });
  assert.deepEqual(warnings, []);
  return withAssets(outdir);
}

/** Without a bundler: the files of the package next to the page. */
function plain() {
  const folder = project('plain');
  cpSync(join(installed, 'dist'), join(folder, 'dp-ftrl'), { recursive: true });
  const bare = /'dp-ftrl(?:\/([\w-]+))?'/g;
  for (const name of ['found.js', 'own-worker.js']) {
    const text = readFileSync(join(folder, name), 'utf8');
    const addressed = text.replace(bare, (_, entry) => `'./dp-ftrl/${entry ?? 'index'}.js'`);
    writeFileSync(join(folder, name), addressed);
  }
  page(folder, moduleScript('found.js'));
  const start = `const worker = new Worker('./own-worker.js', { type: 'module' });
    globalThis.outcome = new Promise((resolve) => {
      worker.onmessage = ({ data }) => resolve(data);
    });`;
  writeFileSync(join(folder, 'start.js'), start);
  return folder;
}

async function oneFile() {
  const folder = project('one-file');
  const { outputFiles } = await esbuild({
    entryPoints: [join(folder, 'alone.js')],
    bundle: true,
    format: 'iife',
    write: false,
  });
  page(folder, `<script>${outputFiles[0].text.replaceAll('</script', '<\\/script')}</script>`);
  return folder;
}

before(prepare);

/**
 * Tests a consumer that is built once and served under the strict policy, or under one made for its
 * folder.
 */
function served(name, make, parts, policyFor = () => strictPolicy) {
  inBrowsers(name, async (browser) => {
    const folder = (made[name] ??= await make());
    const show = async (address) => assertWorks(await outcomeOf(browser, address), parts);
    await serving(folder, show, policyFor(folder));
  });
}

served('Vite 8 build', () => viteBuild('vite8', vite8));
served('Vite 7 build', async () => viteBuild('vite7', await bundler('vite7')));
served('webpack 5', webpackBuild);
served('Rollup 4', rollupBuild);
served('Parcel 2', parcelBuild, undefined, withImportMap);
served('esbuild', esbuildBuild);
served('module script', plain);
served(
  'module script with connect-src none',
  async () => {
    const folder = plain();
    const text = readFileSync(join(folder, 'alone.js'), 'utf8');
    writeFileSync(join(folder, 'alone.js'), text.replace("'dp-ftrl'", "'./dp-ftrl/index.js'"));
    page(folder, moduleScript('alone.js'));
    return folder;
  },
  ['inline'],
  () => strictPolicy.replace("connect-src 'self'", "connect-src 'none'"),
);
served('module worker', () => {
  const folder = plain();
  page(folder, moduleScript('start.js'));
  return folder;
}, ['inline']);

/** The page of docs/package.md as it stands there, and a script that reports what it shows. */
function documentedPage() {
  const folder = project('documented');
  cpSync(join(installed, 'dist'), join(folder, 'dp-ftrl'), { recursive: true });
  const text = readFileSync(join(installed, 'docs/package.md'), 'utf8');
  const [, html] = /^```html\n(.*?)^```$/ms.exec(text);
  const report = `const timer = setInterval(() => {
      const { value } = document.querySelector('output');
      if (value === '') return;
      clearInterval(timer);
      globalThis.outcome = value;
    }, 20);`;
  const icon = '<link rel="icon" href="data:,">';
  writeFileSync(join(folder, 'index.html'), `${html}${icon}<script>${report}</script>`);
  return folder;
}

inBrowsers('page of package.md on a static host', async (browser) => {
  const folder = (made.documented ??= documentedPage());
  const show = async (address) => {
    const { outcome, said } = await outcomeOf(browser, address);
    assert.match(outcome, /^-?\d+\.\d\d, std 12\.25$/);
    assert.deepEqual(said, []);
  };
  await serving(folder, show, ''); // an empty policy is none
});

inBrowsers('file:// page', async (browser) => {
  const folder = (made.file ??= await oneFile());
  const address = pathToFileURL(join(folder, 'index.html')).href;
  assertWorks(await outcomeOf(browser, address), ['inline']);
});

// By default Vite 7 moves the modules of a dependency away from the files they refer to.
for (const [name, load, optimizeDeps] of [
  ['Vite 8 dev', async () => vite8, {}],
  ['Vite 7 dev', () => bundler('vite7'), { exclude: ['dp-ftrl'] }],
]) {
  inBrowsers(name, async (browser) => {
    const vite = await load();
    const root = viteProject(name.toLowerCase().replaceAll(' ', '-'));
    const server = await vite.createServer({
      root,
      configFile: false,
      logLevel: 'silent',
      server: { host: '127.0.0.1', port: 0 },
      optimizeDeps,
    });
    try {
      await server.listen();
      const { port } = server.httpServer.address();
      const { outcome, said } = await outcomeOf(browser, `http://127.0.0.1:${port}/`);
      assertWorks({ outcome, said: said.filter((text) => !text.startsWith('[vite]')) });
    } finally {
      await server.close();
    }
  });
}
