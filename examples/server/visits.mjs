// SPDX-License-Identifier: Apache-2.0

// A service that publishes a private running total of its visits after each hour. It may be
// stopped, restarted or killed at any time.
//
//   node examples/server/visits.mjs [FOLDER]
//
// POST /visit counts a visit; GET /totals returns one line for each past hour, with the hour since
// the start and the total. PORT and HOUR_MS are read from the environment.
//
// A person who visits once is protected. A visit is on the disk when it is answered, and appears in
// the totals up to a minute after the end of its hour. A kill loses no visit that was answered, but
// at the wrong moment it loses the line of a released hour. FOLDER holds the state, which is as
// secret as the visits, and the start time and the totals, which are public.

import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { load } from 'dp-ftrl/counter';
import { FileStore } from 'dp-ftrl/file-store';

const [folder = 'visits'] = process.argv.slice(2);
const { PORT = '8080', HOUR_MS = '3600000' } = process.env;
const hourLength = Number(HOUR_MS);
if (!(Number.isInteger(hourLength) && hourLength > 0)) {
  throw new RangeError(`HOUR_MS must be a whole number of milliseconds above 0, got ${HOUR_MS}`);
}
mkdirSync(folder, { recursive: true });
const published = join(folder, 'totals.txt');

// The state holds the start time and the length of an hour; the stream resumes only with the same.
const beginning = join(folder, 'start.txt');
if (!existsSync(beginning)) writeFileSync(beginning, `${Date.now()}\n`);
const start = Number(readFileSync(beginning, 'utf8'));
const about = `hours of ${hourLength} ms from ${start}`;

const dp = await load();
const store = await FileStore.open(join(folder, 'state'));
const year = { strategy: 'honaker', steps: 365 * 24, epsilon: 1, delta: 1e-6 };
const visits = await dp.counter({ ...year, about, store });
const hourNow = () => Math.floor((Date.now() - start) / hourLength);

/** Ends all past hours, including those in which the service did not run. */
async function endHours() {
  const over = Math.min(hourNow(), visits.steps) - visits.step;
  if (over <= 0) return;
  const totals = await visits.endMany(over);
  // The totals are stored by now, so no later run can release these hours with other visits.
  appendFileSync(published, totals.map(({ step, value }) => `${step} ${value}\n`).join(''));
}

let last = Promise.resolve();
const endHoursInTurn = () => (last = last.then(endHours));
await endHoursInTurn();
setInterval(endHoursInTurn, Math.min(hourLength / 4, 60_000));

const server = http.createServer(async (request, response) => {
  if (request.method === 'POST' && request.url === '/visit') {
    await endHoursInTurn();
    if (visits.step === visits.steps) return response.writeHead(410).end('the year is over\n');
    await visits.add();
    return response.writeHead(204).end();
  }
  if (request.method === 'GET' && request.url === '/totals') {
    response.setHeader('content-type', 'text/plain');
    return response.end(existsSync(published) ? readFileSync(published) : '');
  }
  return response.writeHead(404).end();
});
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
