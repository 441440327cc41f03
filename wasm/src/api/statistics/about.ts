// SPDX-License-Identifier: Apache-2.0

// The memo of a ledger begins with a description of its sums: the length of a text in 4 bytes,
// lowest first, and the text.

import { joined } from '../../shared/joined.js';

const LENGTH_BYTES = 4;
const BEGINNING = '{"statistic":"';

/** Describes a statistic in JSON that begins with its name. */
export function aboutOf<S extends object>(statistic: string, facts: S): string {
  return JSON.stringify({ statistic, ...facts });
}

export function headOf(about: string): Uint8Array {
  const text = new TextEncoder().encode(about);
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, text.length, true);
  return joined([length, text]);
}

/**
 * Returns the name of the statistic that a ledger's memo describes, if any, and the rest of the
 * memo.
 */
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
