// SPDX-License-Identifier: Apache-2.0

// dp-ftrl page: serves the page with a table in it, to this machine only.

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { basename } from 'node:path';
import { Misuse } from '../base/failure.js';
import { formatOfName } from '../input/format.js';
import { openInput } from '../input/input.js';
import { textOf } from '../input/records.js';
import type { Args } from '../options/args.js';
import { PORT } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { QUIET_OPTION } from '../options/output.js';
import { say } from '../output/notices.js';
import { StandardOutput } from '../output/output.js';

export const command: Command = {
  summary: 'the interactive page, served on this machine',
  usage: '[FILE.csv] [--port N]',
  about:
    'Serves the interactive page of dp-ftrl on this machine and prints its address: streams, ' +
    'mechanisms and their noise to explore, and FILE.csv (or standard input, as -) opened in its ' +
    'laboratory. It shows true sums beside private ones, so it is for those who may see the rows. ' +
    'Only programs on this machine can load it, and only with the printed address; the page itself ' +
    'sends nothing. Ctrl-C stops it.',
  options: {
    ...under('Server', {
      port: {
        value: 'N',
        number: PORT,
        meaning: 'a fixed port of 127.0.0.1. Default: 0, any free one',
      },
    }),
    ...QUIET_OPTION,
    quiet: { ...QUIET_OPTION.quiet, meaning: 'nothing on standard error' },
  },
  examples: ['dp-ftrl page', 'dp-ftrl page examples/gym_visits.csv'],
  run,
};

const HOST = '127.0.0.1';
/** The page that web/pack.mjs builds, without the WebAssembly. */
const PAGE = new URL('../page/dp-ftrl.html.br', import.meta.url);
const WASM = new URL('dp-ftrl.wasm', import.meta.url);
const PLACEHOLDER = '@@wasm@@';
/** Tag at the beginning of the page; the table is inserted after it. */
const CHARSET = '<meta charset="utf-8">';

/** Headers that keep the response, which contains the rows, from caches, frames and other sites. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

async function readPage(): Promise<string> {
  let packed: Buffer;
  try {
    packed = await readFile(PAGE);
  } catch (error) {
    const what = 'this copy of dp-ftrl was packed without its page';
    throw new Error(`${what}; in a clone scripts/build page makes it`, { cause: error });
  }
  const wasm = (await readFile(WASM)).toString('base64');
  const { brotliDecompressSync } = await import('node:zlib');
  return brotliDecompressSync(packed).toString('utf8').replace(PLACEHOLDER, wasm);
}

/** Embeds the table as a data block that is never executed and that its content cannot close. */
async function readTable(files: readonly string[]): Promise<string> {
  const [path] = files;
  if (path === undefined) return '';
  if (formatOfName(path) === 'jsonl')
    throw new Misuse(`the page reads CSV, and ${path} is JSON lines`);
  let text = '';
  for await (const piece of textOf(await openInput(files), { kind: 'csv' })) text += piece;
  const name = path === '-' ? 'table.csv' : basename(path);
  const data = JSON.stringify({ name, text }).replaceAll('<', '\\u003c');
  return `<script type="application/json" id="given-table">${data}</script>`;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      const isTaken = code === 'EADDRINUSE';
      reject(new Error(isTaken ? `--port ${port} is in use` : `--port ${port}: ${message}`));
    });
    server.listen(port, HOST, () => resolve((server.address() as { port: number }).port));
  });
}

async function run(args: Args): Promise<void> {
  const port = args.number('port') ?? 0;
  if (args.files.length > 1) throw new Misuse(`one table at most, got ${args.files.length}`);
  const [page, table] = await Promise.all([readPage(), readTable(args.files)]);
  // Uses a replacement function, because `$` would be special in a replacement string.
  const body = Buffer.from(page.replace(CHARSET, () => `${CHARSET}${table}`));
  // The path is secret, because other users of this machine can connect to the port.
  const path = `/${randomBytes(16).toString('hex')}/`;
  // Imported lazily, because it would delay the start of every command by milliseconds.
  const { createServer } = await import('node:http');
  const server = createServer((request, response) => {
    if (request.url !== path || request.method !== 'GET') return response.writeHead(404).end();
    return response.writeHead(200, HEADERS).end(body);
  });
  const address = `http://${HOST}:${await listen(server, port)}${path}`;
  if (!args.has('quiet')) {
    const what = 'the page shows true sums beside private ones, to anyone with this address';
    say('page', `${what}; Ctrl-C stops it`);
  }
  await new StandardOutput().write(`${address}\n`);
  await new Promise(() => {}); // Waits until a signal ends the process.
}
