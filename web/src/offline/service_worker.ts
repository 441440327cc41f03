// SPDX-License-Identifier: Apache-2.0

// Keeps the files of one build of the page, so that it opens without a network. Nothing but these
// files is ever stored; what an open page asks for of another build is passed on. The build fills in
// the names: vite.offline.ts.

import { digits, framed } from './framed.ts';
import { familyOf, keptBuilds, newestPage } from './kept.ts';

/** The files of this build other than the page itself, relative to this script. */
declare const FILES: readonly string[];
/** Hash of the names and contents of all files of this build, the page among them. */
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
/** Files of all builds stand in this folder. */
const folder = new URL('assets/', scope).href;
const pageName = 'index.html';
const pages = new Set([scope, new URL(pageName, scope).href]);

interface Fetched {
  readonly name: string;
  readonly address: string;
  readonly response: Response;
  readonly bytes: Uint8Array;
}

/** `name` is that of the build; the page is asked for by the address at which it is opened. */
async function fetchFile(name: string): Promise<Fetched> {
  const isPage = name === pageName;
  const address = isPage ? scope : new URL(name, scope).href;
  const response = await fetch(new Request(address, { cache: isPage ? 'no-cache' : 'default' }));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return { name, address, response, bytes: new Uint8Array(await response.clone().arrayBuffer()) };
}

/**
 * All files of this build. Rejects where the host has put another one in their place meanwhile, or
 * answers with something else: neither has the hash.
 */
async function fetchBuild(): Promise<Fetched[]> {
  const names = [...FILES, pageName].sort();
  const fetched = await Promise.all(names.map(fetchFile));
  const parts = fetched.flatMap(({ name, bytes }) => [name, bytes]);
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', framed(parts)));
  const hash = [...sum].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  if (hash.slice(0, digits) !== BUILD) throw new Error('the host has another build by now');
  return fetched;
}

/** Touches no cache before everything is there. The page comes last: a cache that has it is whole. */
async function install(): Promise<void> {
  const fetched = await fetchBuild();
  // A build that comes back is the newest one again.
  await caches.delete(cacheName);
  const cache = await caches.open(cacheName);
  const keep = ({ address, response }: Fetched): Promise<void> => cache.put(address, response);
  const isPage = ({ name }: Fetched): boolean => name === pageName;
  try {
    await Promise.all(fetched.filter((one) => !isPage(one)).map(keep));
    await keep(fetched.find(isPage)!);
  } catch (error) {
    await caches.delete(cacheName);
    throw error;
  }
}

/** Later builds may be on their way already. */
async function removeOlder(): Promise<void> {
  const names = await keptBuilds(scope);
  const older = names.slice(0, Math.max(0, names.indexOf(cacheName)));
  await Promise.all(older.map((name) => caches.delete(name)));
}

/**
 * Files have a hash in their name, so the kept one is the right one. It may be of a later build, whose
 * page was opened while this worker still serves: pages of its own are open.
 */
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
  else if (address.startsWith(folder)) event.respondWith(fileOf(request));
});
