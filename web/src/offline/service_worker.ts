// SPDX-License-Identifier: Apache-2.0

// Keeps the files of one build of the page, so that it opens without a network. Nothing but these
// files is ever fetched or stored. The build fills in their names: vite.offline.ts.

import { familyOf, keptBuilds, newestPage } from './kept.ts';

/** The files of this build other than the page itself, relative to this script. */
declare const FILES: readonly string[];
/** Hash of the names and contents of all files of this build. */
declare const BUILD: string;

interface Lifetime {
  waitUntil(work: Promise<unknown>): void;
}
interface Question {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface Scope {
  readonly registration: { readonly scope: string };
  addEventListener(type: 'install' | 'activate', listener: (event: Lifetime) => void): void;
  addEventListener(type: 'fetch', listener: (event: Question) => void): void;
}

const worker = globalThis as unknown as Scope;
const { scope } = worker.registration;
const cacheName = familyOf(scope) + BUILD;
const files = new Set(FILES.map((name) => new URL(name, scope).href));
const pages = new Set([scope, new URL('index.html', scope).href]);

/** The page comes last: a cache that has it has all of its build. */
async function install(): Promise<void> {
  // A build that comes back is the newest one again.
  await caches.delete(cacheName);
  const cache = await caches.open(cacheName);
  await cache.addAll([...files]);
  await cache.add(new Request(scope, { cache: 'no-cache' }));
}

/** Later builds may be on their way already. */
async function removeOlder(): Promise<void> {
  const names = await keptBuilds(scope);
  const older = names.slice(0, Math.max(0, names.indexOf(cacheName)));
  await Promise.all(older.map((name) => caches.delete(name)));
}

/** Files have a hash in their name, so the kept one is the right one. */
async function fileOf(request: Request): Promise<Response> {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}

/** The host's page where it can be reached, else the newest that is kept. */
async function pageOf(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    const page = await newestPage(scope);
    if (page === undefined) throw error;
    return page;
  }
}

worker.addEventListener('install', (event) => event.waitUntil(install()));
worker.addEventListener('activate', (event) => event.waitUntil(removeOlder()));
worker.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  const address = origin + pathname;
  if (request.method !== 'GET') return;
  if (request.mode === 'navigate' && pages.has(address)) event.respondWith(pageOf(request));
  else if (files.has(address)) event.respondWith(fileOf(request));
});
