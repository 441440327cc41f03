// SPDX-License-Identifier: Apache-2.0

// Next.js: a route on the server, and a client component that is also rendered on the server.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '../js/support/consumer.mjs';
import { assertWorks, browsers, outcomeOf, prepare } from './support.mjs';
import { project, workshop } from './support.mjs';

const next = join(workshop, 'node_modules/next/dist/bin/next');
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
let server;
let address;

before(async () => {
  prepare();
  const cwd = project('next', 'next');
  const { code, stdout, stderr } = await run(process.execPath, [next, 'build'], { cwd, env });
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  const start = [next, 'start', '--hostname', '127.0.0.1', '--port', '0'];
  server = spawn(process.execPath, start, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  server.stdout.setEncoding('utf8').on('data', (text) => (said += text));
  while (!/Ready/.test(said)) await once(server.stdout, 'data');
  [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
});
after(async () => {
  server?.kill();
  if (server) await once(server, 'close');
});

test('Next: a route on the server', async () => {
  const outcome = await (await fetch(`${address}/api/totals`)).json();
  assertWorks({ outcome, said: [] }, ['inline']);
});

for (const browser of browsers) {
  const isNeeded = process.env.CI && !browser.optional;
  const skip = browser.missing !== undefined && !isNeeded && `no ${browser.missing} found`;
  test(`Next: a client component, ${browser.name}`, { skip }, async () => {
    const opened = await browser.launch();
    try {
      assertWorks(await outcomeOf(opened, address), ['inline']);
    } finally {
      await opened.close();
    }
  });
}
