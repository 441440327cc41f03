// SPDX-License-Identifier: Apache-2.0

// The command dp-ftrl.

import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { load } from '../index.js';
import * as bounds from './commands/bounds.js';
import * as calibrate from './commands/calibrate.js';
import * as choose from './commands/choose.js';
import * as compare from './commands/compare.js';
import * as completion from './commands/completion.js';
import * as count from './commands/count.js';
import * as error from './commands/error.js';
import * as example from './commands/example.js';
import * as histogram from './commands/histogram.js';
import * as learn from './commands/learn.js';
import * as moments from './commands/moments.js';
import * as optimize from './commands/optimize.js';
import * as page from './commands/page.js';
import * as predict from './commands/predict.js';
import * as queries from './commands/queries.js';
import * as release from './commands/release.js';
import { listed } from '../shared/listed.js';
import { exitCodeOf, lineOf, Misuse, unknownName } from './base/failure.js';
import { helpOf, MAIN_HELP, wantsAll } from './help/help.js';
import { formatOfName } from './input/format.js';
import { Args, typedOptions, type Known } from './options/args.js';
import { nameLonger } from './options/horizon.js';
import { requireOneRoleEach } from './options/roles.js';
import { ClosedPipe, StandardOutput } from './output/output.js';
import { Interrupted } from './base/signals.js';

// The rows of a table leave little garbage at a time. Without this, the heap may grow to four times
// its live objects before a full collection, which takes 50 MB more and is no faster.
setFlagsFromString('--heap-growing-percent=50');

interface Command {
  options: Known;
  /** @param commands  all commands, by name. */
  run(args: Args, commands: Readonly<Record<string, Command>>): Promise<void>;
}

const COMMANDS = {
  count,
  release,
  moments,
  histogram,
  learn,
  predict,
  queries,
  choose,
  error,
  compare,
  optimize,
  bounds,
  calibrate,
  page,
  completion,
  example,
} satisfies Record<string, Command>;

function isCommand(name: string): name is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, name);
}

/** Names of the commands that have this option. */
function commandsWith(option: string): string[] {
  const all: [string, Command][] = Object.entries(COMMANDS);
  return all.filter(([, { options }]) => Object.hasOwn(options, option)).map(([each]) => each);
}

/** Says which other commands have an option that this command lacks. */
function elsewhere(option: string): string | undefined {
  const bare = option.replace(/^--/, '');
  const others = bare === option ? [] : commandsWith(bare);
  if (others.length === 0) return undefined;
  return `${option} is an option of ${listed(others, 'and')}`;
}

/** Returns the error for an unknown command, with a hint. */
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
  if (name === '--help' || name === '-h' || (name === 'help' && argv.length === 0)) {
    return print(MAIN_HELP);
  }
  if (name === 'help') return run(argv[0], [...argv.slice(1), '--help']);
  if (name === '--version' || name === '-V') return print(`${PACKAGE_VERSION}\n`);
  const known = Object.keys(COMMANDS);
  if (name === undefined) throw new Misuse(`give a command: ${known.join(', ')}, or --help`);
  if (!isCommand(name)) throw unknownCommand(name);
  const args = Args.parse(argv, COMMANDS[name].options, elsewhere);
  if (args.has('version')) return print(`${PACKAGE_VERSION}\n`);
  if (args.has('help')) {
    const isFull = wantsAll(args.files);
    const catalogue = (await load()).strategies;
    return print(helpOf(name, { isFull, catalogue }));
  }
  await requireOneRoleEach(name, args);
  return (COMMANDS[name] as Command).run(args, COMMANDS);
}

async function main(): Promise<number> {
  const [name, ...argv] = process.argv.slice(2);
  try {
    await run(name, argv);
    return 0;
  } catch (error) {
    await nameLonger(error);
    const who = name !== undefined && isCommand(name) ? `dp-ftrl ${name}` : 'dp-ftrl';
    const typed = typedOptions(argv);
    const line = `${who}: ${lineOf(error, (option) => typed.includes(option))}\n`;
    // An intentional end (closed pipe or signal) needs a message only if steps are released.
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

// A write to a closed pipe rejects for its caller; without a listener the event would be uncaught.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

// Exits without waiting for standard input, which may still be open. All writes have completed.
void main().then((code) => process.exit(code));
