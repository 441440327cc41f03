// SPDX-License-Identifier: Apache-2.0

// A service that publishes a private running total of its visits after each hour. It may be
// stopped, restarted or killed at any time.
//
//   node examples/server/visits.mjs [FOLDER]
//
// POST /visit counts a visit; GET /totals returns one line for each past hour, with the hour since
// the start and the total. PORT and HOUR_MS are read from the environment.
//
// A person who visits once is protected. A visit counts when its hour is released, up to a minute
// after the end of the hour. A kill loses the visits of hours not yet released; no total ever
// includes them. A kill at the wrong moment also loses the line of a released hour. FOLDER holds
// the state, which is as secret as the visits, and the totals, which are public.

import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
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

const dp = await load();
const store = await FileStore.open(join(folder, 'state'));
const year = { mechanism: 'honaker', numSteps: 365 * 24, epsilon: 1, delta: 1e-6 };
const ledger = await dp.ledger({ ...year, store });

// The start of hour 0 and the length of an hour are stored with the state.
if (!ledger.memo) {
  await ledger.releaseSteps(0, [], Buffer.from(JSON.stringify({ start: Date.now(), hourLength })));
}
const { start, ...kept } = JSON.parse(Buffer.from(ledger.memo));
if (kept.hourLength !== hourLength) {
  throw new RangeError(`HOUR_MS must be ${kept.hourLength}, as when ${folder} was begun`);
}
const hourNow = () => Math.floor((Date.now() - start) / hourLength);

let hour = Math.max(hourNow(), ledger.step); // The clock may have been set back.
let visits = 0;

/** Releases all past hours, including those in which the service did not run. */
async function endHours() {
  const first = ledger.step;
  const over = Math.min(hourNow(), ledger.numSteps) - first;
  if (over <= 0) return;
  const steps = Array.from({ length: over }, (_, i) =>
    first + i === hour ? new Array(visits).fill(1) : [],
  );
  hour = first + over;
  visits = 0;
  const totals = await ledger.releaseSteps(first, steps);
  // The ledger is stored by now, so no later run can release these hours for other visits.
  const lines = Array.from(totals, (total, i) => `${first + i} ${total}\n`);
  appendFileSync(published, lines.join(''));
}

let last = Promise.resolve();
const endHoursInTurn = () => (last = last.then(endHours));
await endHoursInTurn();
setInterval(endHoursInTurn, Math.min(hourLength / 4, 60_000));

const server = http.createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/visit') {
    if (ledger.step === ledger.numSteps) return response.writeHead(410).end('the year is over\n');
    visits += 1;
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
