// SPDX-License-Identifier: Apache-2.0

// The memo that dp-ftrl learn stores with its state.

import { createHash } from 'node:crypto';
import { Misuse } from '../base/failure.js';
import { columnList } from '../input/header.js';

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Encodes a value as JSON preceded by its hash. */
export function sealed(value: unknown): Uint8Array {
  const text = JSON.stringify(value);
  return new TextEncoder().encode(`${hashOf(text)} ${text}`);
}

/**
 * @param about  subject of the bytes, for messages
 * @throws Misuse for damaged bytes, and for those of another format.
 */
export function unsealed(
  bytes: Uint8Array,
  { format, about }: { format: string; about: string },
): unknown {
  const [hash, ...rest] = new TextDecoder().decode(bytes).split(' ');
  const text = rest.join(' ');
  if (hash !== hashOf(text)) throw new Misuse(`its record of ${about} is damaged`);
  const value = JSON.parse(text) as { format: string };
  if (value.format !== format) throw new Misuse(`its format is not "${format}"`);
  return value;
}

/** Returns the columns in the order of the state, matched by name. */
export function orderOf(
  known: readonly string[] | undefined,
  columns: readonly string[],
  does: string,
): readonly string[] {
  if (known === undefined) return columns;
  const sorted = (names: readonly string[]) => JSON.stringify([...names].sort());
  if (sorted(known) === sorted(columns)) return known;
  throw new Misuse(`it ${does} the columns ${columnList(known)}, this run ${columnList(columns)}`);
}
