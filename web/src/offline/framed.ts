// SPDX-License-Identifier: Apache-2.0

// The bytes by which a build is known: those of all parts, each after its length, so that no two lists
// are alike. Names and contents of the files of a build, in the order of the names, are such parts.

import { joined } from '../../../wasm/src/shared/joined.ts';

const encoder = new TextEncoder();

export function framed(parts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const pieces = parts.flatMap((part) => {
    const bytes = typeof part === 'string' ? encoder.encode(part) : part;
    return [encoder.encode(`${bytes.length} `), bytes];
  });
  return joined(pieces);
}

/** Digits of a SHA-256 that stand for it. */
export const digits = 16;
