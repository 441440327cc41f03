// SPDX-License-Identifier: Apache-2.0

// Names of columns and categories, for the command and the page: texts without spaces around them
// and in Unicode's normal form C, like the ids of persons. Programs write é as one code point or as
// two.

/** Matches texts that need no normalisation, like nearly all ids, which saves a call for each. */
const PLAIN = /^[!-~]+$/;

export function nameOf(text: string): string {
  return PLAIN.test(text) ? text : text.trim().normalize('NFC');
}
