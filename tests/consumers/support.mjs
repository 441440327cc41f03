// SPDX-License-Identifier: Apache-2.0

// A folder of consumers, with the packed package and the bundlers installed, and the browsers that
// run the results.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { chromium, contentTypes, withServer } from '../js/support/browser.mjs';
import { importEntry, installed, root } from '../js/support/consumer.mjs';
import { totals } from './app/use.js';
import { until } from './until.mjs';
import { launchWebKit, missing } from '../webkit/driver.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
/** Consumers are built in this folder, below which `dp-ftrl` and the bundlers are found by name. */
export const workshop = join(root, 'build/consumers');

/** Installs the bundlers of package-lock.json, once for each version of it. */
function installBundlers() {
  const lock = readFileSync(join(here, 'package-lock.json'), 'utf8');
  const stamp = join(workshop, 'node_modules/.stamp');
  const wanted = `${process.version}\n${lock}`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  mkdirSync(workshop, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    cpSync(join(here, name), join(workshop, name));
  }
  // `ci` would require the binaries of all platforms, and a registry may lack some.
  const install = ['install', '--no-save', '--ignore-scripts'];
  execFileSync('npm', install, { cwd: workshop, stdio: 'pipe' });
  writeFileSync(stamp, wanted);
}

/** Prepares everything for the consumers; called once, before they run. */
export function prepare() {
  installBundlers();
  const modules = join(workshop, 'node_modules');
  // Vite's development server bundles packages once, until a lock file changes.
  for (const name of ['dp-ftrl', '.vite'])
    rmSync(join(modules, name), { recursive: true, force: true });
  cpSync(installed, join(modules, 'dp-ftrl'), { recursive: true });
}

/** Loads a bundler from the workshop. */
export function bundler(name) {
  return import(createRequire(join(workshop, 'index.js')).resolve(name));
}

/** Makes a new project in the workshop, with the files of `app`. */
export function project(name, source = 'app') {
  const folder = join(workshop, name);
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(here, source), folder, { recursive: true });
  cpSync(join(here, 'app/use.js'), join(folder, 'use.js'));
  return folder;
}

export function page(folder, script) {
  // Includes an icon, so that browsers do not request a missing one.
  const head = '<meta charset="utf-8"><title>x</title><link rel="icon" href="data:,">';
  const html = `<!doctype html>${head}${script}`;
  writeFileSync(join(folder, 'index.html'), html);
}

export const strictPolicy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; " +
  "connect-src 'self'; img-src data:";

/** Serves a folder under the strict policy and passes the address to `use`. */
export async function serving(folder, use, policy = strictPolicy) {
  const handler = (request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    response.setHeader('content-security-policy', policy);
    const path = join(folder, pathname === '/' ? 'index.html' : pathname);
    if (!existsSync(path)) return response.writeHead(404).end('not here');
    response.setHeader('content-type', contentTypes[extname(path)] ?? 'text/plain');
    return response.end(readFileSync(path));
  };
  return withServer(handler, use);
}

function bidi(name, path, options) {
  const start = { executablePath: path, headless: true, ...options };
  const launch = async () => {
    const browser = await puppeteer.launch(start);
    console.log(`browser: ${await browser.version()}`);
    return browser;
  };
  return { name, missing: path ? undefined : name, launch };
}

const firefox = [process.env.DPFTRL_FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'].find(
  (path) => path && existsSync(path),
);

/** `missing` names what would have to be installed; only an optional browser may be missing. */
export const browsers = [
  bidi('Chromium', chromium.executablePath, { browser: 'chrome', args: chromium.args }),
  bidi('Firefox', firefox, { browser: 'firefox' }),
  { name: 'WebKit', missing, launch: launchWebKit, optional: true },
];

const open = new Map();
after(() => Promise.all([...open.values()].map((browser) => browser.close())));

/** Runs `use` in every browser, each in a separate test. */
export function inBrowsers(name, use) {
  for (const browser of browsers) {
    const missing = browser.missing !== undefined && `no ${browser.missing} found`;
    const skip = process.env.CI && !browser.optional ? false : missing;
    test(`${name}, ${browser.name}`, { skip, timeout: 240_000 }, async (t) => {
      assert.ok(!missing, missing);
      if (!open.has(browser.name)) open.set(browser.name, await browser.launch());
      await use(open.get(browser.name), t);
    });
  }
}

/** Opens a page, waits for its `outcome`, and returns it with all console output. */
export async function outcomeOf(browser, address) {
  if (browser.outcomeOf) return browser.outcomeOf(address);
  const tab = await browser.newPage();
  const said = [];
  tab.on('console', (message) => said.push(message.text()));
  tab.on('pageerror', (error) => said.push(String(error)));
  try {
    await tab.goto(address);
    // In Firefox, waitForFunction makes a Function, which the policy forbids. During a navigation
    // nothing can be evaluated, and the outcome is yet to come.
    const has = () => tab.evaluate(() => 'outcome' in globalThis).catch(() => false);
    await until(has, 'there is no outcome');
    return { outcome: await tab.evaluate(() => globalThis.outcome), said };
  } catch (cause) {
    throw new Error(`${address}: ${cause.message}; the page said ${JSON.stringify(said)}`, {
      cause,
    });
  } finally {
    await tab.close();
  }
}

const dp = await (await importEntry('dp-ftrl')).load();
const simulation = dp.study.simulation({ steps: 32, epsilon: 1, delta: 1e-6 });
const inline = totals(dp);
const counter = totals(dp, 'honaker');
const worker = [...simulation.advance(4).noisySums.subarray(0, 16)];
simulation.dispose();

const everything = ['inline', 'counter', 'external', 'worker'];

/** Asserts that the outcome equals Node's to the last bit and that nothing was logged. */
export function assertWorks({ outcome, said }, parts = everything) {
  const all = { inline, counter, external: inline, worker };
  assert.deepEqual(outcome, Object.fromEntries(parts.map((part) => [part, all[part]])));
  assert.deepEqual(said, []);
}
