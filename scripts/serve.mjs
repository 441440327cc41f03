// SPDX-License-Identifier: Apache-2.0
// Serves the built page (web/dist) until it is interrupted.
//
//   usage: node scripts/serve.mjs [--port N] [--host NAME]
//
// The port defaults to $PORT or else 8080, or the next free one. The host defaults to $HOST or else
// 127.0.0.1, so that nobody else on the network sees the page.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { preview } from 'vite';

function fail(message) {
  console.error(`serve: ${message}`);
  process.exit(2);
}

function readOptions() {
  try {
    return parseArgs({ options: { port: { type: 'string' }, host: { type: 'string' } } }).values;
  } catch (error) {
    return fail(error.message);
  }
}

const options = readOptions();
const askedPort = options.port ?? process.env.PORT;
const port = Number(askedPort || 8080);
if (!Number.isInteger(port) || port < 1 || port > 65535) {
  fail(`port must be an integer from 1 to 65535, got ${askedPort}`);
}
const host = options.host || process.env.HOST || '127.0.0.1';

const web = fileURLToPath(new URL('../web/', import.meta.url));
if (!existsSync(`${web}dist/index.html`)) {
  fail('there is no page in web/dist yet; scripts/build page makes it');
}
try {
  const server = await preview({
    root: web,
    configFile: `${web}vite.config.ts`,
    logLevel: 'warn',
    // Never replaces a port that was requested.
    preview: { host, port, strictPort: Boolean(askedPort), open: false },
  });
  const address = server.httpServer.address();
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  console.log(`The page is at http://${name}:${address.port}/ (Ctrl-C stops)`);
  if (!['127.0.0.1', '::1'].includes(address.address)) {
    console.log('Others on this network can open it too, because a host was asked for.');
  }
} catch (error) {
  fail(error.message);
}
// Exits immediately, because open keep-alive connections would keep the process running.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
