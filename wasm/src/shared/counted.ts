// SPDX-License-Identifier: Apache-2.0

/** A number with its noun: `1 row`, `2 rows`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
