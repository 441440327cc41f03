// SPDX-License-Identifier: Apache-2.0

// Caches the files of one build of the page, so that it opens without a network. Nothing but these
// files is ever stored; when an open page requests files of another build, the request is passed
// on. The build fills in the names of the files: vite.offline.ts.

import { digits, framed } from './framed.ts';
import { familyOf, keptBuilds, newestPage } from './kept.ts';

/** The files of this build other than the page itself, relative to this script. */
declare const FILES: readonly string[];
/** Hash of the names and contents of all files of this build, including the page. */
declare const BUILD: string;

interface Lifetime {
  waitUntil(work: Promise<unknown>): void;
}
interface ServiceWorkerQuestion {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface ServiceWorkerScope {
  readonly registration: { readonly scope: string };
  addEventListener(type: 'install' | 'activate', listener: (event: Lifetime) => void): void;
  addEventListener(type: 'fetch', listener: (event: ServiceWorkerQuestion) => void): void;
}

const worker = globalThis as unknown as ServiceWorkerScope;
const { scope } = worker.registration;
const cacheName = familyOf(scope) + BUILD;
/** Folder of the files of all builds. */
const folder = new URL('assets/', scope).href;
const pageName = 'index.html';
const pages = new Set([scope, new URL(pageName, scope).href]);

interface FetchedFile {
  readonly name: string;
  readonly address: string;
  readonly response: Response;
  readonly bytes: Uint8Array;
}

/**
 * Fetches a file by its `name` in the build; the page is fetched from the address at which it is
 * opened.
 */
async function fetchFile(name: string): Promise<FetchedFile> {
  const isPage = name === pageName;
  const address = isPage ? scope : new URL(name, scope).href;
  const response = await fetch(new Request(address, { cache: isPage ? 'no-cache' : 'default' }));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return { name, address, response, bytes: new Uint8Array(await response.clone().arrayBuffer()) };
}

/**
 * Fetches all files of this build. Rejects if the host has replaced the build meanwhile or answers
 * with anything else, because the hash then differs.
 */
async function fetchBuild(): Promise<FetchedFile[]> {
  const names = [...FILES, pageName].sort();
  const fetched = await Promise.all(names.map(fetchFile));
  const parts = fetched.flatMap(({ name, bytes }) => [name, bytes]);
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', framed(parts)));
  const hash = [...sum].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  if (hash.slice(0, digits) !== BUILD) throw new Error('the host has another build by now');
  return fetched;
}

/**
 * Changes no cache until all files are fetched. Stores the page last, so that a cache with the page
 * is complete.
 */
async function install(): Promise<void> {
  const fetched = await fetchBuild();
  // If the host has returned to this build, its cache must become the newest again.
  await caches.delete(cacheName);
  const cache = await caches.open(cacheName);
  const keep = ({ address, response }: FetchedFile): Promise<void> => cache.put(address, response);
  const isPage = ({ name }: FetchedFile): boolean => name === pageName;
  try {
    await Promise.all(fetched.filter((one) => !isPage(one)).map(keep));
    await keep(fetched.find(isPage)!);
  } catch (error) {
    await caches.delete(cacheName);
    throw error;
  }
}

/** Removes only older builds, because later builds may already be installing. */
async function removeOlder(): Promise<void> {
  const names = await keptBuilds(scope);
  const older = names.slice(0, Math.max(0, names.indexOf(cacheName)));
  await Promise.all(older.map((name) => caches.delete(name)));
}

/**
 * Answers with the cached file, which has the right content because names contain a hash. It may
 * belong to a later build, whose page was opened while pages of this build keep this worker alive.
 */
async function fileOf(request: Request): Promise<Response> {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}

/** The page of the host if the host can be reached, otherwise the newest cached page. */
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
