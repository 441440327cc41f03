// SPDX-License-Identifier: Apache-2.0

// Writes the run on the page as a program for Node or a browser.

import { edgeText, fixedOffset, type Bucket } from '../data/contributions.ts';
import {
  numRowsOf,
  saved,
  seeded,
  sumsAlone,
  type ActiveProgramOptions,
  type RunOptions,
  type SnippetSource,
  type Source,
} from '../data/source.ts';

/** Object literal that ends with the lines `more`. */
const objectOf = (options: object, ...more: readonly string[]): string =>
  JSON.stringify(options, null, 2)
    .replace(/^(\s*)"(\w+)":/gm, '$1$2:')
    .replace(/\n}$/, `${['', ...more].join(',\n  ')},\n}`);

/** Code that reads the cells of a table. */
const readCells = (file: Source): string =>
  `import { readFileSync } from 'node:fs';\n\n` +
  '/** Cells are separated by commas and may be quoted, but not contain line breaks. */\n' +
  'const cellsOf = (line) =>\n' +
  '  [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(\n' +
  `    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain.trim(),\n  );\n` +
  saved(file) +
  `const [names, ...rows] = readFileSync('${file.name}', 'utf8').trim().split('\\n').map(cellsOf);\n`;

/** Code that reads a table and the numbers in its rows. */
const readRows = (file: Source): string =>
  `${readCells(file)}const columns = ${JSON.stringify(file.columns)};\n` +
  `const valuesOf = (row) => columns.map((name) => Number(row[names.indexOf(name)]));\n`;

/** Code that builds a table from the rows read, with labels for a learner. */
const makeTable = ({ label }: Source): string => {
  const labels =
    label === ''
      ? ''
      : `  labels: Float64Array.from(rows, (row) => Number(row[names.indexOf(${JSON.stringify(label)})])),\n`;
  return (
    'const table = {\n  numRows: rows.length,\n  numColumns: columns.length,\n' +
    `  values: Float64Array.from(rows.flatMap(valuesOf)),\n${labels}};\n`
  );
};

/** Program for Node or a browser that prints the last release. */
export function javascriptOf({ options, file }: SnippetSource): string {
  if (file !== null && sumsAlone(options, file)) return eventsOf(options, file);
  const { table, ...rest } = options;
  const reads = file === null ? '' : `${readRows(file)}${makeTable(file)}`;
  return (
    `import { load } from 'dp-ftrl';\n${reads}\nconst dp = await load();\n${seeded}` +
    `const simulation = dp.study.simulation(${objectOf(rest, ...(table === undefined ? [] : ['table']))});\n` +
    `const { steps, dimension } = simulation;\n` +
    `const { noisySums } = simulation.advance(steps);\n` +
    `console.log([...noisySums.slice(-dimension)].join(' '));\n`
  );
}

const minute = 60_000;
/**
 * Code for the bucket number of a time in milliseconds. Weeks begin on Mondays. `wall` is the local
 * time, and `shift` its difference from UTC modulo an hour.
 */
const bucketsOfTimes: Readonly<Record<Bucket, string>> = {
  minute: `Math.floor((time + shift) / ${minute})`,
  hour: `Math.floor((time + shift) / ${60 * minute})`,
  day: `Math.floor(wall / ${1440 * minute})`,
  week: `Math.floor((wall + ${3 * 1440 * minute}) / ${7 * 1440 * minute})`,
  month: 'new Date(wall).getUTCFullYear() * 12 + new Date(wall).getUTCMonth()',
  year: 'new Date(wall).getUTCFullYear()',
};

/** Code for `wall` or `shift`, whichever the buckets need. */
function readClock({ bucket, timeZone }: Source): { before: string; within: string } {
  const isShort = bucket === 'minute' || bucket === 'hour';
  const offset = fixedOffset(timeZone);
  if (offset !== undefined) {
    const [name, value] = isShort
      ? ['shift', offset % (60 * minute)]
      : ['wall', `time + ${offset}`];
    return { before: '', within: `  const ${name} = ${value};\n` };
  }
  return {
    before:
      `const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: ${JSON.stringify(timeZone)}, ` +
      "dateStyle: 'short', timeStyle: 'medium' });\n",
    within:
      "  const wall = Date.parse(`${clock.format(time).replace(' ', 'T')}Z`);\n" +
      (isShort ? `  const shift = (wall - time) % ${60 * minute};\n` : ''),
  };
}

