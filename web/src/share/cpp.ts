// SPDX-License-Identifier: Apache-2.0

// Writes the run on the page as a program for the C++ library.

import type { DescentOptions, Participation, SimulationOptions, Workload } from 'dp-ftrl';
import type { Bucket } from '../data/contributions.ts';
import { numRowsOf, saved, seeded, sumsAlone, type SnippetSource, type Source } from './source.ts';

/** Members of the core's options whose names do not follow from those of the package. */
const members: Readonly<Record<string, string>> = {
  mechanism: 'mechanism.strategy',
  noiseSeed: 'insecure_noise_seed',
  mechanismLambda: 'mechanism.parameters.lambda',
  bands: 'mechanism.parameters.num_bands',
  buffers: 'mechanism.parameters.num_buffers',
};
/** Options of a mechanism and of a simulation; all others are parameters. */
const ofMechanism = ['numSteps', 'clipNorm', 'neighbours', 'participation', 'workload'];
const ofSimulation = ['dimension', 'stream', 'streamSeed', 'loss', 'lambda', 'descent'];
/** Options whose values are enumerators. */
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

/** Returns the core's form of a participation pattern. */
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

/** Workloads in the core; the page has only windows, decaying sums and momentum. */
const workloads: Readonly<Record<string, readonly [made: string, member: string]>> = {
  window: ['sliding_window', '.width'],
  decay: ['momentum', '.momentum = 0, .decay'],
  momentum: ['momentum', '.momentum'],
};

function workloadOf(workload: Workload, numSteps: number): string {
  const [name, value] = Object.entries(workload)[0]!;
  const [made, member] = workloads[name]!;
  return `dpftrl::Workload::${made}({.num_steps = ${numSteps}, ${member} = ${String(value)}})`;
}

function valueOf(name: string, value: unknown, numSteps: number): string {
  if (name === 'participation') return schemaOf(value as Participation, numSteps);
  if (name === 'workload') return workloadOf(value as Workload, numSteps);
  if (name === 'descent') {
    const { momentum = 0 } = value as DescentOptions;
    return `dpftrl::DescentSchedule{.rates = {}, .momentum = ${momentum}}`;
  }
  if (enumerations[name] !== undefined) {
    return `dpftrl::${enumerations[name]}::${underscored(String(value))}`;
  }
  if (name === 'buffers' && value === 'exact') return '0';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'object') return `{${Array.from(value as ArrayLike<number>).join(', ')}}`;
  return String(value);
}

/** C++ code that reads a file. */
const readRows = `using Row = std::vector<std::string>;

/// Cells separated by commas, possibly quoted; the first row has the names.
std::vector<Row> read(const std::string& file) {
  std::ifstream input(file);
  std::vector<Row> rows;
  for (std::string line; std::getline(input, line);) {
    if (line.ends_with('\\r')) line.pop_back();
    rows.emplace_back(1);
    bool is_quoted = false;
    char last = ',';
    for (const char letter : line) {
      if (letter == ',' && !is_quoted) rows.back().emplace_back();
      if (letter == '"' ? last == '"' && !is_quoted : letter != ',' || is_quoted) {
        rows.back().back() += letter;
      }
      if (letter == '"') is_quoted = !is_quoted;
      last = letter;
    }
  }
  return rows;
}

/// Index of a column.
std::size_t place(const std::vector<Row>& rows, const std::string& name) {
  const Row& names = rows.at(0);
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

`;

/** Returns C++ code that builds a table from columns, with labels for a learner. */
const makeTable = (label: string): string => `dpftrl::Table table_of(const std::vector<Row>& rows, const std::vector<std::string>& columns) {
  const std::size_t num_rows = rows.size() - 1;
  dpftrl::Table table{.features = dpftrl::Matrix(num_rows, columns.size()), .labels = {}};
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const std::size_t at = place(rows, columns[j]);
    for (std::size_t i = 0; i < num_rows; ++i) {
      table.features(i, j) = std::stod(rows[i + 1].at(at));
    }
  }
${
  label === ''
    ? ''
    : `  const std::size_t label = place(rows, ${JSON.stringify(label)});
  table.labels.emplace(num_rows);
  for (std::size_t i = 0; i < num_rows; ++i) (*table.labels)(i) = std::stod(rows[i + 1].at(label));
`
}  return table;
}

`;

const included = (...names: readonly string[]): string =>
  names.map((name) => `#include ${name}\n`).join('');
const ofFiles = ['<algorithm>', '<fstream>', '<iostream>', '<string>', '<vector>'];

const indented = (line: string): string => line && `  ${line}`;

const listOf = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(', ');

/** Returns a C++ program that prints the last release, or null if it cannot be expressed. */
export function cppOf({ options, file }: SnippetSource): string | null {
  if (typeof options.mechanism === 'object') return null;
  return file !== null && sumsAlone(options, file)
    ? eventsOf(options, file)
    : simulationOf(options, file);
}

function simulationOf(options: SimulationOptions, file: Source | null): string {
  const { table, epsilon, delta, ...rest } = options;
  const lines = Object.entries(rest).map(
    ([name, value]) => `  options.${memberOf(name)} = ${valueOf(name, value, options.numSteps)};\n`,
  );
  const reads = file === null ? '' : `${readRows}${makeTable(file.label)}`;
  return (
    `${included(...(file === null ? ['<iostream>'] : ofFiles))}\n` +
    `#include "dpftrl/learn/simulation.hpp"\n\n${reads}int main() {\n  ${seeded}` +
    '  dpftrl::SimulationOptions options;\n' +
    `  options.mechanism.target = {.epsilon = ${epsilon}, .delta = ${delta}};\n` +
    lines.join('') +
    (file === null
      ? ''
      : `${indented(saved(file))}  options.table = table_of(read(${JSON.stringify(file.name)}), {${listOf(file.columns)}});\n`) +
    '  dpftrl::Simulation simulation(options);\n' +
    '  const dpftrl::SimulationChunk chunk = simulation.advance(simulation.num_steps());\n' +
    '  std::cout.precision(17);\n' +
    "  std::cout << chunk.noisy_sums.bottomRows(1) << '\\n';\n}\n"
  );
}

