// SPDX-License-Identifier: Apache-2.0

import { makeError, type ErrorPlace } from './errors.js';

export const KEY_BYTES = 32;

/**
 * Draws 256 bits from the platform, in JavaScript, so that an exception of its generator is an
 * error like any other; one that goes through the core would end the instance.
 */
export function keyFromEntropy(where: ErrorPlace): Uint8Array<ArrayBuffer> {
  const key = new Uint8Array(KEY_BYTES);
  const constraint = 'the platform gave no random bytes';
  try {
    globalThis.crypto.getRandomValues(key);
  } catch (cause) {
    throw makeError('entropy_unavailable', where, { constraint }, cause);
  }
  // All zeros have probability 2^-256 with a working generator, and are certain if it wrote
  // nothing.
  const written = key.some((byte) => byte !== 0);
  if (!written) throw makeError('entropy_unavailable', where, { constraint, value: 'only zeros' });
  return key;
}

/**
 * Calls `make` with a copy of the given key, or else a fresh one, and wipes it afterwards. With a
 * seed there is no key.
 */
export function withKey<O extends { insecureSeed: bigint | undefined }, T>(
  where: ErrorPlace,
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
