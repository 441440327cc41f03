// SPDX-License-Identifier: Apache-2.0

// The run on the page as a program and as a command, which print the same numbers.

import type { Participation, SimulationOptions } from 'dp-ftrl';
import type { Bucket, Roles } from '../data/contributions.ts';

export interface SnippetSource {
  options: SimulationOptions;
  /** File and columns that are summed; null where records are made up or learned from. */
  file: (Roles & { name: string; columns: readonly string[] }) | null;
}

/** One word of a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w.\-/]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

type Source = NonNullable<SnippetSource['file']>;

/** True if rows have persons or times, so that a step has any number of them. */
const hasRoles = ({ person, time }: Source): boolean => person !== '' || time !== '';

/** Options as they stand in a program, with further lines of them at the end. */
const objectOf = (options: object, ...more: readonly string[]): string =>
  JSON.stringify(options, null, 2)
    .replace(/^(\s*)"(\w+)":/gm, '$1$2:')
    .replace(/\n}$/, ['', ...more].join(',\n  ') + ',\n}');

const seeded = '// Its seed is fixed, so that it shows what the page shows: nothing is private here.\n';

/** Reads a file whose rows a program sums. */
const readRows = ({ name, columns }: Source): string =>
  `import { readFileSync } from 'node:fs';\n\n` +
  `// Cells have commas between them, and no quotation marks.\n` +
  `const [names, ...rows] = readFileSync('${name}', 'utf8')\n` +
  `  .trim()\n  .split('\\n')\n  .map((line) => line.split(',').map((cell) => cell.trim()));\n` +
  `const columns = ${JSON.stringify(columns)};\n` +
  `const valuesOf = (row) => columns.map((name) => Number(row[names.indexOf(name)]));\n`;

/** A program for Node or a browser: prints the last release. */
export function javascriptOf({ options, file }: SnippetSource): string {
  if (file !== null && hasRoles(file)) return eventsOf(options, file);
  const { table, ...rest } = options;
  const reads =
    table === undefined || file === null
      ? ''
      : `${readRows(file)}const table = {\n  numRows: rows.length,\n  numColumns: columns.length,\n` +
        `  values: Float64Array.from(rows.flatMap(valuesOf)),\n};\n`;
  return (
    `import { load } from 'dp-ftrl';\n${reads}\nconst dp = await load();\n${seeded}` +
    `const simulation = dp.simulation(${objectOf(rest, ...(table === undefined ? [] : ['table']))});\n` +
    `const { numSteps, dimension } = simulation;\n` +
    `const { noisySums } = simulation.advance(numSteps);\n` +
    `console.log([...noisySums.slice(-dimension)].join(' '));\n`
  );
}

const minute = 60_000;
/** Number of the bucket of a time in milliseconds, as it stands in a program. Weeks begin on Mondays. */
const bucketsOfTimes: Readonly<Record<Bucket, string>> = {
  minute: `Math.floor(time / ${minute})`,
  hour: `Math.floor(time / ${60 * minute})`,
  day: `Math.floor(time / ${1440 * minute})`,
  week: `Math.floor((time + ${3 * 1440 * minute}) / ${7 * 1440 * minute})`,
  month: 'new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth()',
  year: 'new Date(time).getUTCFullYear()',
};

/** Reads times into numbers of buckets, the first and the last among them. */
function readTimes({ time, bucket, from, to }: Source): string {
  const edge = (said: string, at: string): string =>
    said === '' ? `timeOf(rows.at(${at}))` : JSON.stringify(said);
  return (
    `const timeOf = (row) => row[names.indexOf(${JSON.stringify(time)})];\n` +
    `/** Number of the ${bucket} of a time, which is in UTC where it names no zone. */\n` +
    'const bucketOf = (text) => {\n' +
    '  const [, date, clock = \'00:00\', hours, minutes = \'00\'] =\n' +
    '    /^(\\S{10})(?:[T ]([\\d:.]+) ?(?:Z|([+-]\\d\\d):?(\\d\\d)?)?)?$/.exec(text);\n' +
    '  const time = Date.parse(`${date}T${clock}${hours ? `${hours}:${minutes}` : \'Z\'}`);\n' +
    `  return ${bucketsOfTimes[bucket]};\n};\n` +
    `const first = bucketOf(${edge(from, '0')});\n` +
    `const last = bucketOf(${edge(to, '-1')});\n`
  );
}

