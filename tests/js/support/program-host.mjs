// SPDX-License-Identifier: Apache-2.0

// Runs programs for the tests of one folder in one process. The command is evaluated anew for each
// run, with a `process` of its own, but is compiled only once: that takes a third of the time of a
// new thread, and a sixth of that of a new process. Other programs, and a command that starts while
// another one runs, get a thread each, and so does every run under scripts/test all.
//
//   node program-host.mjs DIST COMMAND      receives messages { id, program, args, input, env }
//
// DIST is the folder of the installed package, and COMMAND the file of its bundled command.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { compileFunction } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { sized } from './extent.mjs';

const [dist, command] = process.argv.slice(2);
const cli = join(dist, 'cli.js');
/** Kept alive, so that the engine keeps its machine code. */
export const compiled = new WebAssembly.Module(readFileSync(join(dist, 'dp-ftrl.wasm')));
const evaluate = compileFunction(readFileSync(command, 'utf8'), ['process', 'require', 'meta'], {
  filename: command,
});
const require = createRequire(cli);
const promises = require('node:fs/promises');
const meta = { url: pathToFileURL(cli).href };

/** A stream that collects what is written to it. */
class Sink extends Writable {
  chunks = [];

  _write(chunk, _encoding, done) {
    this.chunks.push(chunk);
    done();
  }

  get text() {
    return Buffer.concat(this.chunks).toString();
  }
}

/** Runs the command in this thread, to which no signal is passed on, and closes its files. */
async function runHere({ args, input = '', env }) {
  const files = [];
  const open = async (...given) => {
    const file = await promises.open(...given);
    files.push(file);
    return file;
  };
  const load = (name) => (name === 'node:fs/promises' ? { ...promises, open } : require(name));
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)], { objectMode: false });
  const [stdout, stderr] = [new Sink(), new Sink()];
  const code = await new Promise((exit) => {
    const none = () => own;
    const own = Object.create(process, {
      ...Object.getOwnPropertyDescriptors({
        stdin,
        stdout,
        stderr,
        env,
        exit,
        on: none,
        off: none,
      }),
      argv: { value: [process.execPath, cli, ...args] },
    });
    evaluate(own, load, meta);
  });
  await Promise.allSettled(files.map((file) => file.close()));
  return { code, signal: null, stdout: stdout.text, stderr: stderr.text };
}

function textOf(stream) {
  let text = '';
  stream.setEncoding('utf8').on('data', (more) => (text += more));
  return new Promise((resolve) => stream.on('end', () => resolve(text)));
}

async function runInThread({ program, args, input, env }) {
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
  return { code, signal: null, stdout, stderr: stderr + uncaught };
}

/** Whether the next run of the command may share this thread. */
let isFree = sized(false, true);

process.on('message', async ({ id, ...run }) => {
  const isHere = isFree && run.program === cli;
  if (isHere) isFree = false;
  const result = await (isHere ? runHere : runInThread)(run);
  if (isHere) isFree = true;
  process.send({ id, result });
});
