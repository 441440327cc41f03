// SPDX-License-Identifier: Apache-2.0

// The package in Chromium: as files under a strict policy, bundled by Vite, and from file://.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build as bundle } from 'esbuild';
import puppeteer from 'puppeteer-core';
import { build as viteBuild } from 'vite';
import { chromium, contentTypes, recordingLogger, withServer } from './support/browser.mjs';
import { consumer, installed, rolldownOptions, root } from './support/consumer.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-browser-'));
let browser;

before(async () => {
  assert.ok(
    chromium.executablePath,
    'no Chromium found: install it, or name it in DPFTRL_CHROMIUM',
  );
  browser = await puppeteer.launch(chromium);
});
after(async () => {
  await browser?.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** Serves folders under a policy and passes the address to `use`. */
async function serving({ folders, policy, wasmType = 'application/wasm' }, use) {
  const handler = (request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    if (policy) response.setHeader('content-security-policy', policy);
    if (pathname === '/empty.html')
      return response.setHeader('content-type', 'text/html').end('<!doctype html>');
    if (pathname === '/favicon.ico') return response.writeHead(204).end();
    const path = folders.map((folder) => join(folder, pathname)).find((it) => existsSync(it));
    if (!path)
      return response.writeHead(404, { 'content-type': 'text/html' }).end('<!doctype html>');
    const extension = extname(path);
    response.setHeader(
      'content-type',
      extension === '.wasm' ? wasmType : (contentTypes[extension] ?? 'text/plain'),
    );
    return response.end(readFileSync(path));
  };
  return withServer(handler, (address) => use(address.slice(0, -1)));
}

/** Opens a page, runs `body` in it, and returns its result with all console output. */
async function inPage(address, body, ...args) {
  const page = await browser.newPage();
  const said = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  try {
    await page.goto(address);
    return { result: await page.evaluate(body, ...args), said };
  } finally {
    await page.close();
  }
}

const dist = { folders: [join(installed, 'dist')] };
const strict =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'none'; worker-src 'self'";

const useEntry = async (entry) => {
  const { load } = await import(entry);
  try {
    const dp = await load();
    const target = { steps: 4, epsilon: 1, delta: 1e-6 };
    const totals = dp.counter({ ...target, insecureSeed: 7 }).releaseMany([1, 0, 1, 1]);
    dp.counter(target).release(1);
    return { totals, multiplier: dp.calibrate({ epsilon: 1, delta: 1e-6 }).noiseMultiplier };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
};

/** Node must give numbers that are equal to the last bit. */
const { load } = await import(pathToFileURL(join(installed, 'dist/index.js')));
const dp = await load();
const four = { steps: 4, epsilon: 1, delta: 1e-6, insecureSeed: 7 };
const expected = dp.counter(four).releaseMany([1, 0, 1, 1]);

function assertWorks({ result, said }) {
  assert.deepEqual(said, []);
  assert.deepEqual(result.totals, expected);
  assert.ok(Math.abs(result.multiplier - 4.224679) < 1e-6);
}

test('chromium: `.` works under a strict policy, offline, with the bits of Node', () =>
  serving({ ...dist, policy: strict }, async (address) => {
    assertWorks(await inPage(`${address}/empty.html`, useEntry, '/index.js'));
  }));

test('chromium: `./external` streams its file, and reads it when the type is wrong', async () => {
  const policy = strict.replace("connect-src 'none'", "connect-src 'self'");
  for (const wasmType of ['application/wasm', 'application/octet-stream']) {
    await serving({ ...dist, policy, wasmType }, async (address) => {
      assertWorks(await inPage(`${address}/empty.html`, useEntry, '/external.js'));
    });
  }
});

const useCounter = async () => {
  const { load } = await import('/counter.js');
  const dp = await load();
  const options = { strategy: 'honaker', steps: 4, epsilon: 1, delta: 1e-6, insecureSeed: 7 };
  return dp.counter(options).releaseMany([1, 0, 1, 1]);
};

test('chromium: `./counter` streams its file, with the bits of the whole package in Node', () => {
  const policy = strict.replace("connect-src 'none'", "connect-src 'self'");
  return serving({ ...dist, policy }, async (address) => {
    const { result, said } = await inPage(`${address}/empty.html`, useCounter);
    assert.deepEqual(said, []);
    const counter = dp.counter({ ...four, strategy: 'honaker' });
    assert.deepEqual(result, counter.releaseMany([1, 0, 1, 1]));
  });
});

const useCounterInStore = async () => {
  const { load } = await import('/index.js');
  const { IndexedDbStore } = await import('/indexed-db.js');
  const dp = await load();
  const target = { strategy: 'blt-rational', steps: 9, epsilon: 1, delta: 1e-6 };
  const storeOf = (seed) => IndexedDbStore.open(`sums ${seed}`);
  const open = async (seed) => {
    const store = await storeOf(seed);
    return dp.counter({ ...target, insecureSeed: seed, store });
  };
  const codeOf = (promise) =>
    promise.then(
      () => 'none',
      (error) => error.code,
    );
  const held = await storeOf(7);
  const first = await dp.counter({ ...target, insecureSeed: 7, store: held });
  const readings = await first.releaseMany([1, 0]);
  const refused = await codeOf(open(7)); // as another tab would
  await first.dispose();
  await held.close();
  const second = await open(7);
  const again = await second.releaseAt(0, [1]);
  const changed = await codeOf(second.releaseAt(0, [0.5]));
  readings.push(...(await second.releaseMany([1, 1])));
  // Closing waits for pending saves, and later ones are refused.
  const store = await storeOf(9);
  const only = await dp.counter({ ...target, insecureSeed: 9, store });
  const last = only.release(1);
  for (let i = 0; i < 50; ++i) await Promise.resolve(); // until it is saving
  const closing = store.close();
  const late = await codeOf(only.release(1));
  await Promise.all([last, closing]);
  const { step } = await open(9);
  return { readings, again, codes: { refused, changed, late }, step, other: (await open(8)).step };
};

test('chromium: a stream in IndexedDB continues after a reload, and two tabs cannot share it', () =>
  serving({ ...dist, policy: strict }, async (address) => {
    const page = await browser.newPage();
    try {
      await page.goto(`${address}/empty.html`);
      const { readings, again, codes, step, other } = await page.evaluate(useCounterInStore);
      const target = { strategy: 'blt-rational', steps: 9, epsilon: 1, delta: 1e-6 };
      const counter = dp.counter({ ...target, insecureSeed: 7 });
      assert.deepEqual(readings, counter.releaseMany([1, 0, 1, 1]));
      assert.deepEqual(again, readings[0]);
      const wanted = { refused: 'store_in_use', changed: 'already_released', late: 'disposed' };
      assert.deepEqual(codes, wanted);
      assert.deepEqual([step, other], [1, 0]);
      // Continues after the page was closed and reopened.
      await page.reload();
      const goesOn = await page.evaluate(async () => {
        const { load } = await import('/index.js');
        const { IndexedDbStore } = await import('/indexed-db.js');
        const store = await IndexedDbStore.open('sums 7');
        const target = { strategy: 'blt-rational', steps: 9, epsilon: 1, delta: 1e-6 };
        const again = await (await load()).counter({ ...target, insecureSeed: 7, store });
        return again.release(0.5);
      });
      assert.deepEqual(goesOn, counter.release(0.5));
    } finally {
      await page.close();
    }
  }));

/** Runs in a page: opens a database of an older version, then appends in every situation. */
const useFrames = async () => {
  const { load } = await import('/index.js');
  const { IndexedDbStore } = await import('/indexed-db.js');
  const dp = await load();
  const options = { strategy: 'tree', steps: 60, epsilon: 1, delta: 1e-6, insecureSeed: 5 };
  // Without locks, the store compares what was written.
  Object.defineProperty(navigator, 'locks', { value: undefined });
  const settled = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
      request.onblocked = () => reject(new Error('blocked'));
    });
  // Waits for connections that are being closed.
  const deleteAll = () =>
    new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase('dp-ftrl');
      request.onsuccess = () => resolve();
      request.onerror = () => reject(request.error);
    });
  const codeOf = (promise) =>
    promise.then(
      () => 'none',
      (error) => error.code || error.name,
    );
  // Version 1 of the database had no frames: it is refused, and keeps what it has.
  const begun = Uint8Array.of(1, 2, 3);
  await deleteAll();
  const request = indexedDB.open('dp-ftrl', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('ledgers');
  const old = await settled(request);
  const put = old.transaction('ledgers', 'readwrite').objectStore('ledgers');
  await settled(put.put({ generation: 4, bytes: begun }, 'a'));
  const blocked = await codeOf(IndexedDbStore.open('a'));
  old.close();
  const tooOld = await codeOf(IndexedDbStore.open('a'));
  const still = await settled(indexedDB.open('dp-ftrl', 1));
  const table = still.transaction('ledgers').objectStore('ledgers');
  const keptBytes = [...(await settled(table.get('a'))).bytes];
  still.close();
  await deleteAll();

  const store = await IndexedDbStore.open('a');
  const appended = [];
  let lease;
  const seen = {
    append: (bytes, lease) => (appended.push(bytes.length), store.append(bytes, lease)),
    load: (given) => store.load((lease = given)),
    save: (bytes, lease) => store.save(bytes, lease),
    close: () => store.close(),
  };
  const counter = await dp.counter({ ...options, store: seen });
  const readings = [];
  while (counter.step < 40) readings.push(await counter.release(counter.step % 2));
  const database = await settled(indexedDB.open('dp-ftrl', 2));
  const tables = database.transaction(['ledgers', 'frames']);
  const { generation } = await settled(tables.objectStore('ledgers').get('a'));
  const keys = (await settled(tables.objectStore('frames').getAllKeys())).map(
    ([name, i]) => `${name} ${i}`,
  );
  const older = await codeOf(settled(indexedDB.open('dp-ftrl', 1)));

  // After another tab continues, this one can neither append nor save.
  const other = await IndexedDbStore.open('a');
  const next = await dp.counter({ ...options, store: other });
  const goesOn = await next.release(0.5);
  const refused = [
    await codeOf(store.append(new Uint8Array(3), lease)),
    await codeOf(store.save(new Uint8Array(3), lease)),
  ];
  const nothing = await codeOf((await IndexedDbStore.open('b')).append(new Uint8Array(3)));
  const apart = await (await IndexedDbStore.open('b')).load();

  // Saving again leaves no frames except the base's empty one.
  const own = {};
  await other.load(own);
  await other.save(Uint8Array.of(7), own);
  await other.append(Uint8Array.of(8, 9), own);
  const after = [...(await (await IndexedDbStore.open('a')).load())];
  await other.append(Uint8Array.of(10), own);
  const lost = database.transaction('frames', 'readwrite').objectStore('frames');
  const cursor = await settled(lost.openKeyCursor(IDBKeyRange.bound(['a', 0], ['a', Infinity])));
  await settled(lost.delete(['a', cursor.key[1] + 1]));
  const damaged = await codeOf((await IndexedDbStore.open('a')).load());
  database.close();
  return {
    blocked,
    tooOld,
    keptBytes,
    readings,
    appended,
    generation,
    keys,
    older,
    goesOn,
    refused,
    nothing,
    apart,
    after,
    damaged,
  };
};

