// SPDX-License-Identifier: Apache-2.0

// The run on the page as a program and as a command, which print the same numbers.

import type { Participation, SimulationOptions } from 'dp-ftrl';

export interface SnippetSource {
  options: SimulationOptions;
  /** File and columns that are summed; null where records are made up or learned from. */
  file: { name: string; columns: readonly string[] } | null;
}

const quoted = (text: string): string => (/^[\w.\-/]+$/.test(text) ? text : `'${text}'`);

/** A program for Node or a browser: prints the last release. */
export function javascriptOf({ options, file }: SnippetSource): string {
  const { table, ...rest } = options;
  const written = JSON.stringify(rest, null, 2).replace(/^(\s*)"(\w+)":/gm, '$1$2:');
  const given = table === undefined ? written : written.replace(/\n}$/, ',\n  table,\n}');
  const reads =
    table === undefined
      ? ''
      : `import { readFileSync } from 'node:fs';\n\n` +
        `const [names, ...rows] = readFileSync('${file?.name ?? 'data.csv'}', 'utf8')\n` +
        `  .trim()\n  .split('\\n')\n  .map((line) => line.split(','));\n` +
        `const columns = ${JSON.stringify(file?.columns ?? [])};\n` +
        `const values = rows.flatMap((row) => columns.map((name) => Number(row[names.indexOf(name)])));\n` +
        `const table = {\n  numRows: rows.length,\n  numColumns: columns.length,\n` +
        `  values: Float64Array.from(values),\n};\n`;
  return (
    `import { load } from 'dp-ftrl';\n${reads}\nconst dp = await load();\n` +
    `// Its seed is fixed, so that it shows what the page shows: nothing is private here.\n` +
    `const simulation = dp.simulation(${given});\n` +
    `const { numSteps, dimension } = simulation;\n` +
    `const { noisySums } = simulation.advance(numSteps);\n` +
    `console.log([...noisySums.slice(-dimension)].join(' '));\n`
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
const unused = ['loss', 'lambda', 'table'];

/** A command that writes all releases; null where the command cannot do it. */
export function commandOf({ options, file }: SnippetSource): string | null {
  if (file === null || typeof options.mechanism === 'object') return null;
  const parts = ['dp-ftrl release'];
  for (const [name, value] of Object.entries(options)) {
    if (unused.includes(name)) continue;
    if (name === 'participation') {
      parts.push(...participationFlags(value as Participation));
      continue;
    }
    const flag = `--${flagOf(name)}`;
    if (value === true) parts.push(flag);
    else if (value !== false) parts.push(`${flag} ${quoted(String(value))}`);
  }
  for (const column of file.columns) parts.push(`--column ${quoted(column)}`);
  return `${parts.join(' ')} ${quoted(file.name)}\n`;
}