/** A program whose steps have any number of contributions, of persons or not. */
function eventsOf(options: SimulationOptions, file: Source): string {
  const { noiseSeed, mechanismLambda, loss, lambda, table, batchSize, ...mechanism } = options;
  const asked = {
    ...mechanism,
    ...(mechanismLambda === undefined ? {} : { lambda: mechanismLambda }),
    insecureSeed: noiseSeed,
    dimension: file.columns.length,
  };
  const person = `row[names.indexOf(${JSON.stringify(file.person)})]`;
  const each = file.person === '' ? 'valuesOf(row)' : `${person}, valuesOf(row)`;
  const made =
    `\nconst dp = await load();\n${seeded}` +
    `const sums = dp.${file.person === '' ? 'prefixSum' : 'peopleSum'}(${objectOf(asked)});\n`;
  const stepped =
    file.time === ''
      ? 'let totals;\nfor (const row of rows) {\n' +
        `  sums.contribute(${each});\n  totals = sums.endSteps();\n}\n`
      : 'for (const row of rows) {\n  const step = bucketOf(timeOf(row)) - first;\n' +
        '  if (step > sums.step) sums.endSteps(step - sums.step);\n' +
        `  sums.contribute(${each});\n}\n` +
        'const totals = sums.endSteps(last - first + 1 - sums.step);\n';
  return (
    `import { load } from 'dp-ftrl';\n${readRows(file)}` +
    `${file.time === '' ? '' : readTimes(file)}${made}${stepped}` +
    `console.log([...totals.slice(-columns.length)].join(' '));\n`
  );
}

/** Flags of the command whose names are not those of the options. */
const flags: Readonly<Record<string, string>> = {
  numSteps: 'steps',
  clipNorm: 'clip',
  mechanismLambda: 'lambda',
  noiseSeed: 'seed',
};

const flagOf = (name: string): string =>
  flags[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A pattern of participation as the command has it: `--epochs 4`, or its two counts. */
const participationFlags = (participation: Participation): string[] =>
  Object.entries(participation).map(([name, value]) => `--${flagOf(name)} ${value}`);

/** Options that mean nothing to a release. */
const unused = ['loss', 'lambda', 'table', 'batchSize'];

/** Whose rows they are, of which so many count, and the time that makes steps of them. */
function roleFlags(
  { person, time, bucket, from, to }: Roles,
  participation?: Participation,
): string[] {
  const flags = time === '' ? [] : [`--time-column ${quoted(time)} --bucket ${bucket}`];
  if (time !== '' && from !== '') flags.push(`--from ${quoted(from)}`);
  if (time !== '' && to !== '') flags.push(`--to ${quoted(to)}`);
  if (person === '') return flags;
  const { participations = 1, minSeparation = 1 } =
    typeof participation === 'object' && 'participations' in participation ? participation : {};
  flags.push(`--user-column ${quoted(person)} --max-contributions ${participations}`);
  if (minSeparation > 1) flags.push(`--min-separation ${minSeparation}`);
  return flags;
}

/** A command that writes all releases; null where the command cannot do it. */
export function commandOf({ options, file }: SnippetSource): string | null {
  if (file === null || typeof options.mechanism === 'object') return null;
  const parts = ['dp-ftrl release'];
  for (const [name, value] of Object.entries(options)) {
    // The command counts the buckets up to --to by itself.
    const isCounted = name === 'numSteps' && file.time !== '' && file.to !== '';
    if (unused.includes(name) || isCounted) continue;
    if (name === 'participation') {
      if (file.person === '') parts.push(...participationFlags(value as Participation));
      continue;
    }
    const flag = `--${flagOf(name)}`;
    if (value === true) parts.push(flag);
    else if (value !== false) parts.push(`${flag} ${quoted(String(value))}`);
  }
  parts.push(...roleFlags(file, options.participation));
  for (const column of file.columns) parts.push(`--column ${quoted(column)}`);
  return `${parts.join(' ')} ${quoted(file.name)}\n`;
}

/** Members of the core's options whose names are not those of the package in its spelling. */
const members: Readonly<Record<string, string>> = {
  mechanism: 'mechanism.strategy',
  noiseSeed: 'insecure_noise_seed',
  mechanismLambda: 'mechanism.parameters.lambda',
  bands: 'mechanism.parameters.num_bands',
  buffers: 'mechanism.parameters.num_buffers',
};
/** Options of a mechanism, and of a simulation; all others are parameters. */
const ofMechanism = ['numSteps', 'clipNorm', 'neighbours', 'participation'];
const ofSimulation = ['dimension', 'stream', 'streamSeed', 'loss', 'lambda'];
/** Options whose values are names of an enumeration. */
const enumerations: Readonly<Record<string, string>> = {
  neighbours: 'Neighbours',
  objective: 'Objective',
};

const underscored = (name: string): string =>
  name.replace(/[A-Z-]/g, (letter) => (letter === '-' ? '_' : `_${letter.toLowerCase()}`));

function memberOf(name: string): string {
  if (members[name] !== undefined) return members[name];
  if (ofSimulation.includes(name)) return underscored(name);
  const owner = ofMechanism.includes(name) ? 'mechanism' : 'mechanism.parameters';
  return `${owner}.${underscored(name)}`;
}

/** A pattern of participation as the core has it. */
function schemaOf(participation: Participation, numSteps: number): string {
  if (participation === 'single') return 'dpftrl::Participation::single()';
  if ('epochs' in participation) {
    const { epochs } = participation;
    const length = numSteps / epochs;
    return `dpftrl::Participation::fixed_epoch({.num_epochs = ${epochs}, .epoch_length = ${length}})`;
  }
  const { participations, minSeparation } = participation;
  return (
    'dpftrl::Participation::min_separation(\n' +
    `      {.max_participations = ${participations}, .min_separation = ${minSeparation}})`
  );
}

function valueOf(name: string, value: unknown, numSteps: number): string {
  if (name === 'participation') return schemaOf(value as Participation, numSteps);
  if (enumerations[name] !== undefined) {
    return `dpftrl::${enumerations[name]}::${underscored(String(value))}`;
  }
  if (name === 'buffers' && value === 'exact') return '0';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'object') return `{${Array.from(value as ArrayLike<number>).join(', ')}}`;
  return String(value);
}

