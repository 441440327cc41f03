// SPDX-License-Identifier: Apache-2.0

// A server, Chromium and a logger for testing the package in browsers.

import { existsSync } from 'node:fs';
import { createServer } from 'node:http';

/** Content types by extension; all others are plain text. */
export const contentTypes = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.html': 'text/html',
  '.wasm': 'application/wasm',
};

/** Serves requests with `handler` while `use` runs, and passes it the address. */
export async function withServer(handler, use) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/**
 * Chromium on this machine, undefined if none is installed, and arguments that keep it off the
 * network.
 */
export const chromium = {
  executablePath: [
    process.env.DPFTRL_CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ].find((path) => path && existsSync(path)),
  args: [
    '--no-sandbox',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--disable-quic',
  ],
};

/** A logger for Vite that records warnings and errors. */
export function recordingLogger() {
  const warnings = [];
  const note = (text) => warnings.push(text);
  const customLogger = {
    info() {},
    warn: note,
    warnOnce: note,
    error: note,
    clearScreen() {},
    hasWarned: false,
    hasErrorLogged: () => false,
  };
  return { customLogger, warnings };
}
