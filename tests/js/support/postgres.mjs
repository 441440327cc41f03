// SPDX-License-Identifier: Apache-2.0

// A PostgreSQL server of its own in a scratch folder, with Debian's programs, behind a socket.

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** Folder of initdb and postgres: the newest; undefined where Debian's package is not installed. */
function programs() {
  const all = '/usr/lib/postgresql';
  const versions = existsSync(all) ? readdirSync(all).sort((a, b) => b - a) : [];
  return versions.map((version) => join(all, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

const bin = programs();
export const hasPostgres = bin !== undefined;

/** Root must not run the server: the user of Debian's package does. */
function owner() {
  if (process.getuid() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Starts a server. */
export async function startPostgres() {
  const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-postgres-'));
  const user = owner();
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  const options = { cwd: folder, ...user, stdio: 'ignore' };
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8'], options);
  let server;

  const environment = { PGHOST: folder, PGUSER: 'test', PGDATABASE: 'postgres' };
  const connect = async () => {
    const client = new pg.Client({ host: folder, user: 'test', database: 'postgres' });
    client.on('error', () => {}); // A server that was killed; queries tell.
    await client.connect();
    return client;
  };
  const isReady = async () => {
    try {
      await (await connect()).end();
      return true;
    } catch {
      return false;
    }
  };
  const start = async () => {
    const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`];
    server = spawn(join(bin, 'postgres'), ['-D', data, ...settings], options);
    while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const end = async (signal) => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await ended;
  };
  await start();
  return {
    connect,
    /** From which programs know where the server is. */
    environment,
    /** Ends all processes without a word, and starts the server again. */
    crash: async () => {
      await end('SIGQUIT'); // immediate: what was not written is lost
      await start();
    },
    stop: async () => {
      await end('SIGINT');
      rmSync(folder, { recursive: true });
    },
  };
}