/** Code that converts times to bucket numbers, including the first and the last. */
function readTimes(file: Source): string {
  const { time, bucket, timeZone } = file;
  const { before, within } = readClock(file);
  const edge = (name: 'from' | 'to', at: string): string =>
    file[name] === '' ? `timeOf(rows.at(${at}))` : JSON.stringify(edgeText(file, name));
  return (
    `const timeOf = (row) => row[names.indexOf(${JSON.stringify(time)})];\n${before}` +
    `/** Number of the ${bucket} of a time, in ${timeZone}. */\n` +
    'const bucketOf = (text) => {\n' +
    "  const [, date, hour = '00:00', hours, minutes = '00'] =\n" +
    '    /^(\\S{10})(?:[T ]([\\d:.]+) ?(?:Z|([+-]\\d\\d):?(\\d\\d)?)?)?$/.exec(text);\n' +
    "  const time = Date.parse(`${date}T${hour}${hours ? `${hours}:${minutes}` : 'Z'}`);\n" +
    `${within}  return ${bucketsOfTimes[bucket]};\n};\n` +
    `const first = bucketOf(${edge('from', '0')});\n` +
    `const last = bucketOf(${edge('to', '-1')});\n`
  );
}

/** Code that adds each row to a stream at its step, and reads the last step. */
const byTime = (stream: string, each: string): string =>
  'for (const row of rows) {\n  const step = bucketOf(timeOf(row)) - first;\n' +
  `  if (step > ${stream}.step) ${stream}.endMany(step - ${stream}.step);\n` +
  `  ${stream}.add(${each});\n}\n` +
  `const reading = ${stream}.endMany(last - first + 1 - ${stream}.step).at(-1);\n`;

/** Program that prints the counts of active people of the last day. */
export function activeProgramOf(options: ActiveProgramOptions, file: Source): string {
  const given = { ...options, ...(file.ids === 'numbers' && { numericNames: true }) };
  return (
    `import { load } from 'dp-ftrl';\n${readCells(file)}${readTimes({ ...file, bucket: 'day' })}` +
    `\nconst dp = await load();\n${seeded}const people = dp.active(${objectOf(given)});\n` +
    byTime('people', `row[names.indexOf(${JSON.stringify(file.person)})]`) +
    "console.log(Object.values(reading.active).map(({ value }) => value).join(' '));\n"
  );
}

/**
 * Program for plain sums, whose steps have any number of contributions, with or without persons.
 */
function eventsOf(options: RunOptions, file: Source): string {
  const { loss, lambda, descent, table, batchSize, ...sums } = options;
  const { noiseSeed: insecureSeed, participation = 'once', ...asked } = sums;
  const isOfPeople = file.person !== '';
  const given = {
    ...asked,
    insecureSeed,
    ...(isOfPeople ? { people: participation } : { participation }),
    dimension: file.columns.length,
    ...(isOfPeople && file.ids === 'numbers' && { numericNames: true }),
  };
  const person = `row[names.indexOf(${JSON.stringify(file.person)})]`;
  const each = isOfPeople ? `${person}, valuesOf(row)` : 'valuesOf(row)';
  const made =
    `\nconst dp = await load();\n${seeded}` + `const sums = dp.totals(${objectOf(given)});\n`;
  const numRows = numRowsOf(options);
  const rows = numRows === null ? 'rows' : `rows.slice(0, ${numRows})`;
  // A row of empty cells is a step without a record.
  const unlessGap = file.hasGaps ? "if (row.join('') !== '') " : '';
  const stepped =
    file.time === ''
      ? `let reading;\nfor (const row of ${rows}) {\n` +
        `  ${unlessGap}sums.add(${each});\n  reading = sums.end();\n}\n`
      : byTime('sums', each);
  return (
    `import { load } from 'dp-ftrl';\n${readRows(file)}` +
    `${file.time === '' ? '' : readTimes(file)}${made}${stepped}` +
    `console.log([...reading.values].join(' '));\n`
  );
}
