// SPDX-License-Identifier: Apache-2.0

// Runs programs for the tests of one folder, each in a separate thread. The command takes less than
// half the time of a process there, because the WebAssembly is already compiled.
//
//   node thread-host.mjs WASM      receives messages { id, program, args, input, env }

import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

const [wasm] = process.argv.slice(2);
/** Kept alive, so that the engine keeps its machine code. */
export const compiled = new WebAssembly.Module(readFileSync(wasm));

function textOf(stream) {
  let text = '';
  stream.setEncoding('utf8').on('data', (more) => (text += more));
  return new Promise((resolve) => stream.on('end', () => resolve(text)));
}

process.on('message', async ({ id, program, args, input, env }) => {
  const stdin = input !== undefined; // A thread with unread input never ends.
  const worker = new Worker(program, { argv: args, env, stdin, stdout: true, stderr: true });
  const texts = [textOf(worker.stdout), textOf(worker.stderr)];
  let uncaught = '';
  worker.on('error', (error) => (uncaught = `${error?.stack ?? error}\n`));
  const ended = new Promise((resolve) => worker.on('exit', resolve));
  worker.stdin?.on('error', () => {}); // It may have refused its input.
  worker.stdin?.end(input);
  const code = await ended;
  const [stdout, stderr] = await Promise.all(texts);
  process.send({ id, result: { code, signal: null, stdout, stderr: stderr + uncaught } });
});
