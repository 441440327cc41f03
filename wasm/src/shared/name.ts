// SPDX-License-Identifier: Apache-2.0

// Names of columns and categories, for the command and the page: texts without spaces around them
// and in Unicode's normal form C, as ids of persons are. Programs write é as one letter or as two.

export function nameOf(text: string): string {
  return text.trim().normalize('NFC');
}
