// SPDX-License-Identifier: Apache-2.0

// The memo of a ledger begins with what its sums are about: the length of a text in 4 bytes,
// the lowest first, and the text.

import { joined } from '../../shared/joined.js';

const LENGTH_BYTES = 4;
const BEGINNING = '{"statistic":"';

/** A statistic in words: JSON that begins with its name. */
export function aboutOf<S extends object>(statistic: string, facts: S): string {
  return JSON.stringify({ statistic, ...facts });
}

export function headOf(about: string): Uint8Array {
  const text = new TextEncoder().encode(about);
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, text.length, true);
  return joined([length, text]);
}

/** The name of the statistic that a memo of a ledger is about, if of any, and what follows. */
export function splitMemo(memo: Uint8Array): { statistic: string | undefined; own: Uint8Array } {
  const none = { statistic: undefined, own: memo };
  if (memo.length < LENGTH_BYTES) return none;
  const view = new DataView(memo.buffer, memo.byteOffset, memo.byteLength);
  const end = LENGTH_BYTES + view.getUint32(0, true);
  if (end > memo.length) return none;
  const text = new TextDecoder().decode(memo.subarray(LENGTH_BYTES, end));
  if (!text.startsWith(BEGINNING)) return none;
  return { statistic: text.slice(BEGINNING.length).split('"')[0], own: memo.subarray(end) };
}
