// SPDX-License-Identifier: Apache-2.0

// Compiles `options.wasm`, in any of its forms, to a module.

import { wrongType } from './check.js';
import { DpError } from './errors.js';
import type { LoadOptions } from '../types/all.js';

export type WasmSource = NonNullable<LoadOptions['wasm']>;

function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Formats the first bytes as hexadecimal, and as text if they are printable. */
function preview(bytes: Uint8Array): string {
  const head = bytes.subarray(0, 4);
  if (head.length === 0) return 'nothing (0 bytes)';
  const hex = Array.from(head, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const start = bytes.subarray(0, 24);
  const text = String.fromCharCode(...start).replace(/\s+/g, ' ');
  if (!/^[\x20-\x7e]+$/.test(text)) return hex;
  const guess = /^ ?</.test(text)
    ? ': an HTML page, probably of a server that has no such file'
    : '';
  return `${hex} (${JSON.stringify(text)}${guess})`;
}

function checkMagic(bytes: Uint8Array, from: string): void {
  const magic = [0x00, 0x61, 0x73, 0x6d];
  if (bytes.length >= 8 && magic.every((byte, i) => bytes[i] === byte)) return;
  throw new DpError(
    'load_failed',
    `load: ${from} is not WebAssembly: expected bytes 00 61 73 6d, got ${preview(bytes)}`,
  );
}

/** The smallest valid module: a header alone. */
const EMPTY = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/** True if a policy of the page or host forbids any compilation. */
function isForbidden(): boolean {
  try {
    new WebAssembly.Module(EMPTY);
    return false;
  } catch {
    return true;
  }
}

/**
 * Error for a module that could not allocate its memory. Engines throw a RangeError for nothing
 * else: other failures of a module have types of their own.
 */
export function memoryError(cause: unknown): DpError | undefined {
  if (!(cause instanceof RangeError)) return undefined;
  const what = 'load: there is not enough memory or address space for the WebAssembly';
  return new DpError('resource_exhausted', what, { cause });
}

/**
 * Error for a failed compilation, caused by a policy of the page or host or by bytes that are not a
 * module.
 */
function compileError(cause: unknown, from: string, bytes?: Uint8Array<ArrayBuffer>): DpError {
  const exhausted = memoryError(cause);
  if (exhausted) return exhausted;
  const why = cause instanceof Error ? cause.message : String(cause);
  if (isForbidden() || (bytes !== undefined && WebAssembly.validate(bytes))) {
    return new DpError(
      'compilation_blocked',
      `load: compiling WebAssembly is not allowed here (${why}). In a page, add ` +
        "'wasm-unsafe-eval' to script-src of its Content-Security-Policy; on a host that forbids " +
        'compilation, pass a WebAssembly.Module as options.wasm',
      { cause },
    );
  }
  return new DpError(
    'load_failed',
    `load: ${from} does not compile (${why}): it is damaged or cut short, or this engine lacks ` +
      'WebAssembly SIMD or exceptions',
    { cause },
  );
}

export async function compileBytes(
  bytes: Uint8Array<ArrayBuffer>,
  from: string,
): Promise<WebAssembly.Module> {
  checkMagic(bytes, from);
  if (typeof WebAssembly !== 'object') {
    throw new DpError('load_failed', 'load: this engine has no WebAssembly');
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw compileError(cause, from, bytes);
  }
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  const from = response.url.slice(0, 300) || 'the response';
  if (!response.ok) {
    throw new DpError('load_failed', `load: ${from} answered with status ${response.status}`);
  }
  const type = response.headers.get('content-type') ?? '';
  if (/^application\/wasm\b/i.test(type) && typeof WebAssembly.compileStreaming === 'function') {
    try {
      return await WebAssembly.compileStreaming(response);
    } catch (cause) {
      if (!(cause instanceof WebAssembly.CompileError)) throw readError(cause, from);
      throw compileError(cause, from);
    }
  }
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    throw readError(cause, from);
  }
  return compileBytes(bytes, from);
}

function readError(cause: unknown, from: string): DpError {
  const why = cause instanceof Error ? cause.message : String(cause);
  // A data URL may be megabytes long.
  return new DpError('load_failed', `load: could not read ${from}: ${why}`.slice(0, 300), {
    cause,
  });
}

interface NodeFiles {
  readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}

/** Node's fetch refuses file: URLs. No import statement, as bundlers would look for node:fs. */
function nodeFiles(): NodeFiles | undefined {
  const host = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } };
  return host.process?.getBuiltinModule?.('node:fs/promises') as NodeFiles | undefined;
}

async function compileUrl(source: string | URL, signal: AbortSignal): Promise<WebAssembly.Module> {
  const from = String(source);
  const files = from.startsWith('file:') ? nodeFiles() : undefined;
  if (files) {
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = await files.readFile(new URL(from));
    } catch (cause) {
      throw readError(cause, from);
    }
    return compileBytes(bytes, from);
  }
  let response: Response;
  try {
    response = await fetch(from, { signal, credentials: 'same-origin' });
  } catch (cause) {
    // A fetch that a policy forbids fails like any other.
    const hint = 'document' in globalThis ? ' (is it in connect-src of the policy?)' : '';
    throw readError(cause, `${from}${hint}`);
  }
  return compileResponse(response);
}

/** Compiles the source that the caller gave. */
export async function compileSource(
  source: WasmSource,
  signal: AbortSignal,
): Promise<WebAssembly.Module> {
  const tag = tagOf(source);
  if (tag === 'WebAssembly.Module') return source as WebAssembly.Module;
  if (tag === 'Response') return compileResponse(source as Response);
  if (typeof source === 'string' || tag === 'URL')
    return compileUrl(source as string | URL, signal);
  if (tag === 'ArrayBuffer') {
    return compileBytes(new Uint8Array(source as ArrayBuffer), 'options.wasm');
  }
  if (ArrayBuffer.isView(source)) {
    const { buffer, byteOffset, byteLength } = source as Uint8Array;
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    return compileBytes(bytes.slice() as Uint8Array<ArrayBuffer>, 'options.wasm');
  }
  throw wrongType(
    'load',
    'wasm',
    'a URL, a string, a Response, bytes or a WebAssembly.Module',
    source,
  );
}

/** Compiles the file beside an entry. Hosts that bundle modules may not know the file's address. */
export async function compileBeside(
  find: () => URL,
  signal: AbortSignal,
): Promise<WebAssembly.Module> {
  let file: URL;
  try {
    file = find();
  } catch (cause) {
    const what = 'load: this host does not say where the WebAssembly is';
    const hint = 'pass its address or its WebAssembly.Module as options.wasm';
    throw new DpError('load_failed', `${what}; ${hint}`, { cause });
  }
  return compileSource(file, signal);
}