test('chromium: steps are appended in IndexedDB, and a database of version 1 is refused and kept', () =>
  serving({ ...dist, policy: strict }, async (address) => {
    const { result } = await inPage(`${address}/empty.html`, useFrames);
    const options = { strategy: 'tree', steps: 60, epsilon: 1, delta: 1e-6, insecureSeed: 5 };
    const counter = dp.counter(options);
    const records = Array.from({ length: 40 }, (_, i) => i % 2);
    assert.deepEqual(result.readings, counter.releaseMany(records));
    assert.deepEqual(result.goesOn, counter.release(0.5));
    // The first step saves a base; each later one appends the same length.
    assert.equal(result.appended.length, 39);
    assert.equal(new Set(result.appended).size, 1);
    assert.equal(result.generation, 1);
    assert.deepEqual(
      result.keys,
      Array.from({ length: 40 }, (_, i) => `a ${i + 1}`),
    );
    assert.equal(result.older, 'VersionError');
    assert.equal(result.blocked, 'store_in_use');
    assert.equal(result.tooOld, 'bad_state');
    assert.deepEqual(result.keptBytes, [1, 2, 3]);
    assert.deepEqual(result.refused, ['store_in_use', 'store_in_use']);
    assert.equal(result.nothing, 'store_failed');
    assert.equal(result.apart, undefined);
    assert.deepEqual(result.after, [7, 8, 9]);
    assert.equal(result.damaged, 'store_failed');
  }));

