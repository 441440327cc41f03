// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { withServer } from './support/browser.mjs';
import { entryUrl, importEntry, installed, node } from './support/consumer.mjs';
import { intercepted, loadIntercepted } from './support/intercept.mjs';
import { importSource } from './support/sources.mjs';

const { createInstance, load, DpError } = await importEntry('dp-ftrl');
const external = await importEntry('dp-ftrl/external');
const wasmPath = join(installed, 'dist/dp-ftrl.wasm');
const wasm = new Uint8Array(readFileSync(wasmPath));
const known = { epsilon: 1, delta: 1e-6 };

function works(dp) {
  assert.ok(Math.abs(dp.calibrate(known).noiseMultiplier - 4.224679) < 1e-6);
}

/** Asserts that loading fails with a DpError with this code and message. */
async function refused(promise, code, message) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof DpError, `${error.name}: ${error.message}`);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  });
}

test('load: all callers get the same instance', async () => {
  const [first, second] = await Promise.all([load(), load()]);
  assert.equal(first, second);
  assert.equal(await load({}), first);
  works(first);
});

test('load: the external entry reads the file beside it', async () => works(await external.load()));

test('load: URL, string, bytes, buffer, view, Response and module all work', async () => {
  const url = pathToFileURL(wasmPath);
  const padded = new Uint8Array(wasm.length + 7);
  padded.set(wasm, 3);
  const sources = [
    url,
    url.href,
    wasm,
    wasm.buffer,
    padded.subarray(3, 3 + wasm.length),
    new Response(wasm),
    new Response(wasm, { headers: { 'content-type': 'application/wasm' } }),
    await WebAssembly.compile(wasm),
  ];
  for (const source of sources) works(await load({ wasm: source }));
});

test('load: the same source gives the same instance, another source another', async () => {
  const copy = wasm.slice();
  const first = await load({ wasm: copy });
  assert.equal(await load({ wasm: copy }), first);
  assert.notEqual(await load({ wasm: wasm.slice() }), first);
  assert.notEqual(await load(), first);
});

test('load: it works over HTTP, with and without streaming', async () => {
  for (const type of ['application/wasm', 'application/octet-stream']) {
    await withServer(
      (_, response) => response.setHeader('content-type', type).end(wasm),
      async (url) => works(await load({ wasm: `${url}dp-ftrl.wasm` })),
    );
  }
});

test('load: an uncaught error shows the name of its class', async () => {
  const source = `import { load } from 'dp-ftrl'; await load({ wasm: new Uint8Array() });`;
  const { code, stderr } = await node(['--input-type=module', '-e', source]);
  assert.equal(code, 1);
  assert.match(stderr, /^DpError: load: /m);
});

test('load: a page instead of the file is named as such', async () => {
  const page = '<!DOCTYPE html><title>Not found</title>';
  const got = /got 3c 21 44 4f \("<!DOCTYPE html><title>No": an HTML page/;
  await refused(load({ wasm: new TextEncoder().encode(page) }), 'load_failed', got);
  await withServer(
    (_, response) => response.setHeader('content-type', 'text/html').end(page),
    async (url) => {
      await refused(load({ wasm: url }), 'load_failed', got);
      await refused(load({ wasm: url }), 'load_failed', new RegExp(url));
    },
  );
});

test('load: bytes that are empty, cut short, no module or of another program are refused', async () => {
  await refused(load({ wasm: new Uint8Array() }), 'load_failed', /got nothing \(0 bytes\)/);
  await refused(
    load({ wasm: new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]) }),
    'load_failed',
    /got 01 02 03 04/,
  );
  await refused(
    load({ wasm: wasm.slice(0, wasm.length >> 1) }),
    'load_failed',
    /damaged or cut short/,
  );
  const streamed = new Response(wasm.slice(0, 999), {
    headers: { 'content-type': 'application/wasm' },
  });
  await refused(load({ wasm: streamed }), 'load_failed', /damaged or cut short/);
  const other = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  await refused(load({ wasm: other }), 'load_failed', /is not the one of dp-ftrl \d+\.\d+\.\d+$/);
});

test('load: an error status, a refused connection and a missing file are reported', async () => {
  await withServer(
    (_, response) => response.writeHead(404).end('nothing here'),
    (url) => refused(load({ wasm: url }), 'load_failed', /status 404/),
  );
  await refused(load({ wasm: 'http://127.0.0.1:9/x.wasm' }), 'load_failed', /could not read/);
  await refused(load({ wasm: 'file:///no/such/file.wasm' }), 'load_failed', /ENOENT/);
  await refused(load({ wasm: 'no such address' }), 'load_failed', /no such address/);
});

test('load: a failed load is not remembered', async () => {
  let healthy = false;
  await withServer(
    (_, response) => (healthy ? response.end(wasm) : response.writeHead(503).end()),
    async (url) => {
      await refused(load({ wasm: url }), 'load_failed', /503/);
      healthy = true;
      works(await load({ wasm: url }));
    },
  );
});

