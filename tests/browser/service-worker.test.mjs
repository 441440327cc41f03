// SPDX-License-Identifier: Apache-2.0

// The rules of the built service worker, in a made-up browser: which addresses it answers, with what,
// and which builds it keeps.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, test } from 'node:test';
import vm from 'node:vm';
import { site } from './support.mjs';

const scope = 'http://host/some/where/';
const source = await readFile(path.join(site, 'service-worker.js'), 'utf8');
const script = /assets\/index-[^"]+js/.exec(source)[0];
/** The worker of a build whose scripts have other names. */
const laterSource = source.replace(/"[0-9a-f]{16}"/, '"later"').replaceAll('assets/', 'assets/later-');

const urlOf = (request) => (typeof request === 'string' ? request : request.url);

/** A host that may be out of reach, and caches; what is fetched says which build it is of. */
class World {
  caches = new Map();
  build = 'first';
  online = true;

  async fetch(request) {
    if (!this.online) throw new TypeError('out of reach');
    return `${this.build} ${urlOf(request)}`;
  }

  open(name) {
    if (!this.caches.has(name)) this.caches.set(name, new Map());
    const kept = this.caches.get(name);
    const add = async (request) => kept.set(urlOf(request), await this.fetch(request));
    return {
      match: async (request) => kept.get(urlOf(request)),
      add,
      addAll: (requests) => Promise.all(requests.map(add)),
    };
  }

  start(code) {
    const listeners = {};
    const all = () => [...this.caches.values()];
    vm.runInNewContext(code, {
      URL,
      registration: { scope },
      fetch: (request) => this.fetch(request),
      Request: function (url) {
        this.url = url;
      },
      caches: {
        keys: async () => [...this.caches.keys()],
        open: async (name) => this.open(name),
        delete: async (name) => this.caches.delete(name),
        match: async (request) => all().find((kept) => kept.has(urlOf(request)))?.get(urlOf(request)),
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
      /** Undefined: it leaves the address to the browser. */
      async ask(address, { mode = 'cors', method = 'GET' } = {}) {
        const request = { url: new URL(address, scope).href, mode, method };
        let answer;
        listeners.fetch({ request, respondWith: (promise) => (answer = promise) });
        return answer;
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

test('what is kept answers without the host; other addresses are left to the browser', async () => {
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

test('a newer build is seen at once, and kept; the older one goes when its pages are gone', async () => {
  world.caches.set('of another page', new Map());
  world.build = 'second';
  assert.equal(await worker.ask('', opened), `second ${scope}`);
  assert.equal(await worker.ask(script), `first ${scope}${script}`);
  const later = world.start(laterSource);
  await later.install();
  world.online = false;
  assert.equal(await worker.ask('', opened), `second ${scope}`, 'while pages of the first are open');
  assert.equal(await worker.ask(script), `first ${scope}${script}`);
  await later.activate();
  assert.deepEqual(
    [...world.caches.keys()].map((name) => name.split(' ').at(-1)),
    ['page', 'later'],
  );
  assert.equal(await later.ask('', opened), `second ${scope}`);
});

test('a build that could not be kept whole is not shown', async () => {
  world.online = false;
  await assert.rejects(world.start(laterSource).install(), /out of reach/);
  assert.equal(await worker.ask('', opened), `first ${scope}`);
});
