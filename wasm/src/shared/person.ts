// SPDX-License-Identifier: Apache-2.0

// Who is a person, for the package, the command and the page. An id is a text, without spaces
// around it and in Unicode's normal form C. Ids are read as numbers only if the caller says so, and
// never because they look like numbers: whether 7 and 007 are one person must not depend on the
// other rows.

import { nameOf } from './name.js';
import { canonicalNumber } from './number.js';

/**
 * Returns the name of the person with an id, equal for all spellings of the id.
 *
 * @param areNumbers  whether ids are decimal numbers, so that 7, 7.0 and 007 are one person.
 * @return  '' for an empty id; undefined for one that is not the number it must be.
 */
export function personOfId(id: string, areNumbers: boolean): string | undefined {
  const text = id.trim();
  return areNumbers && text !== '' ? canonicalNumber(text) : nameOf(text);
}
