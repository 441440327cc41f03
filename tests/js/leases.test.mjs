// SPDX-License-Identifier: Apache-2.0

// No two ledgers on one store release the same step, whatever is wrapped around the store and
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
const target = { mechanism: 'tree', numSteps: 50, epsilon: 1, delta: 1e-6 };

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

/** Ways to wrap a store; `tells` those that pass all arguments on. */
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

/** Opens a ledger; its records are its number, so that releases of two differ. */
async function contender(store, number) {
  const ledger = await dp.ledger({ ...target, store }).catch((error) => error);
  const released = new Set();
  return {
    ledger,
    released,
    /** Returns the code of the error, if it fails. */
    async release() {
      if (ledger instanceof Error) return ledger.code;
      try {
        released.add((await ledger.release([number])).step);
      } catch (error) {
        return error.code;
      }
    },
  };
}

const disjoint = (one, other) =>
  assert.ok([...one.released].every((step) => !other.released.has(step)));

/** Orders in which two ledgers are opened and release, so that one of them has to be refused. */
const ORDERS = ['ABab', 'ABba', 'AaBab', 'ABabab', 'AaaBbba', 'BAabba', 'ABaabbab'];

for (const [kind, makeStore] of Object.entries(STORES)) {
  test(`leases: two ledgers on wrappers of one store never release a step twice (${kind})`, async () => {
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
        for (const { ledger } of [A, B]) if (!(ledger instanceof Error)) ledger.dispose();
        await close?.();
      }
    }
    assert.equal(dp.liveHandles, 0);
  });
}

test('leases: a wrapped store serves one ledger after the other', async () => {
  for (const makeStore of [STORES.file, STORES.documented, STORES['documented, appending']]) {
    const { store, close } = await makeStore();
    for (let life = 0; life < 3; ++life) {
      const ledger = await dp.ledger({ ...target, store: WRAPPERS.methods(store)() });
      assert.equal(ledger.step, 2 * life);
      await ledger.release([1]);
      await ledger.release([1]);
      ledger.dispose();
    }
    await close?.();
  }
});

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

test('leases: ledgers of two realms cannot have one store, not even an empty one', async () => {
  const other = await anotherRealm();
  const inUse = { code: 'store_in_use', message: /another ledger has/ };
  const { store: file, close } = await STORES.file();
  for (const store of [memoryStore(), appendingStore(), file]) {
    for (const [first, second] of [
      [dp, other],
      [other, dp],
    ]) {
      const one = await first.ledger({ ...target, store });
      await assert.rejects(second.ledger({ ...target, store }), inUse, 'empty at first');
      await one.release([1]);
      await assert.rejects(second.ledger({ ...target, store }), inUse);
      one.dispose();
      // Then the other one continues from the bytes of the first.
      const next = await second.ledger({ ...target, store });
      await assert.rejects(first.ledger({ ...target, store }), inUse);
      await next.release([1]);
      next.dispose();
    }
    const last = await dp.ledger({ ...target, store });
    assert.equal(last.step, 4);
    last.dispose();
  }
  await close();
});

test('leases: a store that is frozen while it is held stays held', async () => {
  const store = memoryStore();
  const ledger = await dp.ledger({ ...target, store });
  Object.freeze(store);
  await assert.rejects(dp.ledger({ ...target, store }), { code: 'store_in_use' });
  ledger.dispose();
  const next = await dp.ledger({ ...target, store });
  await assert.rejects(dp.ledger({ ...target, store }), { code: 'store_in_use' });
  next.dispose();
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