test('load: wrong types are TypeErrors that say what they got', async () => {
  const cases = [
    [5, /options must be an object, got number/],
    [null, /options must be an object, got null/],
    [{ wasm: 5 }, /wasm must be a URL.*got number/],
    [{ wasm: null }, /wasm must be a URL.*got null/],
    [{ wasm: {} }, /wasm must be a URL.*got object/],
    [{ signal: 'now' }, /signal must be an AbortSignal, got string/],
    [{ wsam: wasm }, /wsam is an unknown option; known are wasm, signal/],
  ];
  for (const [options, message] of cases) {
    await assert.rejects(load(options), (error) => {
      assert.ok(error instanceof TypeError);
      assert.equal(error.code, 'wrong_type');
      assert.match(error.message, message);
      return true;
    });
  }
});

test('load: a signal gives up one wait; other waits go on, and a later load works', async () => {
  await assert.rejects(load({ signal: AbortSignal.abort() }), { name: 'AbortError' });
  let requests = 0;
  await withServer(
    (_, response) => {
      ++requests;
      setTimeout(() => response.end(wasm), 100);
    },
    async (wasmUrl) => {
      const giveUp = new AbortController();
      const impatient = load({ wasm: wasmUrl, signal: giveUp.signal });
      const patient = load({ wasm: wasmUrl, signal: new AbortController().signal });
      const reason = new Error('changed my mind');
      giveUp.abort(reason);
      await assert.rejects(impatient, (error) => error === reason);
      works(await patient);
      assert.equal(requests, 1);

      const alone = new AbortController();
      const lone = load({ wasm: `${wasmUrl}?2`, signal: alone.signal });
      await new Promise((resolve) => setTimeout(resolve, 30));
      alone.abort();
      await assert.rejects(lone, { name: 'AbortError' });
      works(await load({ wasm: `${wasmUrl}?2` }));
    },
  );
});

test('load: where compiling is forbidden the error names the directive', async () => {
  const messages = [
    "Refused to compile or instantiate WebAssembly module because 'unsafe-eval' is not allowed",
    'call to WebAssembly.compile() blocked by CSP',
    'WebAssembly.compile(): Wasm code generation disallowed by embedder',
    'an engine with words of its own',
  ];
  for (const message of messages) {
    const code = `
      const error = new WebAssembly.CompileError(${JSON.stringify(message)});
      WebAssembly.compile = () => Promise.reject(error);
      const { load } = await import('${entryUrl('dp-ftrl')}');
      await load().catch((error) => process.stdout.write(error.code + ' ' + error.message));`;
    const { stdout } = await node(['--input-type=module', '-e', code]);
    assert.match(stdout, /^compilation_blocked .*'wasm-unsafe-eval' to script-src/);
    assert.match(stdout, /WebAssembly\.Module as options\.wasm/);
  }
});

test('load: without a source of entropy, only seeded streams can be made', async () => {
  const code = `
    Object.defineProperty(globalThis, 'crypto', { value: undefined });
    const { load } = await import('${entryUrl('dp-ftrl')}');
    const dp = await load();
    const options = { steps: 4, epsilon: 1, delta: 1e-6 };
    const say = (text) => process.stdout.write(text);
    try { dp.counter(options); } catch (error) { say(error.name + ' ' + error.code); }
    dp.counter({ ...options, insecureSeed: 1 }).release(1);
    say(' still alive');`;
  const { stdout, stderr } = await node(['--input-type=module', '-e', code]);
  assert.equal(stderr, '');
  assert.equal(stdout, 'DpError entropy_unavailable still alive');
});

test('load: an instance survives a random generator that fails or writes nothing', async () => {
  const code = `
    const { load } = await import('${entryUrl('dp-ftrl')}');
    const dp = await load();
    const options = { steps: 4, epsilon: 1, delta: 1e-6 };
    const counter = dp.counter(options);
    const say = (text) => process.stdout.write(text);
    const real = crypto.getRandomValues.bind(crypto);
    const broken = [
      (array) => { if (array.length > 1) throw new Error('broken'); return real(array); },
      (array) => array.length > 1 ? array : real(array),
    ];
    for (const fake of broken) {
      crypto.getRandomValues = fake;
      try { dp.counter(options); } catch (error) { say(error.name + ' ' + error.code + '; '); }
    }
    crypto.getRandomValues = real;
    counter.release(1);
    dp.counter(options).release(1);
    say('alive with ' + dp.liveHandles);`;
  const { stdout, stderr } = await node(['--input-type=module', '-e', code]);
  assert.equal(stderr, '');
  const refused = 'DpError entropy_unavailable; ';
  assert.equal(stdout, `${refused}${refused}alive with 2`);
});