/** Function that reads columns of a table without quotation marks, for programs in C++. */
const readColumns = `/// Columns of a table, row after row.
dpftrl::Table read(const std::string& file, const std::vector<std::string>& columns) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> all;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, ',');) all.push_back(cell);
    return all;
  };
  std::ifstream input(file);
  std::string line;
  std::getline(input, line);
  const std::vector<std::string> names = cells(line);
  std::vector<std::vector<std::string>> rows;
  while (std::getline(input, line)) rows.push_back(cells(line));
  dpftrl::Table table{.features = dpftrl::Matrix(rows.size(), columns.size()), .labels = {}};
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const auto at = std::find(names.begin(), names.end(), columns[j]) - names.begin();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      table.features(i, j) = std::stod(rows[i].at(at));
    }
  }
  return table;
}

`;

/** A program for the C++ library: prints the last release. Null where it cannot be written down. */
export function cppOf({ options, file }: SnippetSource): string | null {
  const { table, epsilon, delta, ...rest } = options;
  if (file !== null && hasRoles(file)) return null;
  if (typeof options.mechanism === 'object' || (table !== undefined && file === null)) return null;
  const lines = Object.entries(rest).map(
    ([name, value]) => `  options.${memberOf(name)} = ${valueOf(name, value, options.numSteps)};\n`,
  );
  const columns = (file?.columns ?? []).map((name) => JSON.stringify(name)).join(', ');
  const reads = table === undefined ? '' : readColumns;
  const headers =
    table === undefined
      ? ['iostream']
      : ['algorithm', 'fstream', 'iostream', 'sstream', 'string', 'vector'];
  return (
    `${headers.map((name) => `#include <${name}>\n`).join('')}\n` +
    `#include "dpftrl/learn/simulation.hpp"\n\n${reads}int main() {\n` +
    '  // Its seed is fixed, so that it shows what the page shows: nothing is private here.\n' +
    '  dpftrl::SimulationOptions options;\n' +
    `  options.mechanism.target = {.epsilon = ${epsilon}, .delta = ${delta}};\n` +
    lines.join('') +
    (table === undefined ? '' : `  options.table = read(${JSON.stringify(file?.name)}, {${columns}});\n`) +
    '  dpftrl::Simulation simulation(options);\n' +
    '  const dpftrl::SimulationChunk chunk = simulation.advance(simulation.num_steps());\n' +
    '  std::cout.precision(17);\n' +
    "  std::cout << chunk.noisy_sums.bottomRows(1) << '\\n';\n}\n"
  );
}
