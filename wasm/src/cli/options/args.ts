// SPDX-License-Identifier: Apache-2.0

// Parses arguments from node:util's tokens, with one-line messages and nothing silently accepted.

import { parseArgs } from 'node:util';
import { nameOf } from '../../shared/name.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse, unknownName } from '../base/failure.js';
import { spellingHint } from './spelling.js';

export type Kind = 'flag' | 'value' | 'values';
export type Known = Readonly<Record<string, Kind>>;

/** Largest epsilon: one row may then make an output e^1048576 times as likely. */
const MAX_EPSILON = 2 ** 20;

/** Value of --output that leaves it out. */
const STANDARD_OUTPUT = '-';

/** Flags of every sub-command. */
export const ANYWHERE = ['help', 'version'];

/** Letters that stand for options. */
const LETTERS: Readonly<Record<string, string>> = {
  epsilon: 'e',
  delta: 'd',
  output: 'o',
  help: 'h',
  version: 'V',
};

/** Returns the options that a command line names, with their dashes. */
export function typedOptions(argv: readonly string[]): string[] {
  return argv.map((word) => {
    const letter = /^-([^-])/.exec(word)?.[1];
    const name = Object.keys(LETTERS).find((each) => LETTERS[each] === letter);
    return name === undefined ? word.split('=')[0]! : `--${name}`;
  });
}

/** Options with names of columns or categories. */
const OF_NAMES: readonly string[] = [
  ...['column', 'label', 'by', 'user-column', 'time-column'],
  ...['range', 'group', 'domain'],
];

/** The options and file names of one sub-command. */
export class Args {
  private constructor(
    private readonly values: ReadonlyMap<string, string[]>,
    readonly files: readonly string[],
  ) {}

  /**
   * @param elsewhere  returns why an unknown option, given with its dashes, is unknown, if it can.
   */
  static parse(
    argv: readonly string[],
    known: Known,
    elsewhere: (option: string) => string | undefined = () => undefined,
  ): Args {
    const all: Known = { ...known, ...Object.fromEntries(ANYWHERE.map((it) => [it, 'flag'])) };
    const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {};
    for (const [name, kind] of Object.entries(all)) {
      const short = LETTERS[name];
      options[name] = { type: kind === 'flag' ? 'boolean' : 'string', ...(short && { short }) };
    }
    const { tokens } = parseArgs({
      args: [...argv],
      options,
      strict: false,
      allowPositionals: true,
      tokens: true,
    });
    const values = new Map<string, string[]>();
    const files: string[] = [];
    for (const token of tokens) {
      if (token.kind === 'positional') files.push(token.value);
      if (token.kind !== 'option') continue;
      const { name, rawName, value, inlineValue } = token;
      const kind: Kind | undefined = ANYWHERE.includes(name) ? 'flag' : known[name];
      if (kind === undefined || !Object.hasOwn(options, name)) {
        const why = elsewhere(rawName);
        if (why !== undefined)
          throw new Misuse(`unknown option ${JSON.stringify(rawName)}; ${why}`);
        const names = [...ANYWHERE, ...Object.keys(known)].map((each) => `--${each}`);
        throw unknownName('option', rawName, names, '--help all lists the options');
      }
      if (kind === 'flag' && inlineValue) throw new Misuse(`${rawName} takes no value`);
      if (kind !== 'flag' && (value === undefined || (!inlineValue && value.startsWith('--')))) {
        throw new Misuse(`${rawName} needs a value`);
      }
      const before = values.get(name) ?? [];
      if (before.length > 0 && kind === 'value') throw new Misuse(`${rawName} is given twice`);
      const text = value ?? '';
      values.set(name, [...before, OF_NAMES.includes(name) ? nameOf(text) : text]);
    }
    if (values.get('output')?.[0] === STANDARD_OUTPUT) values.delete('output');
    return new Args(values, files);
  }

  requireNoFile(command: string): void {
    const [file] = this.files;
    if (file !== undefined) throw new Misuse(`${command} reads no file, got ${file}`);
  }

  /** Returns a copy with the value of an option that the command supplies itself. */
  with(name: string, value: string): Args {
    return new Args(new Map(this.values).set(name, [value]), this.files);
  }

  has(name: string): boolean {
    return this.values.has(name);
  }

  text(name: string): string | undefined {
    return this.values.get(name)?.[0];
  }

  texts(name: string): string[] {
    return this.values.get(name) ?? [];
  }

  /** Returns the option's value, one of `known`, or `fallback` when it is not given. */
  oneOf<T extends string>(name: string, known: readonly T[], fallback = known[0]!): T {
    const value = this.text(name);
    if (value === undefined) return fallback;
    if (!(known as readonly string[]).includes(value)) {
      const wanted = known.length === 1 ? known[0] : `one of ${known.join(', ')}`;
      throw new Misuse(`--${name} must be ${wanted}, got ${JSON.stringify(value)}`);
    }
    return value as T;
  }

  /** A finite number that satisfies `holds`, or undefined when the option is not given. */
  number(name: string, wanted: string, holds: (value: number) => boolean): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parseNumber(text);
    if (value === undefined || !holds(value)) {
      const got = `${JSON.stringify(text)}${spellingHint(text)}`;
      throw new Misuse(`--${name} must be ${wanted}, got ${got}`);
    }
    return value;
  }

  /** A whole number of at least 1. */
  count(name: string): number | undefined {
    const wanted = 'a whole number of at least 1';
    return this.number(name, wanted, (value) => Number.isSafeInteger(value) && value >= 1);
  }

  /** Numbers separated by commas. */
  numbers(name: string): number[] | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const values = text.split(',').map((part) => parseNumber(part.trim()));
    if (values.includes(undefined)) {
      const wrong = text.split(',')[values.indexOf(undefined)]!;
      const got = `${JSON.stringify(text)}${spellingHint(wrong)}`;
      throw new Misuse(`--${name} must be numbers separated by commas, got ${got}`);
    }
    return values as number[];
  }

  positive(name: string): number | undefined {
    return this.number(name, 'a positive number', (value) => value > 0);
  }

  /** An epsilon, or a limit of epsilons. */
  epsilon(name: string): number | undefined {
    const value = this.positive(name);
    if (value === undefined || value <= MAX_EPSILON) return value;
    throw new Misuse(`--${name} must be at most 2^20, got ${this.text(name)}`);
  }

  probability(name: string): number | undefined {
    return this.number(name, 'a number between 0 and 1', (value) => value > 0 && value < 1);
  }

  steps(): number | undefined {
    const wanted = 'a whole number from 1 to 2^40';
    return this.number('steps', wanted, (n) => Number.isInteger(n) && n >= 1 && n <= 2 ** 40);
  }

  seed(): bigint | undefined {
    const text = this.text('seed');
    if (text === undefined) return undefined;
    if (!/^\d{1,20}$/.test(text) || BigInt(text) >= 1n << 64n) {
      const got = JSON.stringify(text);
      throw new Misuse(`--seed must be a whole number from 0 to 2^64 - 1, got ${got}`);
    }
    return BigInt(text);
  }
}

/** @param by  option that requires this one, if a command without it does not. */
export function required<T>(name: string, value: T | undefined, by?: string): T {
  if (value !== undefined) return value;
  throw new Misuse(by === undefined ? `--${name} is required` : `--${by} needs --${name}`);
}
