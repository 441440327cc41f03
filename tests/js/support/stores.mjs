// SPDX-License-Identifier: Apache-2.0

// Stores in memory for streams, and access to the keys that streams draw or read.

/** A store in memory whose saves await `pause`. */
export function memoryStore(pause = async () => {}) {
  let bytes;
  return {
    load: async () => bytes,
    save: async (given) => {
      await pause();
      bytes = given;
    },
    close: async () => {},
  };
}

/** A store in memory that supports appending and counts its writes. */
export function appendingStore(bytes) {
  const store = {
    saved: 0,
    savedBytes: 0,
    appended: [],
    load: async () => bytes,
    save: async (given) => {
      bytes = given;
      ++store.saved;
      store.savedBytes += given.length;
    },
    append: async (given) => {
      const joined = new Uint8Array(bytes.length + given.length);
      joined.set(bytes);
      joined.set(given, bytes.length);
      bytes = joined;
      store.appended.push(given.length);
    },
    close: async () => {},
  };
  return store;
}

/** Runs a call, and also returns the arrays it filled with random keys. */
export async function keysDrawn(use) {
  const real = crypto.getRandomValues;
  const keys = [];
  crypto.getRandomValues = (array) => {
    if (array.length === 32) keys.push(array);
    return real.call(crypto, array);
  };
  try {
    return { result: await use(), keys };
  } finally {
    crypto.getRandomValues = real;
  }
}

/** A second store on the same bytes, and the keys copied from the bytes it loads. */
export function keysRead(store) {
  const keys = [];
  const load = async () => {
    const bytes = (await store.load()).slice();
    bytes.slice = (...range) => {
      const part = Uint8Array.prototype.slice.apply(bytes, range);
      keys.push(part);
      return part;
    };
    return bytes;
  };
  return { keys, reading: { ...store, load } };
}

export const isWiped = (key) => key.length === 32 && key.every((byte) => byte === 0);
