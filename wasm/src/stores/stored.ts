// SPDX-License-Identifier: Apache-2.0

// Bytes that a ledger gives its store: the key; where there is a memo, a word, the length of the
// memo in 4 bytes, the lowest first, and the memo; the state of the core, which begins with a word
// of its own.

import { wrongType, type Reader } from '../core/check.js';
import { makeError, type Where } from '../core/errors.js';
import { KEY_BYTES, keyFromEntropy } from '../core/key.js';
import type { ReleaseStore } from '../types/all.js';
import { StoreHold } from './store-hold.js';

const MEMO = Uint8Array.of(0x6d, 0x65, 0x6d, 0x6f);
const MEMO_HEAD = MEMO.length + 4;

export function pack(
  key: Uint8Array,
  memo: Uint8Array | undefined,
  state: Uint8Array,
): Uint8Array {
  const extra = memo === undefined ? 0 : MEMO_HEAD + memo.length;
  const bytes = new Uint8Array(key.length + extra + state.length);
  bytes.set(key);
  if (memo !== undefined) {
    bytes.set(MEMO, key.length);
    new DataView(bytes.buffer).setUint32(key.length + MEMO.length, memo.length, true);
    bytes.set(memo, key.length + MEMO_HEAD);
  }
  bytes.set(state, key.length + extra);
  return bytes;
}

/** Splits the bytes after the key. */
export function unpack(rest: Uint8Array): { memo: Uint8Array | undefined; state: Uint8Array } {
  if (!MEMO.every((byte, i) => rest[i] === byte)) return { memo: undefined, state: rest };
  const cut = () => makeError('bad_state', 'ledger', {
      parameter: 'store',
      constraint: 'must hold whole bytes',
      value: 'some that are cut short in their memo',
    });
  if (rest.length < MEMO_HEAD) throw cut();
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  const end = MEMO_HEAD + view.getUint32(MEMO.length, true);
  if (rest.length < end) throw cut();
  return { memo: rest.slice(MEMO_HEAD, end), state: rest.subarray(end) };
}

/** 32 hexadecimal digits that tell a key from others, and say nothing of it. */
export function identityOf(commitment: Uint8Array): string {
  return Array.from(commitment, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Reads the bytes to be kept with a state, if any are given. */
export function readMemo(where: Where, memo: unknown): Uint8Array | undefined {
  if (memo === undefined) return undefined;
  if (!(memo instanceof Uint8Array)) throw wrongType(where, 'memo', 'a Uint8Array', memo);
  return memo.slice();
}

function readStore(reader: Reader): ReleaseStore {
  const store = reader.raw('store');
  const methods = ['load', 'save', 'close'] as const;
  const given = store as Partial<ReleaseStore> | null | undefined;
  for (const name of methods) {
    if (typeof given?.[name] !== 'function') {
      throw wrongType(reader.where, 'store', 'an object with load, save and close', store);
    }
  }
  return given as ReleaseStore;
}

/** Contents of a store; with a fresh key if it held nothing. */
export interface Stored {
  store: ReleaseStore;
  /** Released by its owner when that is disposed of. */
  hold: StoreHold;
  /** Goes in front of what is stored; zeros for a fixed seed. */
  key: Uint8Array<ArrayBuffer>;
  memo: Uint8Array | undefined;
  state: Uint8Array | undefined;
}

type Given<O> = O & { key: Uint8Array | undefined; state: Uint8Array | undefined };
type Make<O, T> = (given: Given<O>, stored: Stored) => T;

/**
 * Calls `make` with what the store of these options holds, and for the core the options with key and
 * state. If that throws, the key is wiped and the store free again.
 */
export async function openStored<O extends { insecureSeed: bigint | undefined }, T extends object>(
  reader: Reader,
  complete: O,
  make: Make<O, T>,
): Promise<T> {
  const store = readStore(reader);
  const hold = await StoreHold.take(reader.where, store);
  try {
    const owner = await goOn(reader.where, { complete, store, hold, make });
    hold.give(owner);
    return owner;
  } catch (error) {
    hold.release(Promise.resolve());
    throw error;
  }
}

interface Opening<O, T> {
  complete: O;
  store: ReleaseStore;
  hold: StoreHold;
  make: Make<O, T>;
}

async function goOn<O extends { insecureSeed: bigint | undefined }, T>(
  where: Where,
  { complete, store, hold, make }: Opening<O, T>,
): Promise<T> {
  const insecure = complete.insecureSeed !== undefined;
  const bytes = (await store.load()) ?? undefined;
  if (bytes !== undefined && !(bytes instanceof Uint8Array)) {
    throw wrongType(where, 'store', 'one that loads a Uint8Array', bytes);
  }
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
    const { memo, state } =
      bytes === undefined
        ? { memo: undefined, state: undefined }
        : unpack(bytes.subarray(KEY_BYTES));
    const given = { ...complete, key: insecure ? undefined : key, state };
    return make(given, { store, hold, key, memo, state });
  } catch (error) {
    key.fill(0);
    throw error;
  }
}
