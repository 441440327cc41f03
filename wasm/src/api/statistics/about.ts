// SPDX-License-Identifier: Apache-2.0

// The memo of a ledger begins with a description of its sums: the length of a text in 4 bytes,
// lowest first, and the text.

import { joined } from '../../shared/joined.js';

const LENGTH_BYTES = 4;

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
