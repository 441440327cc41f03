// SPDX-License-Identifier: Apache-2.0

// Transcripts: commands as typed, each followed by what it prints.
//
//   $ E='--epsilon 1'           before the first title: words and files of every section
//   $ cat > rows.csv <<END
//   x
//   1
//   END
//
//   # A title                   begins a section, in a folder with these files alone
//   $ dp-ftrl release $E ...    a command; lines up to END follow <<END
//   ! dp-ftrl release: ...      a line of standard error
//   step,x,std                  a line of standard output
//   [2]                         the exit code, if it is not 0
//
// In what is expected, ... stands for any text within a line and, alone, for any number of lines.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { cli, dpFtrl, run } from './consumer.mjs';

const WORDS = /^([A-Z]+)='([^']*)'$/;
const FILE = /^cat > (\S+) <<END$/;

/** Separates the lines of a command from the lines that it prints. */
function commandOf(lines) {
  const line = lines[0].slice(2);
  const end = line.endsWith('<<END') ? lines.indexOf('END') : 0;
  if (end < 0) throw new Error(`no END follows: ${line}`);
  const input = lines.slice(1, end).map((each) => `${each}\n`);
  const printed = lines
    .slice(end + 1)
    .join('\n')
    .trimEnd();
  return { line, input: input.join(''), expected: printed === '' ? [] : printed.split('\n') };
}

/** Reads a transcript: sections with a title, the first with none, and their commands. */
export function parse(text) {
  const sections = [{ title: undefined, commands: [] }];
  let lines;
  let isInput = false;
  for (const line of text.split('\n')) {
    if (!isInput && line.startsWith('# ')) {
      sections.push({ title: line.slice(2), commands: [] });
      lines = undefined;
    } else if (!isInput && line.startsWith('$ ')) {
      sections.at(-1).commands.push((lines = [line]));
      isInput = line.endsWith('<<END');
    } else {
      if (line === 'END') isInput = false;
      if (lines) lines.push(line);
      else if (line !== '') throw new Error(`no command prints this: ${line}`);
    }
  }
  const [{ commands: files }, ...rest] = sections;
  return {
    files: files.map(commandOf),
    sections: rest.map(({ title, commands }) => ({ title, commands: commands.map(commandOf) })),
  };
}

/** Writes what `parse` reads. */
export function textOf({ files, sections }) {
  const block = ({ line, input, expected }) =>
    [`$ ${line}`, ...(line.endsWith('<<END') ? [`${input}END`] : []), ...expected, ''].join('\n');
  const texts = sections.map(({ title, commands }) =>
    [`# ${title}\n`, ...commands.map(block)].join(''),
  );
  return [files.map(block).join(''), ...texts].join('\n');
}

const literal = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Whether lines are those expected. */
export function matches(expected, lines) {
  const pattern = expected.map((line) =>
    line === '...' ? '(?:[^\n]*\n)*' : `${line.split('...').map(literal).join('[^\n]*')}\n`,
  );
  return new RegExp(`^${pattern.join('')}$`).test(lines.map((line) => `${line}\n`).join(''));
}

/** Words and redirections of a plain call of the command; undefined if a shell must read it. */
function callOf(line) {
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g);
  if (words[0] !== 'dp-ftrl' || /[|;&$`\\*?~]/.test(line.replace(/'[^']*'/g, ''))) return undefined;
  const call = { args: [], from: undefined, to: undefined };
  const given = words.slice(1).filter((word) => word !== '<<END');
  for (let i = 0; i < given.length; ++i) {
    if (given[i] === '<') call.from = given[++i];
    else if (given[i] === '>') call.to = given[++i];
    else call.args.push(given[i].replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
  }
  return call;
}

async function resultOf({ line, input }, cwd) {
  const call = callOf(line);
  if (!call) {
    const env = { ...process.env, PATH: [dirname(cli), process.env.PATH].join(delimiter) };
    return run('bash', ['-c', input === '' ? line : `${line}\n${input}END\n`], { cwd, env });
  }
  const { args, from, to } = call;
  const given = from === undefined ? input : readFileSync(join(cwd, from));
  const result = await dpFtrl(args, { cwd, input: given });
  if (to === undefined) return result;
  writeFileSync(join(cwd, to), result.stdout);
  return { ...result, stdout: '' };
}

/** Runs a command in a folder, and returns the lines that a transcript shows for it. */
async function printedBy({ line: typed, input }, cwd, words) {
  const line = typed.replace(/\$([A-Z]+)/g, (whole, name) => words.get(name) ?? whole);
  const [, name, value] = WORDS.exec(line) ?? [];
  if (name !== undefined) {
    words.set(name, value);
    return [];
  }
  const [, file] = FILE.exec(line) ?? [];
  if (file !== undefined) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true });
    writeFileSync(join(cwd, file), input);
    return [];
  }
  const { code, stdout, stderr } = await resultOf({ line, input }, cwd);
  const linesOf = (text) => (text === '' ? [] : text.replaceAll(`${cwd}/`, '').split('\n'));
  const [errors, output] = [stderr, stdout].map((text) => linesOf(text.trimEnd()));
  return [...errors.map((line) => `! ${line}`), ...output, ...(code === 0 ? [] : [`[${code}]`])];
}

/** Empties a folder, writes the files and runs the commands of a section in it. */
export async function runSection({ files, section }, cwd, found) {
  for (const name of readdirSync(cwd)) rmSync(join(cwd, name), { recursive: true });
  const words = new Map();
  for (const command of files) await printedBy(command, cwd, words);
  for (const command of section.commands) found(command, await printedBy(command, cwd, words));
}