test('chromium: workers that share a key generate the same noise as a single worker', () =>
  serving(
    { folders: [join(root, 'examples/workers'), ...dist.folders].reverse(), policy: strict },
    async (address) => {
      const page = await browser.newPage();
      try {
        await page.goto(`${address}/index.html?dimension=5003&steps=3`);
        await page.waitForSelector('body[data-done]');
        const text = await page.$eval('#result', (element) => element.textContent);
        assert.match(text, /^5003 coordinates, 3 steps\n4 workers .*\none worker .*\nthe same/);
      } finally {
        await page.close();
      }
    },
  ));

test('chromium: without wasm-unsafe-eval the error names it', () =>
  serving(
    { ...dist, policy: "default-src 'none'; script-src 'self'; connect-src 'self'" },
    async (address) => {
      for (const entry of ['/index.js', '/external.js']) {
        const { result } = await inPage(`${address}/empty.html`, useEntry, entry);
        assert.equal(result.code, 'compilation_blocked', result.message);
        assert.match(result.message, /'wasm-unsafe-eval' to script-src/);
      }
    },
  ));

test('chromium: an HTML page in place of the .wasm file is named in the error', () =>
  serving(dist, async (address) => {
    const { result } = await inPage(
      `${address}/empty.html`,
      async (url) => {
        const { load: loadExternal } = await import('/external.js');
        return loadExternal({ wasm: url }).then(
          () => 'loaded',
          (error) => `${error.code}: ${error.message}`,
        );
      },
      `${address}/empty.html`,
    );
    assert.match(result, /load_failed: .*empty.html is not WebAssembly.*an HTML page/);
  }));

