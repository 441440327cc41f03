// SPDX-License-Identifier: Apache-2.0

// A PostgreSQL server in a scratch folder, from Debian's package, reached through a Unix socket.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

/** Longest time that a server may take to start or stop on a slow machine. */
const PATIENCE = 120_000;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits until `isTrue` resolves to true; `reason` returns why waiting is pointless, if it is. */
export async function until(what, isTrue, reason = () => undefined) {
  const deadline = Date.now() + PATIENCE;
  while (!(await isTrue())) {
    const why = reason() ?? (Date.now() > deadline ? `not after ${PATIENCE / 1000} s` : undefined);
    if (why !== undefined) throw new Error(`${what}: ${why}`);
    await pause(20);
  }
}

/** Folder of the newest initdb and postgres; undefined if Debian's package is not installed. */
function programs() {
  const all = '/usr/lib/postgresql';
  const versions = existsSync(all) ? readdirSync(all).sort((a, b) => b - a) : [];
  return versions
    .map((version) => join(all, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
}

/** Root must not run the server, so the user of Debian's package does, if it exists. */
function findOwner() {
  if (process.getuid() !== 0) return {};
  const id = (flag) => spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' });
  const [uid, gid] = [id('-u'), id('-g')];
  return uid.status === 0 ? { uid: Number(uid.stdout), gid: Number(gid.stdout) } : undefined;
}

const bin = programs();
const user = findOwner();
export const hasPostgres = bin !== undefined && user !== undefined;

/** Connects to the server whose socket is in the folder. */
async function connectTo(folder) {
  const where = { host: folder, user: 'test', database: 'postgres' };
  const client = new pg.Client({ ...where, connectionTimeoutMillis: PATIENCE });
  client.on('error', () => {}); // the server was killed; queries report it
  await client.connect();
  return client;
}

async function isReady(folder) {
  try {
    await (await connectTo(folder)).end();
    return true;
  } catch {
    return false;
  }
}

/** Starts a server, or a standby of the primary whose socket is in the given folder. */
export async function startPostgres(primary) {
  // The path of a socket has at most 107 bytes, which a TMPDIR may exceed.
  const folder = mkdtempSync('/tmp/dp-ftrl-postgres-');
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  const log = join(folder, 'log');
  const options = { cwd: folder, ...user, stdio: 'ignore' };
  const made = { ...options, timeout: PATIENCE };
  if (primary === undefined)
    execFileSync(
      join(bin, 'initdb'),
      ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8'],
      made,
    );
  else
    execFileSync(
      join(bin, 'pg_basebackup'),
      ['-D', data, '-R', '-c', 'fast', '-h', primary, '-U', 'test'],
      made,
    );
  let server;

  const environment = { PGHOST: folder, PGUSER: 'test', PGDATABASE: 'postgres' };
  const connect = () => connectTo(folder);
  const start = async () => {
    const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`];
    const output = openSync(log, 'w');
    server = spawn(join(bin, 'postgres'), ['-D', data, ...settings], {
      ...options,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    let failure;
    server.once('error', (error) => (failure = error.message));
    server.once(
      'exit',
      (status) => (failure = `it exits with ${status}: ${readFileSync(log, 'utf8')}`),
    );
    await until(
      'the server starts',
      () => isReady(folder),
      () => failure,
    );
  };
  const end = async (signal) => {
    const { exitCode, signalCode } = server;
    assert.ok(
      exitCode === null && signalCode === null,
      `the server has exited: ${readFileSync(log, 'utf8')}`,
    );
    const late = setTimeout(() => server.kill('SIGKILL'), PATIENCE);
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
    clearTimeout(late);
  };
  await start();
  return {
    connect,
    /** Environment variables that tell programs where the server is. */
    environment,
    /** Kills all processes without a clean shutdown, and restarts the server. */
    crash: async () => {
      await end('SIGQUIT'); // immediate: what was not written is lost
      await start();
    },
    /** Starts a standby of this server. */
    standby: () => startPostgres(folder),
    /** Kills all processes for good, without a clean shutdown. */
    lose: async () => {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true });
    },
    stop: async () => {
      try {
        await end('SIGINT');
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  };
}
