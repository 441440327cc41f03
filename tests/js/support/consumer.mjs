// SPDX-License-Identifier: Apache-2.0

// The package as its users get it: packed, and installed from the tarball into an empty folder far
// from this repository. Done once for a given dist/ and shared by the test files. Test files that
// run in parallel may all arrive here first, so `npm run test:js` runs this file before them.

import { execFileSync, fork, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const COMMAND = 'command.cjs';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Expands an entry of the manifest's `files`, to the extent that our entries need it. */
function filesOf(entry) {
  const [, folder, ending] = /^(.*?)\/?(?:\*(\.\w+))?$/.exec(entry);
  const path = join(root, folder);
  if (!existsSync(path)) return []; // the page, if it is not built
  if (statSync(path).isFile()) return [folder];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile() && it.name.endsWith(ending ?? ''))
    .map((it) => relative(root, join(it.parentPath, it.name)))
    .filter((name) => ending === undefined || dirname(name) === folder);
}

function fingerprint() {
  const dist = join(root, 'dist');
  if (!existsSync(dist)) throw new Error('there is no dist/: run `npm run build:package` first');
  const hash = createHash('sha256').update(readFileSync(join(root, 'package.json')));
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of files.flatMap(filesOf).sort())
    hash.update(name).update(readFileSync(join(root, name)));
  return hash.digest('hex').slice(0, 16);
}

/** Removes installations of other builds that are a day old, if this user may remove them. */
function removeOld() {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith('dp-ftrl-consumer-')) continue;
    const path = join(tmpdir(), name);
    try {
      if (Date.now() - statSync(path).mtimeMs > 86.4e6) rmSync(path, { recursive: true });
    } catch {
      // It belongs to another user, or another process is removing it; neither is an error.
    }
  }
}

/** Bundles the command with all that it imports, for program-host.mjs. */
function bundleCommand(folder) {
  buildSync({
    entryPoints: [join(folder, 'node_modules/dp-ftrl/dist/cli.js')],
    outfile: join(folder, COMMAND),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    define: { 'import.meta': 'meta' },
    logLevel: 'error',
  });
}

function install(folder) {
  removeOld();
  const scratch = mkdtempSync(join(tmpdir(), 'dp-ftrl-pack-'));
  const quiet = { stdio: 'pipe', encoding: 'utf8' };
  const packed = execFileSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', scratch],
    { ...quiet, cwd: root },
  );
  const [{ filename }] = JSON.parse(packed);
  const place = join(scratch, 'consumer');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), '{ "private": true, "type": "module" }\n');
  renameSync(join(scratch, filename), join(place, filename));
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${filename}`], {
    ...quiet,
    cwd: place,
  });
  bundleCommand(place);
  try {
    renameSync(place, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // Otherwise another test file was faster.
  }
  rmSync(scratch, { recursive: true, force: true });
}

/** Folder in which the package is installed. */
export const consumer = join(tmpdir(), `dp-ftrl-consumer-${fingerprint()}`);
if (!existsSync(consumer)) install(consumer);

export const installed = join(consumer, 'node_modules/dp-ftrl');
export const cli = join(consumer, 'node_modules/.bin/dp-ftrl');

/** A new folder in which the package is installed, for programs that write files. */
export function freshConsumer() {
  const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-program-'));
  symlinkSync(join(consumer, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/**
 * A new folder in which the package is installed next to other packages, linked from this
 * repository.
 */
export function consumerWith(...packages) {
  const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-program-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(installed, join(folder, 'node_modules/dp-ftrl'));
  for (const name of packages)
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  return folder;
}

/** Address of an entry of the installed package: `dp-ftrl`, `dp-ftrl/worker`, ... */
export function entryUrl(specifier) {
  return pathToFileURL(createRequire(join(consumer, 'index.js')).resolve(specifier));
}

export function importEntry(specifier) {
  return import(entryUrl(specifier));
}

/** Runs a program with `input` on standard input; resolves to { code, signal, stdout, stderr }. */
export function run(file, args, { input = '', cwd = consumer, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
    child.stdin.on('error', () => {}); // It may have refused its input.
    child.stdin.end(input);
  });
}

export function node(args, options) {
  return run(process.execPath, args, options);
}

const hosts = new Map();

/** A process that runs any number of programs in one folder for a test file. */
class ProgramHost {
  static of(cwd) {
    if (!hosts.has(cwd)) hosts.set(cwd, new ProgramHost(cwd));
    return hosts.get(cwd);
  }

  numRuns = 0;

  constructor(cwd) {
    const host = fileURLToPath(new URL('program-host.mjs', import.meta.url));
    this.waiting = new Map();
    this.child = fork(host, [join(installed, 'dist'), join(consumer, COMMAND)], {
      cwd,
      serialization: 'advanced',
    });
    this.child.on('message', ({ id, result }) => this.take(id).resolve(result));
    this.child.on('exit', (code, signal) => {
      hosts.delete(cwd);
      for (const id of [...this.waiting.keys()]) {
        this.take(id).reject(new Error(`the host of programs ended: ${code ?? signal}`));
      }
    });
    this.let('unref');
  }

  run(program, args, { input, env = process.env }) {
    const id = this.numRuns++;
    this.let('ref');
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.child.send({ id, program, args, input, env: { ...env } });
    });
  }

  take(id) {
    const who = this.waiting.get(id);
    this.waiting.delete(id);
    if (this.waiting.size === 0) this.let('unref');
    return who;
  }

  /** Lets the test end while the host is running ('unref'), or makes it wait ('ref'). */
  let(how) {
    this.child[how]();
    this.child.channel?.[how]();
  }
}

/**
 * Runs a program as a thread of a process shared by all tests of the file and folder. Tests of
 * signals, terminals and exit need `node`.
 */
export function nodeThread([program, ...args], { cwd = consumer, ...options } = {}) {
  return ProgramHost.of(cwd).run(program, args, options);
}

/**
 * Runs the installed command in a process shared by all tests of the file; use `dpFtrlProcess` if
 * the test needs signals, a terminal or a heap of its own.
 */
export function dpFtrl(args, options) {
  return nodeThread([join(installed, 'dist/cli.js'), ...args], { input: '', ...options });
}

/** Runs the installed command in a separate process. */
export function dpFtrlProcess(args, options) {
  return run(cli, args, options);
}

/** On a busy machine Rolldown warns about slow plugins, which is not a fault of the package. */
export const rolldownOptions = { checks: { bundlerTimings: false } };
