// SPDX-License-Identifier: Apache-2.0

/**
 * Checksum of at most 16 hexadecimal digits and a space, which in all likelihood differs between
 * different lists of words.
 */
export function checksumOf(words: Iterable<number>): string {
  let [low, high] = [0x811c9dc5, 0x9747b28c];
  for (const word of words) {
    low = Math.imul(low ^ word, 0x01000193);
    high = Math.imul(high ^ word, 0x85ebca6b) + low;
  }
  return [low, high].map((sum) => (sum >>> 0).toString(16)).join(' ');
}
