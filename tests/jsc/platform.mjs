// SPDX-License-Identifier: Apache-2.0

// Adds to the shell of JavaScriptCore what browsers have, as far as the package uses it, and what
// npm's `assert` expects of Node. ENTROPY is the path of a file of random bytes.

class Utf8Encoder {
  encode(text) {
    const bytes = unescape(encodeURIComponent(text.toWellFormed()));
    return Uint8Array.from(bytes, (each) => each.charCodeAt(0));
  }
}

class Utf8Decoder {
  decode(bytes) {
    return decodeURIComponent(escape(String.fromCharCode(...bytes)));
  }
}

class AbortControllerThatNeverAborts {
  signal = { aborted: false, addEventListener() {}, removeEventListener() {}, throwIfAborted() {} };
}

/** Detaches a buffer, which is all that tests do with it. */
function structuredClone(_, { transfer: [buffer] }) {
  return buffer.transfer();
}

class OneWayChannel {
  port1 = { close() {} };
  port2 = { postMessage: () => setTimeout(() => this.port1.onmessage(), 0) };
}

const entropy = readFile(ENTROPY, 'binary');
let numUsed = 0;

function getRandomValues(array) {
  if (numUsed + array.length > entropy.length) throw new Error('no random bytes are left');
  array.set(entropy.subarray(numUsed, (numUsed += array.length)));
  return array;
}

Object.assign(globalThis, {
  TextEncoder: Utf8Encoder,
  TextDecoder: Utf8Decoder,
  AbortController: AbortControllerThatNeverAborts,
  MessageChannel: OneWayChannel,
  URL: class {},
  crypto: { getRandomValues },
  structuredClone,
  console: { log: (...values) => print(values.join(' ')) },
  process: { env: {} },
});
