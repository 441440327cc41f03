// SPDX-License-Identifier: Apache-2.0

// Concatenates parts, each preceded by its length, so that different lists give different bytes.
// The parts are the names and contents of the files of a build, ordered by name; a hash of the
// result identifies the build.

import { joined } from '../../../wasm/src/shared/joined.ts';

const encoder = new TextEncoder();

export function framed(parts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const pieces = parts.flatMap((part) => {
    const bytes = typeof part === 'string' ? encoder.encode(part) : part;
    return [encoder.encode(`${bytes.length} `), bytes];
  });
  return joined(pieces);
}

/** Number of leading hexadecimal digits of a SHA-256 that identify a build. */
export const digits = 16;
