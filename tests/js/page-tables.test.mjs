// SPDX-License-Identifier: Apache-2.0

// The page takes from a table columns to sum, and numbers for a histogram.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importSource } from './support/sources.mjs';

const { parseCsv, suggestColumns } = await importSource('../../web/src/data/csv.ts');
const { numbersIn } = await importSource('../../web/src/data/histogram-source.ts');

test('tables of the page: the time and the person of a row are not summed, whatever their cells', () => {
  for (const [time, person] of [
    ['1767225600', '7'],
    ['2019', '007'],
    ['2026-03-01', 'ann'],
  ]) {
    const rows = [0, 5, 1].map(
      (x, i) => `${Number(time) ? Number(time) + i * i : time},${person},${x}`,
    );
    const table = parseCsv(`when,who,x\n${rows.join('\n')}\n`);
    assert.deepEqual(suggestColumns(table, ['when', 'who']), ['x']);
  }
});

test('tables of the page: numbers for a histogram read missing cells as chosen', () => {
  const table = parseCsv('a,b,c\n1,,x\n2,NA,y\n3,4,z\n');
  const read = (missing, na = '') =>
    numbersIn(table, { missing, na }).map(({ name, values }) => [name, ...values]);
  assert.deepEqual(read('refuse'), [['a', 1, 2, 3]]);
  assert.deepEqual(read('skip'), [['a', 1, 2, 3]]);
  assert.deepEqual(read('skip', 'NA'), [
    ['a', 1, 2, 3],
    ['b', 4],
  ]);
  assert.deepEqual(read('zero', 'NA'), [
    ['a', 1, 2, 3],
    ['b', 0, 0, 4],
  ]);
  assert.deepEqual(read('skip', '1,2,3,NA'), [['b', 4]]);
});
