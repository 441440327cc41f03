// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />

// Options of `load`, and handles: objects that live in WebAssembly memory.

// Host types are looked up by name, so that these declarations also compile where the DOM library
// or Node's types are absent.
type HostType<Name extends string> = typeof globalThis extends {
  [name in Name]: { prototype: infer Type };
}
  ? Type
  : never;

type HostModule = typeof globalThis extends {
  WebAssembly: { Module: { prototype: infer Type } };
}
  ? Type
  : object;

/**
 * Options of `load`: `wasm` is the source of the WebAssembly module, not needed for the `.` entry,
 * which embeds it; `signal` cancels the call.
 */
export interface LoadOptions {
  wasm?:
    | string
    | HostType<'URL'>
    | HostType<'Response'>
    | ArrayBuffer
    | Uint8Array
    | HostModule
    | undefined;
  signal?: HostType<'AbortSignal'> | undefined;
}

/** An object that owns memory on the WebAssembly heap. Free it with `dispose()` or `using`. */
export interface Handle {
  dispose(): void;
  [Symbol.dispose](): void;
  readonly disposed: boolean;
}
