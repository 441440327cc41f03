// SPDX-License-Identifier: Apache-2.0

// A service that publishes each day how many people used it in the last day, week and month. It may
// be stopped, restarted or killed at any time, and runs for years.
//
//   node examples/server/active.mjs [FOLDER]
//
// POST /seen/NAME records that a person did something; GET /active returns one line of JSON for
// each past day; POST /forget/NAME forgets a person. PORT and DAY_MS are read from the environment.
//
// All that one person does in any 365 days is protected. FOLDER holds the state, which is as secret
// as the names, although it has only codes of them. It also holds the start time and the counts,
// which are public.

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { load } from 'dp-ftrl';
import { FileStore } from 'dp-ftrl/file-store';

const [folder = 'active'] = process.argv.slice(2);
const { PORT = '8080', DAY_MS = '86400000' } = process.env;
mkdirSync(folder, { recursive: true });
const published = join(folder, 'counts.jsonl');
const beginning = join(folder, 'start.txt');
if (!existsSync(beginning)) writeFileSync(beginning, `${Date.now()}\n`);
const start = Number(readFileSync(beginning, 'utf8'));

const dp = await load();
const store = await FileStore.open(join(folder, 'state'));
const windows = { day: 1, week: 7, month: 30 };
const target = { epsilon: 1, delta: 1e-6, about: `days of ${DAY_MS} ms from ${start}` };
const people = await dp.active({ windows, steps: 'endless', ...target, store });

/** Ends all past days by the clock of the server, including those in which it did not run. */
async function endDays() {
  const over = Math.floor((Date.now() - start) / Number(DAY_MS)) - people.step;
  if (over <= 0) return;
  const counts = await people.endMany(over);
  appendFileSync(published, counts.map((count) => `${JSON.stringify(count)}\n`).join(''));
}
let last = Promise.resolve();
const endDaysInTurn = () => (last = last.then(endDays));
await endDaysInTurn();
setInterval(endDaysInTurn, Math.min(Number(DAY_MS) / 4, 60_000));

const server = http.createServer(async ({ method, url }, response) => {
  const [, verb, name] = url.split('/').map(decodeURIComponent);
  await endDaysInTurn();
  if (method === 'GET' && verb === 'active') {
    return response.end(existsSync(published) ? readFileSync(published) : '');
  }
  if (method !== 'POST' || !name?.trim()) return response.writeHead(404).end();
  await (verb === 'forget' ? people.forget(name) : people.add(name));
  return response.writeHead(204).end();
});
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