test('key: every bit comes from the platform, and none is left after use', async () => {
  const { withKey } = await importSource('core/key.ts');
  const real = crypto.getRandomValues;
  const keep = [];
  const use = (options, given) =>
    withKey('test', options, ({ key }) => (keep.push(key), key && [...key]), given);
  const isWiped = (key) => key.length === 32 && key.every((byte) => byte === 0);
  try {
    crypto.getRandomValues = (array) => array.fill(0xa5);
    assert.deepEqual(
      use({ insecureSeed: undefined }),
      Array.from({ length: 32 }, () => 0xa5),
    );
  } finally {
    crypto.getRandomValues = real;
  }
  assert.ok(isWiped(keep.at(-1)));
  const own = Uint8Array.from({ length: 32 }, (_, i) => i);
  assert.deepEqual(use({ insecureSeed: undefined }, own), [...own]);
  assert.ok(isWiped(keep.at(-1)));
  assert.equal(own[31], 31, 'that of the caller is left alone');
  assert.equal(use({ insecureSeed: 1n }), undefined);
  const failing = ({ key }) => {
    keep.push(key);
    throw new Error('failed');
  };
  assert.throws(() => withKey('test', { insecureSeed: undefined }, failing), /failed/);
  assert.ok(isWiped(keep.at(-1)));
});

test('createInstance: each instance has its own memory and handles', async () => {
  const one = await intercepted(() => createInstance());
  const other = await intercepted(() => createInstance());
  assert.notEqual(one.memory, other.memory);
  assert.notEqual(one.dp, other.dp);
  assert.notEqual(one.dp, await load());
  const [own, before] = [one.memory.buffer.byteLength, other.memory.buffer.byteLength];
  const big = { strategy: 'square-root', steps: 2 ** 16, dimension: 64, ...known };
  const sums = one.dp.totals(big);
  sums.release(new Float64Array(64));
  assert.ok(one.memory.buffer.byteLength > own, 'its memory grew');
  assert.equal(other.memory.buffer.byteLength, before);
  assert.deepEqual([one.dp.liveHandles, other.dp.liveHandles], [1, 0]);
  const small = { strategy: 'tree', steps: 4, ...known, insecureSeed: 1 };
  assert.deepEqual(one.dp.counter(small).release(1), other.dp.counter(small).release(1));
  sums.dispose();
});

test('createInstance: takes what load takes, and nothing is remembered', async () => {
  const module = await WebAssembly.compile(wasm);
  const first = await createInstance({ wasm: module });
  works(first);
  assert.notEqual(await createInstance({ wasm: module }), first);
  assert.notEqual(await load({ wasm: module }), first);
  assert.equal(await load(), await load());
  works(await external.createInstance());
  const bad = createInstance({ wasm: new Uint8Array(9) });
  await refused(bad, 'load_failed', /00 61 73 6d, got 00 00/);
  works(await createInstance({ wasm }));
  const gone = createInstance({ signal: AbortSignal.abort() });
  await assert.rejects(gone, { name: 'AbortError' });
  const giveUp = new AbortController();
  const soon = createInstance({ signal: giveUp.signal });
  giveUp.abort();
  await assert.rejects(soon, { name: 'AbortError' });
  await assert.rejects(createInstance({ wsam: 1 }), /createInstance: wsam is an unknown option/);
  await assert.rejects(createInstance({ wasm: 5 }), /createInstance: wasm must be a URL/);
});

test('createInstance: one that stopped says so, and the others go on', async () => {
  const other = await createInstance();
  const { dp, trap } = await intercepted(() => createInstance());
  const counter = dp.counter({ steps: 8, strategy: 'tree', ...known });
  trap();
  assert.throws(
    () => counter.release(1),
    ({ code, message }) => code === 'aborted' && /call createInstance\(\) for a new/.test(message),
  );
  works(other);
  works(await load());
});

test('abort: an instance that trapped says so from then on, load() gives another', async () => {
  const source = wasm.slice();
  const { dp, trap } = await loadIntercepted(load, source);
  const counter = dp.counter({ steps: 8, ...known, insecureSeed: 1 });
  const before = counter.release(1);
  trap();
  const aborted = (error) => {
    assert.ok(error instanceof DpError);
    assert.equal(error.code, 'aborted');
    assert.match(error.message, /the WebAssembly instance stopped \(unreachable\).*load\(\) again/);
    return true;
  };
  assert.throws(() => counter.release(1), aborted);
  assert.throws(() => counter.release(1), aborted);
  assert.throws(() => counter.step, aborted);
  assert.throws(() => dp.calibrate(known), aborted);
  assert.throws(() => dp.liveHandles, aborted);
  counter.dispose();
  assert.equal(counter.disposed, true);
  assert.ok(Number.isFinite(before.value));
  const fresh = await load({ wasm: source });
  assert.notEqual(fresh, dp);
  works(fresh);
});
