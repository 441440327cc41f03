// SPDX-License-Identifier: Apache-2.0

// Times that follow each other in a table are read as each is alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generator, importSource } from './support/sources.mjs';

const { MemoFormat } = await importSource('cli/input/memo-format.ts');
const { formatOf, TIME_FORMATS } = await importSource('shared/time-format.ts');

const DATES = [
  ...['2026-03-01', '2026/3/1', '20260301', '2026-02-30', '2026-03', '2026', '01/2026'],
  ...['Mar 1 2026', '1 March 2026', 'Sun, 01 Mar 2026', '2026 Mar 1', 'Sun Mar  1'],
  ...['31.12.2026', '12/31/2026', '03/04/2026', '31/Dec/2018', '[31/Dec/2026', '1772355600'],
];
const JOINTS = ['T', ' ', 't', ', ', ':', '', '\u00a0', '+', '(', 'T0930+', ' (at '];
const CLOCKS = [
  ...['09:30:15', '9:30', '09:31:15.25', '23:59:59,123', '24:00:00', '24:00', '24:01', '12:00:60'],
  ...[
    '9:12:15:22',
    '09:60',
    '9:5',
    '0930',
    '25:00:00',
    '18:18:30:00',
    '9:30:15.',
    '9:30.5',
    '00:00',
  ],
  ...['9:123', '9:12:153', '9:12:15.5:22', '1:2:3', '12:3x', '99:30'],
];
const ENDS = [
  ...['', 'Z', '+01:30', ' +0100', ' PM', ' am', 'a.m.', ' UTC', '[Europe/Berlin]', ' (at 12:30)'],
  ...[']', ' 2026', ' UTC 2026', ' x', '-03:00:30 (a 11:20:10)'],
];

test('times: a time is read alike after any other one', () => {
  const random = generator(7);
  const pick = (list) => list[Math.floor(random() * list.length)];
  let numRead = 0;
  for (const name of [undefined, ...TIME_FORMATS]) {
    const [alone, inTable] = [formatOf(name), new MemoFormat(formatOf(name))];
    for (let round = 0; round < 5000; ++round) {
      const [date, joint, end] = [pick(DATES), pick(JOINTS), pick(ENDS)];
      // Several clocks of one date, so that what is kept of one is used for the next.
      for (let i = 0; i < 4; ++i) {
        const text = `${date}${joint}${pick(CLOCKS)}${end}`;
        const expected = alone.parse(text);
        assert.deepEqual(inTable.parse(text), expected, `${name}: ${text}`);
        numRead += Number(expected?.unit === 'time');
      }
    }
    for (const date of DATES) assert.deepEqual(inTable.parse(date), alone.parse(date), date);
  }
  assert.ok(numRead > 1000, `${numRead} are times`);
});
