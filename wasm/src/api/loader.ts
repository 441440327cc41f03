// SPDX-License-Identifier: Apache-2.0

// load(): one instance per source; failures are not cached, and every caller may cancel.
// createInstance(): a new instance every time.

import type { Glue } from 'dp-ftrl:glue';
import { optionsObject, wrongType } from '../core/check.js';
import { Core, type Renewal } from '../core/core.js';
import { DpError } from '../core/errors.js';
import { compileSource, memoryError, type WasmSource } from '../core/source.js';
import type { LoadOptions } from '../types/all.js';

/** A module of the core, and the function that makes the API of an instance. */
export interface Edition<Api> {
  glue: Glue;
  makeApi(core: Core): Api;
  /** Compiles the module bundled with the package. */
  compile(signal: AbortSignal): Promise<WebAssembly.Module>;
}

interface EntryPoint<Api> {
  promise: Promise<Api>;
  controller: AbortController;
  waiting: number;
  settled: boolean;
}

/** Results by source. Strings and URLs are compared by value, other sources by identity. */
class Cache<Api> {
  private readonly texts = new Map<string, EntryPoint<Api>>();
  private readonly objects = new WeakMap<object, EntryPoint<Api>>();

  get(source: WasmSource | undefined): EntryPoint<Api> | undefined {
    const { map, key } = this.placeOf(source);
    return map.get(key);
  }

  set(source: WasmSource | undefined, entry: EntryPoint<Api>): void {
    const { map, key } = this.placeOf(source);
    map.set(key, entry);
  }

  /** Removes the entry, unless it was replaced. */
  drop(source: WasmSource | undefined, entry: EntryPoint<Api>): void {
    const { map, key } = this.placeOf(source);
    if (map.get(key) === entry) map.delete(key);
  }

  private placeOf(source: WasmSource | undefined) {
    const isObject = typeof source === 'object' && !(source instanceof URL);
    const map = (isObject ? this.objects : this.texts) as Map<unknown, EntryPoint<Api>>;
    return { map, key: isObject ? source : String(source) };
  }
}

async function instantiate<Api>(
  edition: Edition<Api>,
  module: WebAssembly.Module,
  renewal: Renewal,
): Promise<Api> {
  let core: Core;
  let version: string;
  try {
    core = await Core.create(edition.glue, module, renewal);
    version = core.call('version');
  } catch (cause) {
    const exhausted = memoryError(cause);
    if (exhausted) throw exhausted;
    const what = `load: the WebAssembly module is not the one of dp-ftrl ${PACKAGE_VERSION}`;
    throw new DpError('load_failed', what, { cause });
  }
  if (version !== PACKAGE_VERSION) {
    throw new DpError(
      'load_failed',
      `load: the WebAssembly module is of dp-ftrl ${version}, the package is ${PACKAGE_VERSION}`,
    );
  }
  return edition.makeApi(core);
}

/** Awaits the promise, but rejects with the reason of a signal that is aborted first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<never>((_, reject) => {
        onAbort = () => reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    ]);
  } finally {
    signal.removeEventListener('abort', onAbort!);
  }
}

/** Waits for a shared load, which is cancelled when the last caller gives up. */
async function wait<Api>(
  entry: EntryPoint<Api>,
  signal: AbortSignal | undefined,
  forget: () => void,
) {
  ++entry.waiting;
  if (!signal) return entry.promise;
  try {
    return await unlessAborted(entry.promise, signal);
  } finally {
    if (--entry.waiting === 0 && !entry.settled) {
      forget();
      entry.controller.abort(signal.reason);
    }
  }
}

const OPTIONS = ['wasm', 'signal'];

function readLoadOptions(where: string, options: LoadOptions): LoadOptions {
  const given: LoadOptions = optionsObject(where, options, OPTIONS);
  const { wasm, signal } = given;
  if (wasm === null || !['undefined', 'string', 'object'].includes(typeof wasm)) {
    throw wrongType(where, 'wasm', 'a URL, a string, bytes or a WebAssembly.Module', wasm);
  }
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw wrongType(where, 'signal', 'an AbortSignal', signal);
  }
  signal?.throwIfAborted();
  return given;
}

/** Compiles the caller's source or, by default, the module that comes with the package. */
function compile<Api>(
  edition: Edition<Api>,
  source: WasmSource | undefined,
  signal: AbortSignal,
): Promise<WebAssembly.Module> {
  return source === undefined ? edition.compile(signal) : compileSource(source, signal);
}

function start<Api>(
  edition: Edition<Api>,
  cache: Cache<Api>,
  source: WasmSource | undefined,
): EntryPoint<Api> {
  const controller = new AbortController();
  const renewal = { onAbort: () => cache.drop(source, entry), how: 'load() again' };
  const entry: EntryPoint<Api> = {
    promise: compile(edition, source, controller.signal).then((module) =>
      instantiate(edition, module, renewal),
    ),
    controller,
    waiting: 0,
    settled: false,
  };
  entry.promise.then(
    () => (entry.settled = true),
    () => {
      entry.settled = true;
      cache.drop(source, entry);
    },
  );
  cache.set(source, entry);
  return entry;
}

/**
 * The instances of each edition. A cache is created at its first use, because bundlers could not
 * drop one that is created here.
 */
const caches = new WeakMap<object, Cache<never>>();

/** `load` of an entry: all calls with the same source share an instance. */
export async function loadShared<Api>(
  edition: Edition<Api>,
  options: LoadOptions = {},
): Promise<Api> {
  const { wasm: source, signal } = readLoadOptions('load', options);
  const cache = (caches.get(edition) as Cache<Api> | undefined) ?? new Cache<Api>();
  caches.set(edition, cache as Cache<never>);
  const entry = cache.get(source) ?? start(edition, cache, source);
  return wait(entry, signal, () => cache.drop(source, entry));
}

/** Makes an instance of an edition: `createInstance` of an entry. */
export async function createFrom<Api>(
  edition: Edition<Api>,
  options: LoadOptions = {},
): Promise<Api> {
  const { wasm: source, signal } = readLoadOptions('createInstance', options);
  const until = signal ?? new AbortController().signal;
  const module = await unlessAborted(compile(edition, source, until), signal);
  return instantiate(edition, module, { onAbort() {}, how: 'createInstance()' });
}
