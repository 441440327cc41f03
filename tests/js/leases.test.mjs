// SPDX-License-Identifier: Apache-2.0

// No two streams in one store release the same step, whatever is wrapped around the store and
// wherever they run.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import vm from 'node:vm';
import { buildSync } from 'esbuild';
import { importEntry, installed } from './support/consumer.mjs';
import { hasPostgres, startPostgres } from './support/postgres.mjs';
import { programs, read } from './support/pages.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const { PostgresStore } = await importEntry('dp-ftrl/postgres-store');
const dp = await load();
const scratch = scratchFolder('leases');
const target = { strategy: 'tree', steps: 50, epsilon: 1, delta: 1e-6 };
const inUse = { code: 'store_in_use', message: /store must not be in use, got one that another/ };

let server;
before(async () => (server = hasPostgres ? await startPostgres() : undefined));
after(() => server?.stop());
let numStores = 0;

/** The example of a store from the documentation, perhaps with `append`. */
function documentedStore(appends) {
  const { code } = programs(read('docs/package.md')).find((it) => /holder/.test(it.code));
  const store = new Function(`${code}; return store;`)();
  if (!appends) return store;
  const { save } = store;
  let whole = new Uint8Array();
  store.save = async (bytes, lease) => {
    await save(bytes, lease);
    whole = bytes;
  };
  store.append = (bytes, lease) => store.save(Uint8Array.from([...whole, ...bytes]), lease);
  return store;
}

/** Stores that keep the contract. */
const STORES = {
  file: async () => {
    const store = await FileStore.open(join(scratch, String(++numStores)));
    return { store, close: () => store.close() };
  },
  documented: async () => ({ store: documentedStore(false) }),
  'documented, appending': async () => ({ store: documentedStore(true) }),
  ...(hasPostgres && {
    postgres: async () => {
      const client = await server.connect();
      const store = await PostgresStore.open({ client, name: `leases ${++numStores}` });
      return { store, close: () => store.close().then(() => client.end()) };
    },
  }),
};

/** Loads once for all wrappers. */
function cached(store) {
  let bytes;
  return () => ({
    load: (lease) => (bytes ??= store.load(lease)),
    save: (...args) => store.save(...args),
    append: store.append && ((...args) => store.append(...args)),
    close: () => store.close(),
  });
}

/** Ways to wrap a store. */
const WRAPPERS = {
  methods: (store) => () => ({
    load: (...args) => store.load(...args),
    save: (...args) => store.save(...args),
    append: store.append && ((...args) => store.append(...args)),
    close: () => store.close(),
  }),
  'methods that drop the lease': (store) => () => ({
    load: () => store.load(),
    save: (bytes) => store.save(bytes),
    append: store.append && ((bytes) => store.append(bytes)),
    close: () => store.close(),
  }),
  'methods without append': (store) => () => ({
    load: (...args) => store.load(...args),
    save: (...args) => store.save(...args),
    close: () => store.close(),
  }),
  proxy: (store) => () =>
    new Proxy(store, {
      get: (of, name) => (typeof of[name] === 'function' ? of[name].bind(of) : of[name]),
      defineProperty: () => false,
    }),
  'frozen spread': (store) => () =>
    Object.freeze({
      load: (...args) => store.load(...args),
      save: (...args) => store.save(...args),
      append: store.append && ((...args) => store.append(...args)),
      close: () => store.close(),
    }),
  derived: (store) => () => Object.create(store),
  'the store itself': (store) => () => store,
  'one load for all': cached,
};

/** Opens a counter; its records are its number, so that readings of two differ. */
async function contender(store, number) {
  const counter = await dp.counter({ ...target, store }).catch((error) => error);
  const released = new Set();
  return {
    counter,
    released,
    /** Code of the error, if it fails. */
    async release() {
      if (counter instanceof Error) return counter.code;
      try {
        released.add((await counter.release(number)).step);
      } catch (error) {
        return error.code;
      }
    },
  };
}

const disjoint = (one, other) =>
  assert.ok([...one.released].every((step) => !other.released.has(step)));

/** Orders in which two counters are opened and release, so that one of them has to be refused. */
const ORDERS = ['ABab', 'ABba', 'AaBab', 'ABabab', 'AaaBbba', 'BAabba', 'ABaabbab'];

