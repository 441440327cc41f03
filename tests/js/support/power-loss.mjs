// SPDX-License-Identifier: Apache-2.0

// An in-memory file system that loses power. Below /power it replaces node:fs/promises. It tracks
// what is on the disk separately from what only programs see, and records both around every
// operation. From these it constructs every state that POSIX allows a crash at that point to leave:
//
// * Data written to a file since its last sync may be present, absent, or cut short; any sector of
//   512 bytes may lack it and then has its old contents, or zeros beyond the old end.
// * Of the changes of names in a folder since its last sync, any number of the first took effect.

import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const SECTOR = 512;
/**
 * Torn writes of up to this many bytes are tried at every length, longer ones at about this many
 * lengths.
 */
const MOST_PREFIXES = 100;
const ROOT = '/power/';
const names = ['open', 'readFile', 'realpath', 'lstat', 'stat', 'rename', 'rm', 'link', 'unlink'];

function failure(code, path) {
  return Object.assign(new Error(`${code}: ${path}`), { code, syscall: 'shim' });
}

/** Bytes after a write. */
function written(bytes, at, part) {
  const result = Buffer.alloc(Math.max(bytes.length, at + part.length));
  bytes.copy(result);
  Buffer.from(part).copy(result, at);
  return result;
}

class Inode {
  durable = Buffer.alloc(0);
  now = this.durable;
  /** Contents that programs saw before each change since the last sync. */
  pending = [];

  constructor(id, bytes = Buffer.alloc(0)) {
    this.id = id;
    this.durable = this.now = bytes;
  }

  change(next) {
    this.pending.push(this.now);
    this.now = next;
  }

  sync() {
    this.durable = this.now;
    this.pending = [];
  }

  snapshot() {
    return { durable: this.durable, now: this.now, pending: [...this.pending] };
  }
}

/** Possible contents of a file after a crash. */
export function remains({ durable, now, pending }) {
  const stages = [durable, ...pending.slice(1), now];
  if (pending.length === 0) return [now];
  const all = [...stages];
  for (let k = 0; k + 1 < stages.length; ++k) {
    const [before, after] = [stages[k], stages[k + 1]];
    const numNew = after.length - before.length;
    const stride = Math.max(1, Math.ceil(numNew / MOST_PREFIXES));
    for (let i = 1; i < numNew; i += stride) all.push(after.subarray(0, before.length + i));
    // The new length took effect, but some sectors kept their old contents.
    const first = Math.floor(Math.min(before.length, after.length) / SECTOR);
    const last = Math.floor((after.length - 1) / SECTOR);
    const old = written(
      Buffer.alloc(Math.max(after.length, 0)),
      0,
      before.subarray(0, after.length),
    );
    all.push(old);
    const sectors = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    for (const sector of sectors.length > 40 ? [first, first + 1, last] : sectors) {
      const [begin, end] = [sector * SECTOR, (sector + 1) * SECTOR];
      const part = (bytes) => bytes.subarray(begin, Math.min(end, bytes.length));
      all.push(written(after, begin, part(old)), written(old, begin, part(after)));
    }
  }
  return all;
}

export class PowerLoss {
  /** Inodes by path: the folder as programs see it, and as it is on disk. */
  now = new Map();
  durable = new Map();
  pending = [];
  snapshots = [];
  /** Each snapshot keeps the value that this returns. */
  mark = () => undefined;
  /** Called after an operation took effect; may throw as a file system would. */
  after = () => {};
  /** Operations to skip, by name and path, such as the sync of /power/a: tests must notice that. */
  skips = () => false;
  #nextId = 1;
  #counts = {};

  /** Starts from files as a crash left them; the processes that held locks no longer exist. */
  constructor(files = {}) {
    for (const [path, bytes] of Object.entries(files)) {
      const inode = new Inode(this.#nextId++, Buffer.from(bytes));
      this.now.set(path, inode);
      this.durable.set(path, inode);
    }
  }

  /** Runs `use` while this object replaces the file system. */
  async use(use) {
    const real = Object.fromEntries(names.map((name) => [name, fs[name]]));
    for (const name of names) {
      fs[name] = (path, ...more) =>
        String(path).startsWith(ROOT.slice(0, -1))
          ? this[name](path, ...more)
          : real[name](path, ...more);
    }
    syncBuiltinESMExports();
    try {
      return await use();
    } finally {
      Object.assign(fs, real);
      syncBuiltinESMExports();
    }
  }

  /** A new file with the same bytes. */
  copyOf({ now }) {
    return new Inode(this.#nextId++, now);
  }

  /** Number of operations with this name so far. */
  count(name) {
    return this.#counts[name] ?? 0;
  }

  async #operation(name, path, act) {
    this.#counts[name] = this.count(name) + 1;
    this.#snapshot();
    const result = this.skips(name, path) ? undefined : act();
    this.#snapshot();
    this.after(name, path);
    return result;
  }

  #snapshot() {
    const inodes = new Set([...this.now.values(), ...this.durable.values()]);
    for (const { inode } of this.pending) if (inode) inodes.add(inode);
    this.snapshots.push({
      mark: this.mark(),
      inodes: new Map([...inodes].map((inode) => [inode, inode.snapshot()])),
      durable: new Map(this.durable),
      pending: [...this.pending],
    });
  }

