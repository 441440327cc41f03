// SPDX-License-Identifier: Apache-2.0

// Streams in IndexedDB, in Chromium and Firefox: tabs and realms that compete for one, storage that
// is cleared, and calls that overlap. browser.test.mjs tests its rows and versions.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { after, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { launchFirefox, withoutFirefox } from '../browser/support.mjs';
import { chromium, contentTypes, withServer } from './support/browser.mjs';
import { installed } from './support/consumer.mjs';

const BROWSERS = [
  ['chromium', () => puppeteer.launch(chromium), false],
  ['firefox', launchFirefox, withoutFirefox],
];

const launched = new Map();
after(() => Promise.all([...launched.values()].map(async (browser) => (await browser).close())));

/** Serves the package and an empty page, and passes the page's address to `use`. */
async function serving(use) {
  const handler = (request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    const path = join(installed, 'dist', pathname);
    if (pathname === '/')
      return response.setHeader('content-type', 'text/html').end('<!doctype html>');
    if (pathname === '/overlapping.js')
      return response.setHeader('content-type', 'text/javascript').end(OVERLAPPING);
    if (!existsSync(path)) return response.writeHead(404).end();
    response.setHeader('content-type', contentTypes[extname(path)] ?? 'text/plain');
    return response.end(readFileSync(path));
  };
  return withServer(handler, use);
}

/** Defines a test in each browser; `use` gets an address and a function that opens tabs there. */
function testIn(title, use, only = BROWSERS) {
  for (const [name, launch, skip] of only) {
    test(`${name}: ${title}`, { skip }, async () => {
      if (!launched.has(name)) launched.set(name, launch());
      const browser = await launched.get(name);
      await serving(async (address) => {
        const tabs = [];
        const tab = async () => {
          const page = await browser.newPage();
          tabs.push(page);
          await page.goto(address);
          return page;
        };
        try {
          await use({ address, tab, browser });
        } finally {
          await Promise.all(tabs.map((page) => page.isClosed() || page.close()));
        }
      });
    });
  }
}

/** Opens a store in a page, keeps it as `window.store`, and returns the error's code and message. */
const openStore = async (name) => {
  const { IndexedDbStore } = await import('/indexed-db.js');
  try {
    window.store = await IndexedDbStore.open(name);
  } catch (error) {
    return [error.code, error.message];
  }
};

