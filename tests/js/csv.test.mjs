// SPDX-License-Identifier: Apache-2.0

// The CSV parser of command and page, with csv-parse as oracle.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { generator, importSource } from './support/sources.mjs';

const { CsvParser, csvCell, quotedCell, seenSeparators } = await importSource('shared/csv.ts');
const { csvRecords } = await importSource('cli/input/records.ts');

const quoted = (cell) => `"${cell.replaceAll('"', '""')}"`;

function parseInPieces(text, sizes, options) {
  const parser = new CsvParser(options);
  const records = [];
  let at = 0;
  for (let i = 0; at < text.length; ++i) {
    const size = sizes[i % sizes.length];
    records.push(...parser.push(text.slice(at, at + size)));
    at += size;
  }
  return [...records, ...parser.end()];
}

test('csv: random tables are read as by the oracle, in pieces of any size', () => {
  const random = generator(1);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const letters = ['a', '1', '.', ' ', '-', 'é', '😀', ',', '"', '\n', '\r\n', ';'];
  for (let round = 0; round < 400; ++round) {
    const width = 1 + Math.floor(random() * 4);
    const lineEnd = pick(['\n', '\r\n']);
    const rows = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
      Array.from({ length: width }, () => {
        const length = Math.floor(random() * 6);
        // A record with a single empty cell is a blank line, which has another meaning.
        return Array.from({ length: width === 1 ? length + 1 : length }, () => pick(letters)).join(
          '',
        );
      }),
    );
    const text =
      rows.map((row) => row.map(quotedCell).join(',')).join(lineEnd) + pick(['', lineEnd]);
    const oracle = parse(text, { relax_column_count: true });
    assert.deepEqual(oracle, rows, 'the oracle reads what was written');
    const sizes = [pick([1, 2, 3, 1000]), 1 + Math.floor(random() * 5)];
    const records = parseInPieces(text, sizes);
    assert.deepEqual(
      records.map((it) => it.cells),
      oracle,
      JSON.stringify(text),
    );
  }
});