const useWorker = async (start) => {
  const client = await start();
  try {
    const version = await client.ready;
    const remote = await client.study.simulation({ steps: 200, epsilon: 1, delta: 1e-6 });
    const { noisySums } = await remote.advance(1000);
    const running = client.study
      .simulation({
        steps: 1e6,
        strategy: 'tree',
        epsilon: 1,
        delta: 1e-6,
        numRegretPrefixes: 0,
      })
      .then((it) => it.advance(1e6))
      .then(
        () => 'finished',
        (error) => error.code,
      );
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.cancel();
    const alive = await client.liveHandles();
    return {
      version,
      sums: noisySums.length,
      last: noisySums.at(-1),
      running: await running,
      alive,
    };
  } finally {
    client.terminate();
  }
};

const own = dp.study.simulation({ steps: 200, epsilon: 1, delta: 1e-6 });
const ownLast = own.advance(200).noisySums.at(-1);

function assertWorker({ result, said }) {
  assert.deepEqual(said, []);
  assert.deepEqual(result, {
    version: dp.version,
    sums: 800,
    last: ownLast,
    running: 'cancelled',
    alive: 0,
  });
}

test('chromium: the worker client starts the worker beside it, under the strict policy', () =>
  serving({ ...dist, policy: strict }, async (address) => {
    const body = `(${useWorker})(async () => (await import('/worker-client.js')).connect())`;
    assertWorker(await inPage(`${address}/empty.html`, body));
  }));

test('chromium: the main, external and worker-client entries work when bundled by Vite', async () => {
  const root = mkdtempSync(join(consumer, 'vite-'));
  try {
    writeFileSync(
      join(root, 'index.html'),
      '<!doctype html><script type="module" src="./main.js"></script>',
    );
    writeFileSync(
      join(root, 'main.js'),
      `
      import { load } from 'dp-ftrl';
      import { load as loadExternal } from 'dp-ftrl/external';
      import { connect } from 'dp-ftrl/worker-client';
      window.entries = { '.': load, './external': loadExternal };
      window.connect = connect;`,
    );
    const outDir = join(scratch, 'vite');
    const { customLogger, warnings } = recordingLogger();
    await viteBuild({
      root,
      configFile: false,
      logLevel: 'warn',
      base: './',
      build: { outDir, emptyOutDir: true, chunkSizeWarningLimit: 5000, rolldownOptions },
      worker: { format: 'es', rolldownOptions },
      customLogger,
    });
    assert.deepEqual(warnings, []);
    await serving({ folders: [outDir] }, async (address) => {
      const loaded = '{ load: window.entries[entry] }';
      const use = `(${useEntry.toString().replace('await import(entry)', loaded)})`;
      for (const entry of ['.', './external'])
        assertWorks(await inPage(`${address}/index.html`, `${use}('${entry}')`));
      assertWorker(
        await inPage(`${address}/index.html`, `(${useWorker})(async () => window.connect())`),
      );
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test('chromium: the package works when bundled into one page opened from file://', async () => {
  const { outputFiles } = await bundle({
    stdin: {
      contents: "import { load } from 'dp-ftrl'; window.load = load;",
      resolveDir: consumer,
    },
    bundle: true,
    format: 'iife',
    write: false,
  });
  const page = join(scratch, 'page.html');
  writeFileSync(
    page,
    `<!doctype html><script>${outputFiles[0].text.replaceAll('</script', '<\\/script')}</script>`,
  );
  const use = useEntry.toString().replace('await import(entry)', '{ load: window.load }');
  assertWorks(await inPage(pathToFileURL(page).href, `(${use})()`));
});
