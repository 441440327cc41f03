// SPDX-License-Identifier: Apache-2.0

// What a ledger gives its store: the key; where there is a memo, a word, the length of the memo in
// 4 bytes, the lowest first, and the memo; the state of the core, which begins with a word of its
// own.

import { makeError } from './errors.js';

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

/** What follows the key. */
export function unpack(rest: Uint8Array): { memo: Uint8Array | undefined; state: Uint8Array } {
  if (!MEMO.every((byte, i) => rest[i] === byte)) return { memo: undefined, state: rest };
  const cut = () => makeError('bad_state', 'ledger: what is stored is cut short in its memo');
  if (rest.length < MEMO_HEAD) throw cut();
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  const end = MEMO_HEAD + view.getUint32(MEMO.length, true);
  if (rest.length < end) throw cut();
  return { memo: rest.slice(MEMO_HEAD, end), state: rest.subarray(end) };
}
