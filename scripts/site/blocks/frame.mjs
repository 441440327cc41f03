// SPDX-License-Identifier: Apache-2.0

// Script of the frame in which a block runs. The frame's sandbox and policy forbid every request.
// The program runs in a worker of the frame, so that the page can stop a program that never ends.

import { linked } from './modules.mjs';

/** Runs in the worker. Posts `{ text }` for each line, `{ error }`, and `{ ended }` at the end. */
function work(program) {
  const plain = (_, value) => {
    if (ArrayBuffer.isView(value)) return Array.from(value);
    const isInJson =
      typeof value !== 'bigint' && (typeof value !== 'number' || Number.isFinite(value));
    return isInJson ? value : String(value);
  };
  const show = (value) =>
    typeof value === 'object' && !(value instanceof Error)
      ? JSON.stringify(value, plain)
      : String(value);
  let numLeft = 1000;
  const print = (...values) => {
    if (numLeft > 0) postMessage({ text: values.map(show).join(' ') });
    // Posts nothing more, because messages without end would hide from the page that it has ended.
    if (--numLeft === 0) postMessage({ error: 'stopped after 1000 lines', ended: true });
  };
  for (const name of ['debug', 'error', 'info', 'log', 'warn']) console[name] = print;
  const fail = (error) => postMessage({ error: String(error) });
  addEventListener('unhandledrejection', ({ reason }) => fail(reason));
  import(program).catch(fail).finally(() => postMessage({ ended: true }));
}

const addressOf = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));

function run({ data: { code, texts }, ports: [port] }) {
  const program = addressOf(linked(code, (name) => addressOf(texts[name])));
  const start = addressOf(`(${work})(${JSON.stringify(program)})`);
  // Chromium starts no module worker in a frame without an origin.
  const worker = new Worker(start);
  worker.onmessage = ({ data }) => port.postMessage(data);
  worker.onerror = ({ message }) =>
    port.postMessage({ error: message ?? 'the worker did not start', ended: !message });
}

addEventListener('message', run, { once: true });