  #get(path) {
    const inode = this.now.get(path);
    if (!inode) throw failure('ENOENT', path);
    return inode;
  }

  #name(change) {
    apply(this.now, change);
    this.pending.push(change);
  }

  async open(path, flags = 'r') {
    return this.#operation('open', path, () => {
      if (path === ROOT.slice(0, -1)) return this.#folder(path);
      if (flags === 'wx') {
        if (this.now.has(path)) throw failure('EEXIST', path);
        const inode = new Inode(this.#nextId++);
        this.#name({ put: path, inode });
      }
      return this.#handle(path, this.#get(path));
    });
  }

  #folder(path) {
    const sync = () => {
      for (const change of this.pending) apply(this.durable, change);
      this.pending = [];
    };
    return { sync: () => this.#operation('sync', path, sync), close: async () => {} };
  }

  #handle(path, inode) {
    const operation = (name, act) => this.#operation(name, path, act);
    const write = (bytes, offset, length, position) => {
      inode.change(written(inode.now, position, bytes.subarray(offset, offset + length)));
      return { bytesWritten: length };
    };
    const cut = (length) => inode.change(Buffer.from(inode.now.subarray(0, length)));
    return {
      stat: () => operation('fstat', () => this.#stat(inode)),
      readFile: () => operation('readFile', () => Buffer.from(inode.now)),
      read: (buffer, offset, length, position) =>
        operation('read', () => {
          const bytesRead = inode.now.copy(buffer, offset, position, position + length);
          return { bytesRead, buffer };
        }),
      write: (...args) => operation('write', () => write(...args)),
      writeFile: (bytes) => operation('write', () => write(Buffer.from(bytes), 0, bytes.length, 0)),
      truncate: (length) => operation('truncate', () => cut(length)),
      sync: () => operation('sync', () => inode.sync()),
      close: async () => {},
    };
  }

  #stat(inode) {
    const numbers = { dev: 1n, ino: BigInt(inode.id), size: BigInt(inode.now.length), nlink: 1 };
    return { ...numbers, isFile: () => true, isSymbolicLink: () => false };
  }

  async readFile(path, encoding) {
    const bytes = await this.#operation('readFile', path, () => Buffer.from(this.#get(path).now));
    return encoding ? bytes.toString(encoding) : bytes;
  }

  async realpath(path) {
    if (path !== ROOT.slice(0, -1)) this.#get(path);
    return path;
  }

  async lstat(path) {
    return this.#stat(this.#get(path));
  }

  async stat(path) {
    return this.#operation('stat', path, () => this.#stat(this.#get(path)));
  }

  async rename(from, to) {
    return this.#operation('rename', from, () =>
      this.#name({ put: to, inode: this.#get(from), from }),
    );
  }

  async rm(path) {
    return this.#operation('rm', path, () => this.now.has(path) && this.#name({ gone: path }));
  }

  async link(from, to) {
    return this.#operation('link', from, () => {
      if (this.now.has(to)) throw failure('EEXIST', to);
      this.#name({ put: to, inode: this.#get(from) });
    });
  }

  async unlink(path) {
    return this.#operation('unlink', path, () => this.#name({ gone: (this.#get(path), path) }));
  }

  /** Every state that a crash may leave, once each: the files without locks, and the mark. */
  *crashes() {
    const seen = new Set();
    for (const { mark, inodes, durable, pending } of this.snapshots) {
      for (let k = 0; k <= pending.length; ++k) {
        const folder = new Map(durable);
        for (const change of pending.slice(0, k)) apply(folder, change);
        const kept = [...folder].filter(([path]) => !path.includes('.lock'));
        for (const files of combinations(kept, inodes)) {
          const hash = createHash('sha256').update(JSON.stringify(mark));
          for (const [path, bytes] of Object.entries(files)) hash.update(path).update(bytes);
          const name = hash.digest('hex');
          if (seen.has(name)) continue;
          seen.add(name);
          yield { files, mark };
        }
      }
    }
  }
}

function apply(folder, { put, gone, inode, from }) {
  if (from) folder.delete(from);
  if (put) folder.set(put, inode);
  if (gone) folder.delete(gone);
}

/** Files about to be renamed are kept as they are, since their contents are never read. */
function* combinations(kept, inodes) {
  const fixed = kept.filter(([path]) => path.endsWith('.new'));
  const open = kept.filter(([path]) => !path.endsWith('.new'));
  const base = Object.fromEntries(fixed.map(([path, inode]) => [path, inodes.get(inode).now]));
  if (open.length > 1) throw new Error('one file at a time');
  if (open.length === 0) return yield base;
  const [[path, inode]] = open;
  for (const bytes of remains(inodes.get(inode))) yield { ...base, [path]: bytes };
}
