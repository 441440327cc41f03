// SPDX-License-Identifier: Apache-2.0

// WebKit as packaged by Debian (webkit2gtk-driver), driven by classic WebDriver. Its console cannot
// be read, so a page records its own errors; its window is on a virtual screen (xvfb).

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { until } from '../consumers/until.mjs';

/** Longest time in ms that a program or a page may take, even on a busy machine. */
const PATIENCE = 240_000;

function programOf(name) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** First program that WebKit needs and this machine lacks. */
export const missing = ['WebKitWebDriver', 'Xvfb'].find((name) => !programOf(name));

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a virtual screen; Xvfb reports its number when it is ready. */
async function startScreen() {
  const args = ['-displayfd', '3', '-screen', '0', '800x600x24', '-nolisten', 'tcp'];
  const screen = spawn('Xvfb', args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const number = await new Promise((resolve, reject) => {
    screen.stdio[3].once('data', (text) => resolve(String(text).trim()));
    screen.once('exit', () => reject(new Error('Xvfb does not start')));
    screen.once('error', reject);
  });
  return { screen, display: `:${number}` };
}

class Session {
  constructor(base, programs) {
    this.base = base;
    this.programs = programs;
  }

  async call(method, path, body) {
    const response = await fetch(`${this.base}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`WebKit, ${path}: ${value.error}: ${value.message}`);
    return value;
  }

  async begin() {
    const isReady = async () => {
      const status = await this.call('GET', '/status').catch(() => undefined);
      return status?.ready;
    };
    await until(isReady, 'WebKitWebDriver does not answer');
    const { sessionId, capabilities } = await this.call('POST', '/session', { capabilities: {} });
    this.base += `/session/${sessionId}`;
    this.version = `${capabilities.browserName} ${capabilities.browserVersion}`;
    await this.call('POST', '/timeouts', { script: PATIENCE, pageLoad: PATIENCE });
  }

  goto(address) {
    return this.call('POST', '/url', { url: address });
  }

  reload() {
    return this.call('POST', '/refresh', {});
  }

  /** Calls a function in the page, and returns its result or what its promise resolves to. */
  async evaluate(use, ...args) {
    const script = `const args = [...arguments], done = args.pop();
      (async () => (${use})(...args))()
        .then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value, error } = await this.call('POST', '/execute/async', { script, args });
    if (error !== undefined) throw new Error(error);
    return value;
  }

  /** Waits for the page's `outcome`, as for the other browsers. */
  async outcomeOf(address) {
    await this.goto(address);
    const has = () => this.evaluate(() => 'outcome' in globalThis);
    await until(has, `${address}: there is no outcome`);
    return { outcome: await this.evaluate(() => globalThis.outcome), said: [] };
  }

  async close() {
    await this.call('DELETE', '').catch(() => {});
    for (const program of this.programs) program.kill();
  }
}

/** Starts WebKit; `close` ends everything that was started. */
export async function launchWebKit() {
  const { screen, display } = await startScreen();
  const port = await freePort();
  const driver = spawn(programOf('WebKitWebDriver'), [`--port=${port}`, '--host=127.0.0.1'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DISPLAY: display,
      // WebKit reports the language of C.UTF-8 as "C", which Intl refuses.
      LC_ALL: 'C',
      GDK_BACKEND: 'x11',
      LIBGL_ALWAYS_SOFTWARE: '1',
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
      // In containers it starts as root, where no sandbox is available.
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    },
  });
  const session = new Session(`http://127.0.0.1:${port}`, [driver, screen]);
  try {
    await session.begin();
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}
