// SPDX-License-Identifier: Apache-2.0

// A Cloudflare Worker that counts without end: POST /NAME records that a person was active, and
// every response has the counts after the latest full day in UTC. PEOPLE is a binding of the class
// People with SQLite, and dp-ftrl.wasm is a copy of the package's.

import { load } from 'dp-ftrl/external';
import wasm from './dp-ftrl.wasm';

const target = { windows: { day: 1, week: 7, month: 30 }, epsilon: 1, delta: 1e-6 };
const [DAY, PART] = [24 * 3600 * 1000, 2 ** 20];
const today = () => Math.floor(Date.now() / DAY);

export class People {
  constructor(context) {
    this.storage = context.storage;
    context.blockConcurrencyWhile(() => this.open(this.storage.sql));
  }
  async open(sql) {
    sql.exec('CREATE TABLE IF NOT EXISTS parts (bytes BLOB)');
    const rows = () => [...sql.exec('SELECT bytes FROM parts ORDER BY rowid')];
    const read = () => new Blob(rows().map((row) => row.bytes)).arrayBuffer();
    const append = async (bytes) => {
      for (let at = 0; at < bytes.length; at += PART)
        sql.exec('INSERT INTO parts VALUES (?)', bytes.slice(at, at + PART));
      await this.storage.sync();
    };
    const store = {
      load: async () => (rows().length > 0 ? new Uint8Array(await read()) : undefined),
      save: (bytes) => (sql.exec('DELETE FROM parts'), append(bytes)),
      append,
      close: async () => {},
    };
    this.people = await (await load({ wasm })).active({ ...target, steps: 'endless', store });
    this.first = (await this.storage.get('first')) ?? today();
    await this.storage.put('first', this.first);
    await this.alarm();
  }
  /** Ends the days that are over. */
  async alarm() {
    const over = today() - this.first - this.people.step;
    if (over > 0) await this.people.endMany(over);
    await this.storage.setAlarm((today() + 1) * DAY);
  }
  async fetch({ method, url }) {
    if (method === 'POST')
      await this.people.add(decodeURIComponent(new URL(url).pathname.slice(1)));
    return Response.json(this.people.step > 0 ? await this.people.at(-1) : null);
  }
}
export default { fetch: (request, { PEOPLE }) => PEOPLE.getByName('all').fetch(request) };
