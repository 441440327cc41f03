// SPDX-License-Identifier: Apache-2.0

/** Names in a sentence: `a`, `a and b`, `a, b and c`. */
export function listed(names: readonly string[], word: 'and' | 'or'): string {
  return names.length < 2
    ? names.join()
    : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`;
}
