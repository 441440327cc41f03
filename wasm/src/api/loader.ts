// SPDX-License-Identifier: Apache-2.0

// load(): one instance a source, failures forgotten, every caller free to give up.
// createInstance(): a new instance every time.

import type { Glue } from 'dp-ftrl:glue';
import { optionsObject, wrongType } from '../core/check.js';
import { Core, type Renewal } from '../core/core.js';
import { DpError } from '../core/errors.js';
import { compileSource, type WasmSource } from '../core/source.js';
import type { LoadOptions } from '../types/all.js';

/** A module of the core, and what is made of an instance of it. */
export interface Edition<Api> {
  glue: Glue;
  makeApi(core: Core): Api;
  /** Compiles the module that comes with the package. */
  compile(signal: AbortSignal): Promise<WebAssembly.Module>;
}

interface Entry<Api> {
  promise: Promise<Api>;
  controller: AbortController;
  waiting: number;
  settled: boolean;
}

/** Results by source: text by its value, everything else by identity. */
class Cache<Api> {
  private readonly texts = new Map<string, Entry<Api>>();
  private readonly objects = new WeakMap<object, Entry<Api>>();

  get(source: WasmSource | undefined): Entry<Api> | undefined {
    const { map, key } = this.placeOf(source);
    return map.get(key);
  }

  set(source: WasmSource | undefined, entry: Entry<Api>): void {
    const { map, key } = this.placeOf(source);
    map.set(key, entry);
  }

  /** Forgets the entry, unless another one has taken its place. */
  drop(source: WasmSource | undefined, entry: Entry<Api>): void {
    const { map, key } = this.placeOf(source);
    if (map.get(key) === entry) map.delete(key);
  }

  private placeOf(source: WasmSource | undefined) {
    const isObject = typeof source === 'object' && !(source instanceof URL);
    const map = (isObject ? this.objects : this.texts) as Map<unknown, Entry<Api>>;
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

/** The promise, or the reason of a signal that is aborted before. */
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

/** Waits for a shared load; the last caller to give up cancels it. */
async function wait<Api>(entry: Entry<Api>, signal: AbortSignal | undefined, forget: () => void) {
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

type Load<Api> = (options?: LoadOptions) => Promise<Api>;

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

/** Makes the `load` of an entry of the package. */
export function makeLoad<Api>(edition: Edition<Api>): Load<Api> {
  const cache = new Cache<Api>();

  function start(source: WasmSource | undefined): Entry<Api> {
    const controller = new AbortController();
    const compiled =
      source === undefined
        ? edition.compile(controller.signal)
        : compileSource(source, controller.signal);
    const onAbort = () => cache.drop(source, entry);
    const renewal = { onAbort, how: 'load() again' };
    const entry: Entry<Api> = {
      promise: compiled.then((module) => instantiate(edition, module, renewal)),
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

  return async function load(options: LoadOptions = {}): Promise<Api> {
    const { wasm: source, signal } = readLoadOptions('load', options);
    const entry = cache.get(source) ?? start(source);
    return wait(entry, signal, () => cache.drop(source, entry));
  };
}

/** Makes an instance of an edition: `createInstance` of an entry. */
export async function createFrom<Api>(
  edition: Edition<Api>,
  options: LoadOptions = {},
): Promise<Api> {
  const { wasm: source, signal } = readLoadOptions('createInstance', options);
  const until = signal ?? new AbortController().signal;
  const compiled = source === undefined ? edition.compile(until) : compileSource(source, until);
  const module = await unlessAborted(compiled, signal);
  return instantiate(edition, module, { onAbort() {}, how: 'createInstance()' });
}
