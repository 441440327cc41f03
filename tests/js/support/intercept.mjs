// SPDX-License-Identifier: Apache-2.0

// Access behind the facade, for testing memory and stopped instances.

// (module (func (export "trap") unreachable)): a real trap, which WebAssembly cannot catch.
const trapModule = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 8, 1, 4, 116, 114, 97, 112, 0, 0,
  10, 5, 1, 3, 0, 0, 11,
]);
const { trap } = new WebAssembly.Instance(new WebAssembly.Module(trapModule)).exports;

/**
 * Loads a separate instance. Returns the API, the memory of the instance, and `trap()`, after which
 * the next call from WebAssembly to its host stops the instance as a trap does.
 */
export async function loadIntercepted(load, source) {
  return intercepted(() => load({ wasm: source }));
}

/** Intercepts the instance that `start` makes in the same way. */
export async function intercepted(start) {
  const original = WebAssembly.instantiate;
  let instance;
  let trapping = false;
  WebAssembly.instantiate = async (module, imports) => {
    for (const group of Object.values(imports)) {
      for (const [name, value] of Object.entries(group)) {
        if (typeof value !== 'function') continue;
        group[name] = (...args) => {
          if (trapping) trap();
          return value(...args);
        };
      }
    }
    return (instance = await original(module, imports));
  };
  try {
    const dp = await start();
    const memory = Object.values(instance.exports).find((it) => it instanceof WebAssembly.Memory);
    return { dp, memory, trap: () => (trapping = true) };
  } finally {
    WebAssembly.instantiate = original;
  }
}