/** C++ code for the bucket number of a time. Weeks begin on Mondays. */
const bucketsOfTimes: Readonly<Record<Bucket, string>> = {
  minute: 'return time.time_since_epoch().count();',
  hour: 'return floor<hours>(time).time_since_epoch().count();',
  day: 'return floor<days>(time).time_since_epoch().count();',
  week: 'return floor<weeks>(time + days{3}).time_since_epoch().count();',
  month:
    'const year_month_day civil{floor<days>(time)};\n' +
    '  return int{civil.year()} * 12 + static_cast<int>(unsigned{civil.month()});',
  year: 'return int{year_month_day{floor<days>(time)}.year()};',
};

const readTimes = (bucket: Bucket): string => `/// Number of the ${bucket} of a time, in UTC unless it names a zone.
std::int64_t bucket_of(const std::string& text) {
  using namespace std::chrono;
  int y = 0, m = 0, d = 0, hour = 0, minute = 0, zone_hours = 0, zone_minutes = 0;
  std::sscanf(text.c_str(), "%d-%d-%d%*1[T ]%d:%d", &y, &m, &d, &hour, &minute);
  const std::size_t zone = text.find_first_of("+-", 10);
  if (zone != std::string::npos) {
    const std::size_t rest = text.find_first_of("0123456789", zone + 3);
    zone_hours = std::stoi(text.substr(zone + 1, 2));
    if (rest != std::string::npos) zone_minutes = std::stoi(text.substr(rest, 2));
  }
  const int sign = zone != std::string::npos && text[zone] == '-' ? -1 : 1;
  const minutes offset{sign * (60 * zone_hours + zone_minutes)};
  const sys_days date{year{y} / m / d};
  const sys_time<minutes> time = date + hours{hour} + minutes{minute} - offset;
  ${bucketsOfTimes[bucket]}
}

`;

/**
 * Returns a program for plain sums, whose steps have any number of contributions, from persons or
 * not.
 */
function eventsOf(options: SimulationOptions, file: Source): string {
  const { noiseSeed, loss, lambda, descent, table, batchSize, epsilon, delta, ...rest } = options;
  const { columns, person, time, bucket, from, to } = file;
  const numSteps = options.numSteps;
  const lines = Object.entries(rest).map(
    ([name, value]) => `  ${memberOf(name)} = ${valueOf(name, value, numSteps)};\n`,
  );
  const kind = person === '' ? 'PrefixSum' : 'PeopleSum';
  const edge = (said: string, row: string): string =>
    `bucket_of(${said === '' ? `${row}[time]` : JSON.stringify(said)})`;
  const numRows = numRowsOf(options);
  const end = time !== '' || numRows === null ? '< rows.size()' : `<= ${numRows}`;
  const own = person === '' ? '' : 'persons.try_emplace(row[person], persons.size()).first->second, ';
  return (
    included('<algorithm>', ...(time === '' ? [] : ['<chrono>']), '<cstdint>') +
    included(...(time === '' ? [] : ['<cstdio>']), '<fstream>', '<iostream>') +
    included(...(person === '' ? [] : ['<map>']), '<string>', '<vector>') +
    `\n#include "dpftrl/release/prefix_sum.hpp"\n\n${readRows}` +
    `${time === '' ? '' : readTimes(bucket)}int main() {\n` +
    `${indented(saved(file))}  const std::vector<Row> rows = read(${JSON.stringify(file.name)});\n` +
    `  const std::vector<std::string> columns{${listOf(columns)}};\n` +
    (time === ''
      ? ''
      : `  const std::size_t time = place(rows, ${JSON.stringify(time)});\n` +
        `  const std::int64_t first = ${edge(from, 'rows.at(1)')};\n` +
        `  const std::int64_t last = ${edge(to, 'rows.back()')};\n`) +
    (person === ''
      ? ''
      : `  const std::size_t person = place(rows, ${JSON.stringify(person)});\n` +
        '  std::map<std::string, std::int64_t> persons;\n') +
    `  dpftrl::MechanismOptions mechanism;\n` +
    `  mechanism.target = {.epsilon = ${epsilon}, .delta = ${delta}};\n${lines.join('')}` +
    `  ${seeded}` +
    `  dpftrl::${kind} sums(dpftrl::Mechanism::make(mechanism),\n` +
    `      {.key = dpftrl::Key::insecure_from_seed(${String(noiseSeed)}), .dimension = ${columns.length}});\n` +
    `  std::vector<double> totals(${columns.length});\n` +
    `  for (std::size_t i = 1; i ${end}; ++i) {\n    const Row& row = rows[i];\n` +
    (time === '' ? '' : '    while (sums.step() < bucket_of(row[time]) - first) sums.release(totals);\n') +
    '    std::vector<double> values;\n' +
    '    for (const std::string& name : columns) values.push_back(std::stod(row.at(place(rows, name))));\n' +
    `    sums.contribute(${own}values);\n` +
    (time === ''
      ? '    sums.release(totals);\n  }\n'
      : '  }\n  while (sums.step() <= last - first) sums.release(totals);\n') +
    '  std::cout.precision(17);\n' +
    "  for (const double total : totals) std::cout << total << ' ';\n}\n"
  );
}
