// SPDX-License-Identifier: Apache-2.0

// Format of the bytes that a stream gives its store: the key; if there is a memo, a magic word, the
// length of the memo in 4 bytes (little-endian), and the memo; then the state of the core, which
// begins with another magic word. In a store that appends, memo and state are the base of a log: a
// magic word and the length of the base in 4 bytes follow the key, and the appended frames follow
// the base.

import { wrongType, type Reader } from '../core/check.js';
import { asErrorsOf, makeError } from '../core/errors.js';
import { KEY_BYTES, keyFromEntropy } from '../core/key.js';
import { joined } from '../shared/joined.js';
import type { Store } from '../types/all.js';
import { LeasedStore } from './leased-store.js';
import { StoreHold } from './store-hold.js';

const MEMO = Uint8Array.of(0x6d, 0x65, 0x6d, 0x6f);
const LOG = Uint8Array.of(0x6c, 0x6f, 0x67, 0x31);
/** A magic word and a length. */
const HEAD_BYTES = 8;

function beginsWith(bytes: Uint8Array, word: Uint8Array): boolean {
  return word.every((byte, i) => bytes[i] === byte);
}

function framed(word: Uint8Array, bytes: Uint8Array): Uint8Array[] {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length, true);
  return [word, length, bytes];
}

/**
 * Splits bytes that begin with a magic word and a length. If bytes are missing, the error says that
 * they are cut short in `what`.
 */
function unframed(bytes: Uint8Array, what: string): [Uint8Array, Uint8Array] {
  const isHead = bytes.length >= HEAD_BYTES;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = HEAD_BYTES + (isHead ? view.getUint32(4, true) : 0);
  if (!isHead || bytes.length < end) {
    throw makeError('bad_state', 'store', {
      parameter: 'store',
      constraint: 'must hold whole bytes',
      value: `some that are cut short in their ${what}`,
    });
  }
  return [bytes.subarray(HEAD_BYTES, end), bytes.subarray(end)];
}

/** Joins memo and state as they are stored after the key. */
export function packBase(memo: Uint8Array | undefined, state: Uint8Array): Uint8Array {
  return memo === undefined ? state : joined([...framed(MEMO, memo), state]);
}

export function pack(key: Uint8Array, base: Uint8Array): Uint8Array {
  return joined([key, base]);
}

/** Joins key and base for a store that appends. */
export function packLog(key: Uint8Array, base: Uint8Array): Uint8Array {
  return joined([key, ...framed(LOG, base)]);
}

/** Appended frames, and the base they follow. */
export interface StoredLog {
  base: Uint8Array;
  frames: Uint8Array;
  /** Bytes before the frames in the store. */
  position: number;
}

interface StoreParts {
  memo: Uint8Array | undefined;
  state: Uint8Array;
  log: StoredLog | undefined;
}

/** Splits the bytes after the key. */
export function unpack(rest: Uint8Array): StoreParts {
  if (beginsWith(rest, LOG)) {
    const [base, frames] = unframed(rest, 'state');
    const position = KEY_BYTES + HEAD_BYTES + base.length;
    return { ...unpack(base), log: { base, frames, position } };
  }
  if (!beginsWith(rest, MEMO)) return { memo: undefined, state: rest, log: undefined };
  const [memo, state] = unframed(rest, 'memo');
  return { memo: memo.slice(), state, log: undefined };
}

/** 32 hexadecimal digits that identify a key and reveal nothing about it. */
export function identityOf(commitment: Uint8Array): string {
  return Array.from(commitment, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function readStore(reader: Reader): Store {
  const store = reader.raw('store');
  const given = store as Partial<Store> | null | undefined;
  const isMethod = (name: keyof Store) => typeof given?.[name] === 'function';
  const hasAll = isMethod('load') && isMethod('save') && isMethod('close');
  if (!hasAll || !(isMethod('append') || given!.append === undefined)) {
    const wanted = 'an object with load, save and close, and perhaps append';
    throw wrongType(reader.where, 'store', wanted, store);
  }
  return given as Store;
}

/** Contents of a store, with a fresh key if it was empty. */
export interface StoreContents {
  store: LeasedStore;
  /** Released by the owner when the owner is disposed of. */
  hold: StoreHold;
  /** Stored before everything else; zeros for a fixed seed. */
  key: Uint8Array<ArrayBuffer>;
  memo: Uint8Array | undefined;
  state: Uint8Array | undefined;
  /** Undefined if the store does not append, or has not done so yet. */
  log: StoredLog | undefined;
}

/** A store that is held, and its content. */
export interface HeldStore {
  store: LeasedStore;
  /** Released by the owner when the owner is disposed of. */
  hold: StoreHold;
  bytes: Uint8Array | undefined;
}

/**
 * Calls `make` with the store that the options name. If that throws, the store is free again.
 *
 * @param kept  what the store keeps, for errors.
 */
export async function openHeld<T extends object>(
  reader: Reader,
  kept: string,
  make: (held: HeldStore) => T | Promise<T>,
): Promise<T> {
  const { where } = reader;
  const given = readStore(reader);
  const mustExist = reader.flagOr('mustExist', false);
  const hold = StoreHold.take(where, given);
  try {
    const store = new LeasedStore(given, where);
    const bytes = await store.load();
    if (bytes === undefined && mustExist) {
      throw makeError('bad_state', where, {
        parameter: 'store',
        constraint: `must hold a ${kept}, as {mustExist} demands`,
        value: 'an empty one: what it held was removed, or it is another store',
      });
    }
    const owner = await make({ store, hold, bytes });
    hold.give(owner);
    return owner;
  } catch (error) {
    hold.release();
    throw error;
  }
}

type KeyedOptions<O> = O & { key: Uint8Array | undefined; state: Uint8Array | undefined };
type StreamMaker<O, T> = (given: KeyedOptions<O>, stored: StoreContents) => T | Promise<T>;

/**
 * Calls `make` with the options, completed for the core by key and state, and with the contents of
 * their store. If that throws, the key is wiped and the store is free again.
 */
export function openStored<O extends { insecureSeed: bigint | undefined }, T extends object>(
  reader: Reader,
  complete: O,
  make: StreamMaker<O, T>,
): Promise<T> {
  return openHeld(reader, 'stream', async ({ store, hold, bytes }) => {
    const { where } = reader;
    const insecure = complete.insecureSeed !== undefined;
    if (bytes !== undefined && bytes.length < KEY_BYTES) {
      throw makeError('bad_state', where, {
        parameter: 'store',
        constraint: `must hold at least ${KEY_BYTES} bytes`,
        value: `${bytes.length} (truncated?)`,
      });
    }
    let key = new Uint8Array(KEY_BYTES);
    if (bytes !== undefined) key = bytes.slice(0, KEY_BYTES) as Uint8Array<ArrayBuffer>;
    else if (!insecure) key = keyFromEntropy(where);
    try {
      const nothing = { memo: undefined, state: undefined, log: undefined };
      const stored =
        bytes === undefined ? nothing : asErrorsOf(where, () => unpack(bytes.subarray(KEY_BYTES)));
      const given = { ...complete, key: insecure ? undefined : key, state: stored.state };
      return await make(given, { store, hold, key, ...stored });
    } catch (error) {
      key.fill(0);
      throw error;
    }
  });
}
