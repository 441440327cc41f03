// SPDX-License-Identifier: Apache-2.0

// Reads the tables of tests/messages, and compares what a surface says with them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** The table of messages of one interface. */
export function tableOf(surface) {
  return JSON.parse(
    readFileSync(new URL(`../../messages/${surface}.json`, import.meta.url), 'utf8'),
  );
}

/**
 * Compares the rows with their table: the message must be `today` if the row has it, else `wanted`.
 */
export async function holds(rows, saidBy) {
  const wrong = [];
  for (const row of rows) {
    const { today, wanted, ...call } = row;
    assert.notEqual(today, wanted, `not open: ${JSON.stringify(call)}`);
    const said = await saidBy(row);
    if (said === (today ?? wanted)) continue;
    wrong.push({
      ...call,
      said,
      expected: said === wanted ? 'mended: drop `today`' : (today ?? wanted),
    });
  }
  assert.deepEqual(wrong, []);
}