test('csv: other separators, and spaces around cells, as the oracle reads them', () => {
  const random = generator(2);
  const pick = (list) => list[Math.floor(random() * list.length)];
  for (let round = 0; round < 400; ++round) {
    const separator = pick([',', ';', '\t']);
    const letters = [
      'a',
      '1',
      '.',
      'é',
      'b c',
      ...[',', ';', '\t', '"', '\n'].map((it) => `x${it}y`),
    ];
    const rows = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
      Array.from({ length: 2 }, () => pick(letters) + pick(letters)),
    );
    const space = () => pick(['', '', ' ', '  ']);
    const written = rows.map((row) =>
      row.map((cell) => space() + (/[";,\t\n]/.test(cell) ? quoted(cell) : cell) + space()),
    );
    const text = `${written.map((row) => row.join(separator)).join('\n')}${pick(['', '\n'])}`;
    assert.deepEqual(parse(text, { delimiter: separator, trim: true }), rows);
    const records = parseInPieces(text, [pick([1, 2, 1000])], { separator, trims: true });
    assert.deepEqual(
      records.map((it) => it.cells),
      rows,
      JSON.stringify(text),
    );
  }
});

test('csv: a text has the same records and faults in pieces of any size', () => {
  const random = generator(3);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const parts = [
    'a',
    'bc',
    ',',
    ',',
    '"',
    '""',
    '"x,y"',
    '"\n"',
    '\n',
    '\n',
    '\r\n',
    '\r',
    '\ufeff',
    ' ',
  ];
  const parsed = (text, size) => {
    try {
      return parseInPieces(text, [size]);
    } catch (error) {
      return error.message;
    }
  };
  for (let round = 0; round < 3000; ++round) {
    const text = Array.from({ length: 1 + Math.floor(random() * 24) }, () => pick(parts)).join('');
    const expected = parsed(text, 1);
    for (const size of [2, 3, 7, 1000]) {
      assert.deepEqual(parsed(text, size), expected, `${size}: ${JSON.stringify(text)}`);
    }
  }
});

test('csv: a record is complete with its line end, without waiting for more', () => {
  const parser = new CsvParser();
  assert.deepEqual(parser.push('a,b').length, 0);
  assert.deepEqual(parser.push('\n'), [{ cells: ['a', 'b'], line: 1 }]);
  assert.deepEqual(parser.push('1,2\r'), [{ cells: ['1', '2'], line: 2 }]);
  assert.deepEqual(parser.push('\n3,"4\n5"\n'), [{ cells: ['3', '4\n5'], line: 3 }]);
  assert.deepEqual(parser.push('6,7\n'), [{ cells: ['6', '7'], line: 5 }]);
  assert.deepEqual(parser.end(), []);
});

test('csv: line numbers are right with a byte order mark, blank lines and an unfinished last line', () => {
  const records = parseInPieces('\ufeffa,b\n\n"x\r\ny",2\r\n3,4', [1]);
  assert.deepEqual(records, [
    { cells: ['a', 'b'], line: 1 },
    { cells: [''], line: 2 },
    { cells: ['x\r\ny', '2'], line: 3 },
    { cells: ['3', '4'], line: 5 },
  ]);
  assert.deepEqual(parseInPieces('', [1]), []);
  assert.deepEqual(parseInPieces('a,', [1]), [{ cells: ['a', ''], line: 1 }]);
  assert.deepEqual(parseInPieces('""', [1]), [{ cells: [''], line: 1, isQuoted: true }]);
  assert.deepEqual(parseInPieces('""\n\n"x"\n"",', [1]), [
    { cells: [''], line: 1, isQuoted: true },
    { cells: [''], line: 2 },
    { cells: ['x'], line: 3 },
    { cells: ['', ''], line: 4 },
  ]);
});

test('csv: what RFC 4180 does not allow is refused with its line', () => {
  const cases = [
    ['a\n"b', /line 2: a quoted cell is not closed/],
    ['a\nb"c\n', /line 2: a quote inside a cell that does not begin with one/],
    ['a\n"b"c\n', /line 2: text after the closing quote of a cell/],
    [
      `a\n"${'x'.repeat(2 ** 20 + 1)}`,
      /line 2: a cell of more than 1048576 characters; a missing quote\?/,
    ],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseInPieces(text, [text.length]), { message });
    assert.throws(() => parseInPieces(text, [7]), { message });
  }
});

test('csv: a character split between two pieces is read, and bytes that are not UTF-8 are refused', async () => {
  async function* bytes(...pieces) {
    yield* pieces;
  }
  const encoded = new TextEncoder().encode('é,😀\n');
  const records = [];
  for await (const some of csvRecords(
    bytes(...Array.from(encoded, (byte) => Uint8Array.of(byte))),
  )) {
    records.push(...some);
  }
  assert.deepEqual(records, [{ cells: ['é', '😀'], line: 1 }]);
  await assert.rejects(csvRecords(bytes(Uint8Array.of(0x61, 0xff, 0x0a))).next(), /not UTF-8/);
  await assert.rejects(csvRecords(bytes(Uint8Array.of(0xc3))).next(), /not UTF-8/);
});

test('csv: the separator of a header is the most frequent one outside quotes', () => {
  for (const [text, most, rival, isComplete] of [
    ['a,b\n1;2;3\n', ',', undefined, true],
    ['a;b\r\n', ';', undefined, true],
    ['a\tb', '\t', undefined, false],
    ['a', ',', undefined, false],
    ['', ',', undefined, false],
    ['"x,y,z";b\r', ';', undefined, true],
    ['"x\n,";b\n', ';', undefined, true],
    ['"a""b,c,d";e\n', ';', undefined, true],
    ['"a', ',', undefined, false],
    ['a;b,c;d\n', ';', undefined, true],
    ['a;b,c\n', ',', ';', true],
    ['a\tb;c\n,,,', ';', '\t', true],
  ]) {
    assert.deepEqual(seenSeparators(text), { most, rival, isComplete }, JSON.stringify(text));
  }
  assert.equal(seenSeparators('x'.repeat(2 ** 20 + 1)).isComplete, true);
});

/** Beginnings of a formula, also after characters that a spreadsheet ignores. */
const SIGNS = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
const STARTS = [
  '\t',
  '\r',
  '\n',
  ...['', ' ', '\t', '\r', '\n', ' \t'].flatMap((lead) => SIGNS.map((sign) => lead + sign)),
];

test('csv: a name that a spreadsheet would run follows an apostrophe, and nothing else changes', () => {
  const read = (text) => parse(`${text},end\n`)[0][0];
  for (const rest of ['1+1', 'SUM(A1)', 'cmd|" /C calc"!A0', 'a,b', '"', '', '1 2']) {
    for (const start of STARTS) {
      const name = `${start}${rest}`;
      assert.equal(read(csvCell(name)), `'${name}`, JSON.stringify(name));
      assert.equal(read(quotedCell(name)), name, JSON.stringify(name));
    }
  }
  for (const number of ['-1', '+1', '-0.5', '+1e-300', '-.5', '-12345678901234567890']) {
    assert.equal(csvCell(number), number);
  }
  for (const name of ['', 'a', 'a=1', '1-2', '2026-03-01', "'=1", '(=1)', '#=1', 'é-', '−1', '0']) {
    assert.equal(csvCell(name), name);
    assert.equal(csvCell(`${name}, "b"`), quotedCell(`${name}, "b"`));
  }
});
