// SPDX-License-Identifier: Apache-2.0

// load(): one instance a source, failures forgotten, every caller free to give up.
// createInstance(): a new instance every time.

import { optionsObject, wrongType } from '../core/check.js';
import { Core, type Renewal } from '../core/core.js';
import { DpError } from '../core/errors.js';
import { compileSource, type WasmSource } from '../core/source.js';
import type { DpFtrl, LoadOptions } from '../types/all.js';
import { makeApi } from './api.js';

interface Entry {
  promise: Promise<DpFtrl>;
  controller: AbortController;
  waiting: number;
  settled: boolean;
}

/** Results by source: text by its value, everything else by identity. */
class Cache {
  private readonly texts = new Map<string, Entry>();
  private readonly objects = new WeakMap<object, Entry>();

  get(source: WasmSource | undefined): Entry | undefined {
    return typeof source === 'object' && !(source instanceof URL)
      ? this.objects.get(source)
      : this.texts.get(String(source));
  }

  set(source: WasmSource | undefined, entry: Entry): void {
    if (typeof source === 'object' && !(source instanceof URL)) this.objects.set(source, entry);
    else this.texts.set(String(source), entry);
  }

  /** Forgets the entry, unless another one has taken its place. */
  drop(source: WasmSource | undefined, entry: Entry): void {
    if (this.get(source) !== entry) return;
    if (typeof source === 'object' && !(source instanceof URL)) this.objects.delete(source);
    else this.texts.delete(String(source));
  }
}

async function instantiate(module: WebAssembly.Module, renewal: Renewal): Promise<DpFtrl> {
  let core: Core;
  let version: string;
  try {
    core = await Core.create(module, renewal);
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
  return makeApi(core);
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
async function wait(entry: Entry, signal: AbortSignal | undefined, forget: () => void) {
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

type Compile = (signal: AbortSignal) => Promise<WebAssembly.Module>;
type Load = (options?: LoadOptions) => Promise<DpFtrl>;

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

/** A `load` with a default source: the one difference between the entries of the package. */
export function makeLoad(compileDefault: Compile): Load {
  const cache = new Cache();

  function start(source: WasmSource | undefined): Entry {
    const controller = new AbortController();
    const compiled =
      source === undefined
        ? compileDefault(controller.signal)
        : compileSource(source, controller.signal);
    const onAbort = () => cache.drop(source, entry);
    const entry: Entry = {
      promise: compiled.then((module) => instantiate(module, { onAbort, how: 'load() again' })),
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

  return async function load(options: LoadOptions = {}): Promise<DpFtrl> {
    const { wasm: source, signal } = readLoadOptions('load', options);
    const entry = cache.get(source) ?? start(source);
    return wait(entry, signal, () => cache.drop(source, entry));
  };
}

/** `createInstance` with a default source. */
export async function createFrom(
  compileDefault: Compile,
  options: LoadOptions = {},
): Promise<DpFtrl> {
  const { wasm: source, signal } = readLoadOptions('createInstance', options);
  const until = signal ?? new AbortController().signal;
  const compiled = source === undefined ? compileDefault(until) : compileSource(source, until);
  const module = await unlessAborted(compiled, signal);
  return instantiate(module, { onAbort() {}, how: 'createInstance()' });
}
