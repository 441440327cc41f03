// SPDX-License-Identifier: Apache-2.0

// The rules of the built service worker, tested in a simulated browser: which addresses it answers,
// with what, and which builds it keeps.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, test } from 'node:test';
import vm from 'node:vm';
import { site } from './support.mjs';

const scope = 'http://host/some/where/';
const built = await readFile(path.join(site, 'service-worker.js'), 'utf8');
const script = /assets\/index-[^"]+js/.exec(built)[0];

/** Content of a file as served by the host of a build. */
const contentOf = (build, url) => `${build} ${url}`;

/** Worker of a build whose files name their build, with its hash inserted. */
function workerOf(build, code = built) {
  const names = [...new Set(code.match(/assets\/[\w.-]+/g)), 'index.html'].sort();
  const sum = createHash('sha256');
  for (const name of names) {
    const content = contentOf(build, scope + (name === 'index.html' ? '' : name));
    for (const part of [name, content]) sum.update(`${Buffer.byteLength(part)} ${part}`);
  }
  const hash = sum.digest('hex').slice(0, 16);
  return code.replace(/"[0-9a-f]{16}"/g, `"${hash}"`);
}
const source = workerOf('first');
/** Worker of a build whose scripts have other names. */
const laterSource = workerOf('second', built.replace(/assets\/(?=\w)/g, 'assets/later-'));

const urlOf = (request) => (typeof request === 'string' ? request : request.url);

/** A host that may be offline, and caches; fetched content names its build. */
class World {
  caches = new Map();
  build = 'first';
  online = true;
  /** Number of files that can be stored before storage is full. */
  room = Infinity;
  /** Called before each answer. */
  asked = () => {};

  async fetch(request) {
    if (!this.online) throw new TypeError('out of reach');
    this.asked(urlOf(request));
    return new Response(contentOf(this.build, urlOf(request)));
  }

  open(name) {
    if (!this.caches.has(name)) this.caches.set(name, new Map());
    const kept = this.caches.get(name);
    return {
      match: async (request) => kept.get(urlOf(request))?.clone(),
      put: async (request, response) => {
        if (--this.room < 0) throw new Error('no room');
        kept.set(urlOf(request), response);
      },
    };
  }

  start(code) {
    const listeners = {};
    const all = () => [...this.caches.values()];
    vm.runInNewContext(code, {
      URL,
      TextEncoder,
      Uint8Array,
      crypto,
      registration: { scope },
      fetch: (request) => this.fetch(request),
      Request: function (url) {
        this.url = url;
      },
      caches: {
        keys: async () => [...this.caches.keys()],
        open: async (name) => this.open(name),
        delete: async (name) => this.caches.delete(name),
        match: async (request) =>
          all()
            .find((kept) => kept.has(urlOf(request)))
            ?.get(urlOf(request))
            .clone(),
      },
      addEventListener: (type, listener) => (listeners[type] = listener),
    });
    const live = async (type) => {
      let work;
      listeners[type]({ waitUntil: (promise) => (work = promise) });
      await work;
    };
    return {
      install: () => live('install'),
      activate: () => live('activate'),
      /** Text of the response; undefined if the worker leaves the address to the browser. */
      async ask(address, { mode = 'cors', method = 'GET' } = {}) {
        const request = { url: new URL(address, scope).href, mode, method };
        let answer;
        listeners.fetch({ request, respondWith: (promise) => (answer = promise) });
        return (await answer)?.text();
      },
    };
  }
}

const opened = { mode: 'navigate' };
let world;
let worker;
beforeEach(async () => {
  world = new World();
  worker = world.start(source);
  await worker.install();
  await worker.activate();
});

test('cached addresses are served without the host, and others are left to the browser', async () => {
  world.online = false;
  for (const address of ['', 'index.html', '?embed=naive']) {
    assert.equal(await worker.ask(address, opened), `first ${scope}`);
  }
  assert.equal(await worker.ask(script), `first ${scope}${script}`);
  assert.equal(await worker.ask(script, { method: 'POST' }), undefined);
  assert.equal(await worker.ask('dp-ftrl.html', opened), undefined);
  assert.equal(await worker.ask('https://elsewhere/index.html', opened), undefined);
  assert.equal(world.caches.size, 1);
});

test('a newer build is shown at once and cached, and activating it removes the older one', async () => {
  world.caches.set('of another page', new Map());
  world.build = 'second';
  assert.equal(await worker.ask('', opened), `second ${scope}`);
  assert.equal(await worker.ask(script), `first ${scope}${script}`);
  const later = world.start(laterSource);
  await later.install();
  world.online = false;
  assert.equal(
    await worker.ask('', opened),
    `second ${scope}`,
    'while pages of the first are open',
  );
  assert.equal(await worker.ask(script), `first ${scope}${script}`);
  const laterScript = script.replace('assets/', 'assets/later-');
  assert.equal(await worker.ask(laterScript), `second ${scope}${laterScript}`, 'the page needs it');
  await later.activate();
  const [elsewhere, ...kept] = world.caches.keys();
  assert.deepEqual([elsewhere, kept.length], ['of another page', 1]);
  assert.equal(await later.ask('', opened), `second ${scope}`);
});

test('a build that could not be cached completely is not shown', async () => {
  world.online = false;
  await assert.rejects(world.start(laterSource).install(), /out of reach/);
  assert.equal(await worker.ask('', opened), `first ${scope}`);
});

/** Expects that only the first build is cached, and completely. */
async function onlyFirstIsKept() {
  assert.equal(world.caches.size, 1);
  world.online = false;
  assert.equal(await worker.ask('', opened), `first ${scope}`);
  assert.equal(await worker.ask(script), `first ${scope}${script}`);
}

test('a build that is replaced while it is being cached leaves the previous one unchanged', async () => {
  world.build = 'second';
  let left = 3;
  world.asked = () => {
    if (left-- === 0) world.build = 'third';
  };
  await assert.rejects(world.start(laterSource).install(), /another build/);
  assert.ok(left < 0);
  await onlyFirstIsKept();
});

test('the page of a later build is not kept with the files of an earlier one', async () => {
  world.asked = (url) => (world.build = url === scope ? 'third' : 'second');
  await assert.rejects(world.start(laterSource).install(), /another build/);
  await onlyFirstIsKept();
});

test('a build for which there is no room leaves the previous one unchanged', async () => {
  world.build = 'second';
  for (const room of [0, 1, 5]) {
    world.room = room;
    await assert.rejects(world.start(laterSource).install(), /no room/);
  }
  await onlyFirstIsKept();
});
