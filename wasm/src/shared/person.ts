// SPDX-License-Identifier: Apache-2.0

// Decides which ids mean the same person, for the package, the command and the page. An id is a
// text, without spaces around it and in Unicode's normal form C. Ids are read as numbers only if
// the caller says so, and never because they look like numbers: whether 7 and 007 are one person
// must not depend on the other rows.

import { nameOf } from './name.js';
import { canonicalNumber } from './number.js';

const MOST_BYTES = 1000;
/** Matches names that have one byte per letter in UTF-8. */
const ASCII = /^[\0-\x7f]*$/;
/** Encoding to UTF-8 would map all unpaired surrogates to the same bytes. */
const HALF_OF_A_CHARACTER = /\p{Surrogate}/u;
const encoder = new TextEncoder();

/**
 * Name of the person with an id, equal for all spellings of the id.
 *
 * @param areNumbers  whether ids are decimal numbers, so that 7, 7.0 and 007 are one person.
 * @return '' for an empty id; undefined for an id that must be a number and is not.
 */
export function personOfId(id: string, areNumbers: boolean): string | undefined {
  const text = id.trim();
  return areNumbers && text !== '' ? canonicalNumber(text) : nameOf(text);
}

/** Length of a person's name in UTF-8, or a sentence that says what the name must be. */
export function sizeOfPerson(name: string): number | string {
  const isAscii = ASCII.test(name);
  if (!isAscii && HALF_OF_A_CHARACTER.test(name)) return 'well-formed text';
  const numBytes = isAscii ? name.length : encoder.encode(name).length;
  return numBytes <= MOST_BYTES ? numBytes : `a text of at most ${MOST_BYTES} bytes`;
}