testIn(
  'one tab at a time has a stream, and the next one when it is closed or gone',
  async ({ tab }) => {
    const [first, second, third] = [await tab(), await tab(), await tab()];
    assert.equal(await first.evaluate(openStore, 'shared'), undefined);
    for (const page of [first, second]) {
      const [code, message] = await page.evaluate(openStore, 'shared');
      assert.equal(code, 'store_in_use');
      assert.match(
        message,
        /^IndexedDbStore: "shared": name must not be in use, got one that a tab or worker of this site has open/,
      );
    }
    assert.equal(await second.evaluate(openStore, 'another'), undefined);
    await first.evaluate(() => window.store.close());
    assert.equal(await second.evaluate(openStore, 'shared'), undefined);
    await second.close();
    // Soon after a tab is gone, the browser frees its lock.
    let refused;
    for (let i = 0; i < 100; ++i) {
      refused = await third.evaluate(openStore, 'shared');
      if (!refused) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(refused, undefined);
  },
);

testIn(
  'names that are not texts, or too long or short, are refused with what was given',
  async ({ tab }) => {
    const page = await tab();
    const refused = await page.evaluate(async () => {
      const { IndexedDbStore } = await import('/indexed-db.js');
      const names = [
        7,
        ['a', 1],
        new Date(0),
        undefined,
        null,
        {},
        true,
        3n,
        Symbol('a'),
        new Uint8Array(2),
        '',
      ];
      names.push('a'.repeat(201), '\ud800', 'a\0b');
      return Promise.all(
        names.map((name) =>
          IndexedDbStore.open(name).then(
            () => 'opened',
            (error) => `${error.name} ${error.message}`,
          ),
        ),
      );
    });
    const wanted = [
      'number 7',
      '["a",1]',
      '"1970-01-01T00:00:00.000Z"',
      'undefined',
      'null',
      'object',
      'boolean true',
      'bigint',
      'symbol',
      'Uint8Array',
      '""',
      '201 characters',
      '"\\ud800"',
      '"a\\u0000b"',
    ];
    refused.forEach((message, i) => {
      assert.ok(message.endsWith(`, got ${wanted[i]}`), `${wanted[i]}: ${message}`);
      assert.match(
        message,
        i < 10 ? /^TypeError .* name must be a string/ : /^RangeError .* name must have 1 to 200/,
      );
    });
  },
);

testIn('the store asks for persistence, and says whether it was granted', async ({ tab }) => {
  const page = await tab();
  const answers = await page.evaluate(async () => {
    const { IndexedDbStore } = await import('/indexed-db.js');
    const told = [];
    const ask = async (storage) => {
      Object.defineProperty(navigator, 'storage', { value: storage, configurable: true });
      const store = await IndexedDbStore.open('lasting');
      told.push(await store.persisted);
      await store.close();
    };
    let asked = 0;
    const answer = (value) => async () => (++asked, value);
    await ask({ persisted: async () => false, persist: answer(true) });
    await ask({ persisted: async () => false, persist: answer(false) });
    await ask({ persisted: async () => true, persist: answer(false) });
    await ask({ persisted: async () => true }); // as in a worker
    await ask({
      persisted: async () => {
        throw new Error('no');
      },
    });
    await ask(undefined);
    // The store opens even if the user never answers.
    Object.defineProperty(navigator, 'storage', {
      value: { persist: () => new Promise(() => {}) },
    });
    const store = await IndexedDbStore.open('waiting');
    await store.close();
    return { told, asked };
  });
  assert.deepEqual(answers, { told: [true, false, true, true, false, false], asked: 2 });
});

testIn(
  'streams of two realms cannot have one store, not even a new one',
  async ({ tab, address }) => {
    const page = await tab();
    const result = await page.evaluate(async (src) => {
      const frame = document.createElement('iframe');
      frame.src = src;
      document.body.append(frame);
      await new Promise((resolve) => (frame.onload = resolve));
      const { IndexedDbStore } = await import('/indexed-db.js');
      const own = await (await import('/index.js')).load();
      const other = await (await frame.contentWindow.eval("import('/index.js')")).load();
      const target = { strategy: 'tree', steps: 9, epsilon: 1, delta: 1e-6 };
      const codes = [];
      for (const [first, second] of [
        [own, other],
        [other, own],
      ]) {
        const store = await IndexedDbStore.open('realms');
        const one = await first.counter({ ...target, store });
        const refused = () => second.counter({ ...target, store }).catch((error) => error.code);
        codes.push(await refused());
        await one.end();
        codes.push(await refused());
        await one.dispose();
        const next = await second.counter({ ...target, store, mustExist: true });
        codes.push(next.step);
        await next.dispose();
        await store.close();
      }
      return codes;
    }, address);
    assert.deepEqual(result, [
      'store_in_use',
      'store_in_use',
      1,
      'store_in_use',
      'store_in_use',
      2,
    ]);
  },
);

testIn(
  'active people are those of an uninterrupted stream, also after a reload',
  async ({ tab }) => {
    const page = await tab();
    const differences = [];
    for (const [day, names] of [['ann', 'bob', 'ann'], ['ann'], [], ['carl']].entries()) {
      const difference = await page.evaluate(
        async (day, names) => {
          const { IndexedDbStore } = await import('/indexed-db.js');
          const dp = await (await import('/index.js')).load();
          const windows = { day: 1, week: 3 };
          const options = { steps: 9, epsilon: 1, delta: 1e-6, windows, insecureSeed: 3 };
          const store = await IndexedDbStore.open('active');
          const people = await dp.active({ ...options, store, mustExist: day > 0 });
          await Promise.all(names.map((name) => people.add(name)));
          const { step, active } = await people.end();
          const noise = dp.active(options).endMany(day + 1)[day].active;
          return [step, ...Object.keys(windows).map((it) => active[it].value - noise[it].value)];
        },
        day,
        names,
      );
      differences.push(difference);
      await page.reload();
    }
    assert.deepEqual(differences, [
      [0, 2, 2],
      [1, 1, 2],
      [2, 0, 2],
      [3, 1, 2],
    ]);
  },
);

/** Module that counts overlapping calls on streams; also a worker. */
const OVERLAPPING = `
  import { load } from '/index.js';
  import { IndexedDbStore } from '/indexed-db.js';
  export async function count(prefix, numCalls) {
    const dp = await load();
    const target = { steps: 500, epsilon: 1, delta: 1e-6, strategy: 'tree' };
    const people = { people: { times: 4, apart: 7 } };
    const counts = {};
    for (const [name, options, ...person] of [['records', {}], ['people', people, 'ann']]) {
      const store = await IndexedDbStore.open(prefix + name);
      const counter = await dp.counter({ ...target, ...options, store });
      const calls = Array.from({ length: numCalls }, () => counter.release(...person, 1));
      await Promise.all(calls);
      await counter.dispose();
      const again = await dp.counter({ ...target, ...options, store, mustExist: true });
      counts[name] = [again.step, again.records];
      await again.dispose();
      await store.close();
    }
    return counts;
  }
  if (typeof document === 'undefined')
    self.onmessage = ({ data }) => count(...data).then(postMessage, (error) => postMessage(String(error)));
`;

const NUM_CALLS = 200;
testIn(
  `${NUM_CALLS} overlapping calls count ${NUM_CALLS} times, in a page and in a worker`,
  async ({ tab }) => {
    const page = await tab();
    const all = await page.evaluate(async (numCalls) => {
      const { count } = await import('/overlapping.js');
      const worker = new Worker('/overlapping.js', { type: 'module' });
      worker.postMessage(['worker ', numCalls]);
      const inWorker = await new Promise(
        (resolve) => (worker.onmessage = ({ data }) => resolve(data)),
      );
      worker.terminate();
      return [await count('page ', numCalls), inWorker];
    }, NUM_CALLS);
    const each = [NUM_CALLS, NUM_CALLS];
    const wanted = { records: each, people: each };
    assert.deepEqual(all, [wanted, wanted]);
  },
);

testIn(
  'clearing site data settles all calls with an error, also the closing',
  async ({ tab, address }) => {
    for (let round = 0; round < 5; ++round) {
      const page = await tab();
      const session = await page.createCDPSession();
      await page.evaluate(async () => {
        const { IndexedDbStore } = await import('/indexed-db.js');
        const dp = await (await import('/index.js')).load();
        const store = await IndexedDbStore.open('cleared');
        const target = { strategy: 'tree', steps: 100_000, epsilon: 1, delta: 1e-6 };
        const counter = await dp.counter({ ...target, store });
        const codeOf = (promise) =>
          promise.then(
            () => undefined,
            ({ code }) => code,
          );
        window.outcomes = (async () => {
          let code;
          while (!code) code = await codeOf(counter.end());
          const late = await Promise.all(
            [counter.end(), counter.releaseMany([1, 0]), store.load()].map(codeOf),
          );
          return [code, ...late, (await codeOf(store.close())) ?? 'closed'];
        })();
      });
      await new Promise((resolve) => setTimeout(resolve, 40 * round));
      await session.send('Storage.clearDataForOrigin', {
        origin: new URL(address).origin,
        storageTypes: 'indexeddb',
      });
      const patience = new Promise((resolve) =>
        setTimeout(() => resolve('nothing settled'), 20_000),
      );
      const outcomes = await Promise.race([page.evaluate(() => window.outcomes), patience]);
      assert.deepEqual(
        outcomes,
        [...new Array(4).fill('store_failed'), 'closed'],
        `round ${round}`,
      );
      // A cleared stream begins anew, unless it must exist.
      const next = await page.evaluate(async () => {
        const { IndexedDbStore } = await import('/indexed-db.js');
        const dp = await (await import('/index.js')).load();
        const store = await IndexedDbStore.open('cleared');
        const target = { strategy: 'tree', steps: 100_000, epsilon: 1, delta: 1e-6 };
        const code = await dp
          .counter({ ...target, store, mustExist: true })
          .catch((error) => error.code);
        await store.close();
        return code;
      });
      assert.equal(next, 'bad_state');
      await page.close();
    }
  },
  BROWSERS.slice(0, 1),
);
