// SPDX-License-Identifier: Apache-2.0

import { makeError, type Where } from './errors.js';

export const KEY_BYTES = 32;

/**
 * 256 bits from the platform. Fetched on this side: where its generator throws, that is an error
 * like any other, while an exception that goes through the core would end the instance.
 */
export function keyFromEntropy(where: Where): Uint8Array<ArrayBuffer> {
  const key = new Uint8Array(KEY_BYTES);
  const constraint = 'the platform gave no random bytes';
  try {
    globalThis.crypto.getRandomValues(key);
  } catch (cause) {
    throw makeError('entropy_unavailable', where, { constraint }, cause);
  }
  // Probability 2^-256 of a working generator; certain of one that wrote nothing.
  const written = key.some((byte) => byte !== 0);
  if (!written) throw makeError('entropy_unavailable', where, { constraint, value: 'only zeros' });
  return key;
}

/**
 * Calls `make` with a copy of the given key or else a fresh one, which is wiped then; or with none,
 * if there is a seed.
 */
export function withKey<O extends { insecureSeed: bigint | undefined }, T>(
  where: Where,
  options: O,
  make: (options: O & { key: Uint8Array | undefined }) => T,
  given?: Uint8Array,
): T {
  if (given?.every((byte) => byte === 0)) {
    const constraint = 'must be random bytes';
    throw makeError('invalid_argument', where, { parameter: 'key', constraint, value: 'zeros' });
  }
  const fresh = () => given?.slice() ?? keyFromEntropy(where);
  const key = options.insecureSeed === undefined ? fresh() : undefined;
  try {
    return make({ ...options, key });
  } finally {
    key?.fill(0);
  }
}
