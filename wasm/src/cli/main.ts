// SPDX-License-Identifier: Apache-2.0

// The command dp-ftrl.

import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { load } from '../index.js';
import { COMMANDS } from './commands/all.js';
import { listed } from '../shared/listed.js';
import { exitCodeOf, lineOf, Misuse, unknownName } from './base/failure.js';
import { helpOf, mainHelp, widthFor } from './help/help.js';
import { formatOfName } from './input/format.js';
import { Args, typedOptions } from './options/args.js';
import { PARAMETER_OPTIONS } from './options/mechanism.js';
import { nameLonger } from './options/horizon.js';
import type { Command } from './options/command.js';
import { ANYWHERE } from './options/option.js';
import { requireOneRoleEach } from './options/roles.js';
import { ClosedPipe, StandardOutput } from './output/output.js';
import { Interrupted } from './base/signals.js';

// Rows of a table leave little garbage at a time. Without this flag, the heap may grow to four
// times its live objects before a full collection, which takes 50 MB more and is no faster.
setFlagsFromString('--heap-growing-percent=50');

function commandOf(name: string | undefined): Command | undefined {
  return name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

/** Names of the commands that have this option. */
function commandsWith(option: string): string[] {
  const all = Object.entries(COMMANDS);
  return all.filter(([, { options }]) => Object.hasOwn(options, option)).map(([each]) => each);
}

/** Names what replaces an option that the command lacks, if anything does. */
function elsewhere(option: string, { options }: Command): string | undefined {
  const bare = option.replace(/^--/, '');
  if (Object.hasOwn(PARAMETER_OPTIONS, bare) && Object.hasOwn(options, 'strategy')) {
    return `save it by dp-ftrl optimize ${option} ... --output FILE, and name it by --strategy FILE`;
  }
  if (bare === 'range') return 'the range of a column stands in --columns NAME=LOW:HIGH';
  if (bare === 'mechanism' && Object.hasOwn(options, 'strategy'))
    return '--strategy takes its name';
  if (bare === 'descent' && Object.hasOwn(options, 'algorithm')) return 'it is --algorithm dp-gd';
  const others = bare === option ? [] : commandsWith(bare);
  if (others.length === 0) return undefined;
  return `${option} is an option of ${listed(others, 'and')}`;
}

/** Error for an unknown command, with a hint. */
function unknownCommand(name: string): Misuse {
  const known = Object.keys(COMMANDS);
  if (name.startsWith('-')) return unknownName('option', name, [...known, '--help', '--version']);
  if (formatOfName(name) !== undefined || existsSync(name)) {
    const hint = `dp-ftrl count ... ${name} counts its rows, and dp-ftrl --help lists the commands`;
    return new Misuse(
      `unknown command ${JSON.stringify(name)}; a command comes before the file: ${hint}`,
    );
  }
  if (['plot', 'chart', 'draw'].includes(name)) {
    const drawing = listed(commandsWith('plot'), 'and');
    return new Misuse(
      `unknown command ${JSON.stringify(name)}; use --plot FILE.svg with ${drawing}`,
    );
  }
  return unknownName('command', name, [...known, '--help']);
}

async function run(name: string | undefined, argv: string[]): Promise<void> {
  const print = (text: string) => new StandardOutput().write(text);
  const width = widthFor(process.stdout);
  if (name === '--help' || name === '-h' || (name === 'help' && argv.length === 0)) {
    return print(mainHelp(COMMANDS, width));
  }
  if (name === 'help') return run(argv[0], [...argv.slice(1), '--help']);
  if (name === '--version' || name === '-V') return print(`${PACKAGE_VERSION}\n`);
  const known = Object.keys(COMMANDS);
  if (name === undefined) throw new Misuse(`give a command: ${known.join(', ')}, or --help`);
  const command = commandOf(name);
  if (command === undefined) throw unknownCommand(name);
  const args = Args.parse(argv, command.options, (option) => elsewhere(option, command));
  if (args.has('version')) return print(`${PACKAGE_VERSION}\n`);
  if (args.has('help')) {
    const isFull = args.files.includes('all');
    const catalogue = isFull ? { catalogue: (await load()).strategies } : {};
    return print(helpOf(name, command, { width, ...catalogue }));
  }
  await requireOneRoleEach(args);
  return command.run(args, COMMANDS);
}

async function main(): Promise<number> {
  const [name, ...argv] = process.argv.slice(2);
  try {
    await run(name, argv);
    return 0;
  } catch (error) {
    await nameLonger(error);
    const command = commandOf(name);
    const who = command ? `dp-ftrl ${name}` : 'dp-ftrl';
    const typed = typedOptions(argv, command?.options ?? ANYWHERE);
    const line = `${who}: ${lineOf(error, typed)}\n`;
    // An intentional end (closed pipe or signal) needs a message only if something was released.
    const isAsked = error instanceof ClosedPipe || error instanceof Interrupted;
    if (!isAsked || error.mustBeSaid) {
      await new Promise((resolve) => process.stderr.write(line, resolve));
    }
    if (error instanceof ClosedPipe) return 0;
    if (error instanceof Interrupted) {
      process.kill(process.pid, error.signal);
      await new Promise(() => {});
    }
    return exitCodeOf(error);
  }
}

// A failed write is reported to its caller; without a listener, its event would also be thrown.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

// Exits without waiting for standard input, which may still be open. All writes have completed.
void main().then((code) => process.exit(code));
