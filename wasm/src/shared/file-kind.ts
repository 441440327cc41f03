// SPDX-License-Identifier: Apache-2.0

// Recognises files other than tables in UTF-8 by their first bytes, for the command and the page.

/** Number of leading bytes that reveal the kind of a file. */
export const FIRST_BYTES = 64;

const UTF_16 = 'is text in UTF-16: save it as UTF-8, as by iconv -f UTF-16 -t UTF-8';
const UTF_32 = 'is text in UTF-32: save it as UTF-8, as by iconv -f UTF-32 -t UTF-8';
const BINARY = 'is not text in UTF-8, as its first line has a byte 0: save it as CSV in UTF-8';
const PACKED = 'decompress it first';
const PICKLE = 'is a pickle of Python: write its table as CSV, as by to_csv(..., index=False)';

/** First bytes of files in hexadecimal, and the kind of file that has them. */
const BEGINNINGS: readonly (readonly [hex: string, what: string])[] = [
  ['fffe0000', UTF_32],
  ['0000feff', UTF_32],
  ['fffe', UTF_16],
  ['feff', UTF_16],
  ['1f8b', `is compressed by gzip: ${PACKED}, as by gunzip`],
  ['425a68', `is compressed by bzip2: ${PACKED}`],
  ['fd377a585a', `is compressed by xz: ${PACKED}`],
  ['28b52ffd', `is compressed by zstd: ${PACKED}`],
  ['1f9d', `is compressed by compress: ${PACKED}`],
  ['04224d18', `is compressed by lz4: ${PACKED}`],
  ['377abcaf271c', `is a 7z archive: ${PACKED}`],
  ['526172211a07', `is a RAR archive: ${PACKED}`],
  [
    '504b0304',
    'is an Excel workbook (xlsx) or another zip archive: save its sheet as CSV in UTF-8',
  ],
  ['504b0506', 'is an empty zip archive'],
  ['d0cf11e0', 'is an Excel workbook (xls): save its sheet as CSV in UTF-8'],
  [
    '50415231',
    'is a Parquet file: write it as CSV, as by pandas.read_parquet(...).to_csv(..., index=False)',
  ],
  [
    '4152524f5731',
    'is an Arrow file: write it as CSV, as by pandas.read_feather(...).to_csv(..., index=False)',
  ],
  ['53514c69746520', 'is an SQLite database: write its table as CSV'],
  ['894844460d0a1a0a', 'is an HDF5 file: write its table as CSV'],
  ['934e554d5059', 'is a NumPy file: write it as CSV, as by numpy.savetxt'],
  ['4f626a01', 'is an Avro file: write it as CSV'],
  ['800295', PICKLE],
  ['800395', PICKLE],
  ['800495', PICKLE],
  ['800595', PICKLE],
  ['89504e470d0a1a0a', 'is a picture (PNG)'],
  ['ffd8ff', 'is a picture (JPEG)'],
  ['7b5c727466', 'is a document (RTF): write its table as CSV'],
  ['25504446', 'is a PDF: write its table as CSV'],
];

const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** True if every second byte is 0, as for Latin letters in UTF-16 without a byte order mark. */
function isWide(bytes: Uint8Array): boolean {
  if (bytes.length < 4) return false;
  const zeros = [0, 1].map((first) =>
    bytes.filter((_, i) => i % 2 === first).every((byte) => byte === 0),
  );
  return zeros[0] !== zeros[1];
}

/** True if the first line has a byte 0, as in binary files. */
function isBinary(bytes: Uint8Array): boolean {
  const end = bytes.findIndex((byte) => byte === 0x0a || byte === 0x0d);
  return bytes.subarray(0, end < 0 ? bytes.length : end).includes(0);
}

/** Explains what a file is and what to do, if it is not a table in UTF-8. */
export function kindOfFile(first: Uint8Array): string | undefined {
  const hex = hexOf(first.subarray(0, 8));
  const known = BEGINNINGS.find(([beginning]) => hex.startsWith(beginning))?.[1];
  if (known !== undefined) return known;
  const beginning = first.subarray(0, FIRST_BYTES);
  if (isWide(beginning)) return UTF_16;
  return isBinary(beginning) ? BINARY : undefined;
}

/** Explains what to do with a text that is markup, or begins with a line for Excel. */
export function kindOfMarkup(text: string): string | undefined {
  if (/^\uFEFF?\s*<(!doctype html|html|head|body|table)\b/i.test(text))
    return 'is HTML: write its table as CSV';
  if (/^\uFEFF?\s*<\?xml\b/i.test(text)) return 'is XML: write its table as CSV';
  const separator = /^\uFEFF?"?sep=(.)/i.exec(text)?.[1];
  if (separator === undefined) return undefined;
  return `begins with the line sep=${separator}, which is for Excel: remove it`;
}

/** Kind of JSON in a text that should be CSV or JSON lines; `lines` may be JSON lines. */
export function kindOfText(text: string): 'array' | 'object' | 'lines' | undefined {
  if (/^\uFEFF?\s*\[\s*[[{"\]]/.test(text)) return 'array';
  if (!/^\uFEFF?\s*\{\s*["}]/.test(text)) return undefined;
  return /^\uFEFF?\s*\{[ \t]*[\r\n]/.test(text) ? 'object' : 'lines';
}

/** Advice for JSON that is not one object per line. */
export const JSON_TEXTS = {
  array: 'is a JSON array: write one object per line, as by jq -c ".[]"',
  object: 'is JSON on several lines: write one object per line, as by jq -c .',
};

/** Explains that the bytes of a file are not UTF-8, and how to fix the likely cause. */
export const NOT_UTF_8 =
  'is not UTF-8 text, but perhaps Latin-1: save it as UTF-8, as by iconv -f WINDOWS-1252 -t UTF-8';