for (const [kind, makeStore] of Object.entries(STORES)) {
  test(`leases: two streams on wrappers of one store never release a step twice (${kind})`, async () => {
    for (const [name, wrapper] of Object.entries(WRAPPERS)) {
      for (const order of ORDERS) {
        const { store, close } = await makeStore();
        const wrap = wrapper(store);
        const all = {};
        const codes = [];
        for (const act of order) {
          const who = act.toUpperCase();
          if (act === who) all[who] = await contender(wrap(), who === 'A' ? 0 : 1);
          else codes.push(await all[who].release());
        }
        const { A, B } = all;
        const place = `${name}, ${order}: ${codes}`;
        assert.ok(codes.some(Boolean), `${place}: one of them must be refused`);
        for (const code of codes) {
          assert.ok(!code || ['store_in_use', 'store_failed'].includes(code), place);
        }
        disjoint(A, B);
        for (const { counter } of [A, B]) if (!(counter instanceof Error)) await counter.dispose();
        await close?.();
      }
    }
    assert.equal(dp.liveHandles, 0);
  });
}

test('leases: a wrapped store serves one stream after the other', async () => {
  for (const makeStore of [STORES.file, STORES.documented, STORES['documented, appending']]) {
    const { store, close } = await makeStore();
    for (let life = 0; life < 3; ++life) {
      const counter = await dp.counter({ ...target, store: WRAPPERS.methods(store)() });
      assert.equal(counter.step, 2 * life);
      await counter.endMany(2);
      await counter.dispose();
    }
    await close?.();
  }
});

/** Step of the stream in a store, which is free afterwards. */
async function stepOf(store) {
  const counter = await dp.counter({ ...target, store });
  const { step } = counter;
  await counter.dispose();
  return step;
}

/** The package in another realm of this process. */
async function anotherRealm() {
  const { outputFiles } = buildSync({
    entryPoints: [join(installed, 'dist/index.js')],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'other',
    platform: 'browser',
    logLevel: 'silent',
  });
  const names = [
    'AbortController',
    'atob',
    'crypto',
    'performance',
    'TextEncoder',
    'TextDecoder',
    'MessageChannel',
    'URL',
    'setTimeout',
  ];
  const context = vm.createContext(
    Object.fromEntries(names.map((name) => [name, globalThis[name]])),
  );
  vm.runInContext(outputFiles[0].text, context);
  return vm.runInContext('other.load()', context);
}

test('leases: streams of two copies of the package cannot have one store, not even an empty one', async () => {
  const copies = [await anotherRealm(), await (await importEntry('dp-ftrl/external')).load()];
  const { store: file, close } = await STORES.file();
  for (const other of copies) {
    for (const store of [memoryStore(), appendingStore(), Object.freeze(memoryStore()), file]) {
      const isShared = !Object.isFrozen(store); // Else its mark is in a table of the realm.
      if (!isShared && other === copies[0]) continue;
      const begun = await stepOf(store);
      for (const [first, second] of [
        [dp, other],
        [other, dp],
      ]) {
        const one = await first.counter({ ...target, store });
        await assert.rejects(second.counter({ ...target, store }), inUse, 'empty at first');
        await one.end();
        await assert.rejects(second.counter({ ...target, store }), inUse);
        await one.dispose();
        // Then the other one continues from the bytes of the first.
        const next = await second.counter({ ...target, store });
        await assert.rejects(first.counter({ ...target, store }), inUse);
        await next.end();
        await next.dispose();
      }
      assert.equal(await stepOf(store), begun + 4);
    }
  }
  await close();
});

test('leases: a store that is frozen while it is held stays held', async () => {
  const store = memoryStore();
  const counter = await dp.counter({ ...target, store });
  Object.freeze(store);
  await assert.rejects(dp.counter({ ...target, store }), inUse);
  await counter.dispose();
  const next = await dp.counter({ ...target, store });
  await assert.rejects(dp.counter({ ...target, store }), inUse);
  await next.dispose();
});

test('leases: a store is also in use while a stream is made, and free after one that failed', async () => {
  const store = memoryStore();
  const make = (more) => dp.counter({ ...target, ...more, store });
  const both = await Promise.allSettled([make(), make()]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const counter = both.find(({ status }) => status === 'fulfilled').value;
  await counter.end();
  await counter.dispose();
  await assert.rejects(make({ epsilon: 2 }), { code: 'other_options' });
  const next = await make();
  assert.equal(next.step, 1);
  await next.dispose();
});

test('leases: after two loads without a lease, nobody may write without opening the store again', async () => {
  const { store, close } = await STORES.file();
  await store.load();
  await store.save(Uint8Array.of(1));
  await store.load();
  await assert.rejects(store.save(Uint8Array.of(2)), {
    code: 'store_in_use',
    message: /loaded again since/,
  });
  const lease = {};
  assert.deepEqual(await store.load(lease), Uint8Array.of(1));
  await assert.rejects(store.append(Uint8Array.of(2), {}), { code: 'store_in_use' });
  await store.append(Uint8Array.of(2), lease);
  assert.deepEqual(await store.load(), Uint8Array.of(1, 2));
  await close();
});
