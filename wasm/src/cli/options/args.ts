// SPDX-License-Identifier: Apache-2.0

// Parses arguments from the tokens of node:util. Nothing is silently accepted, and every message
// fits on one line.

import { parseArgs } from 'node:util';
import { nameOf } from '../../shared/name.js';
import { beyondText, parseNumber } from '../../shared/number.js';
import { Misuse, unknownName, type TypedOptions } from '../base/failure.js';
import type { Option, Options } from './option.js';
import { spellingHint } from './spelling.js';

/** Value of --output with which results go to standard output, as they do without the option. */
const STANDARD_OUTPUT = '-';

/** The words of a command line, without any check. */
function tokensOf(argv: readonly string[], options: Options) {
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value, letter }]) => [
        name,
        { type: value === undefined ? 'boolean' : 'string', ...(letter && { short: letter }) },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return tokens;
}

/** Options that a command line names, with their dashes, each with its values. */
export function typedOptions(argv: readonly string[], options: Options): TypedOptions {
  const typed = new Map<string, string[]>();
  for (const token of tokensOf(argv, options)) {
    if (token.kind !== 'option') continue;
    const name = `--${token.name}`;
    typed.set(name, [...(typed.get(name) ?? []), token.value ?? '']);
  }
  return typed;
}

/** Reads the number of an option that is declared to have one. */
function readNumber(name: string, text: string, { number, word }: Option): number | undefined {
  if (text === word?.text) return word.number;
  const value = beyondText(text) === undefined ? parseNumber(text) : undefined;
  const wanted = number?.(value ?? Number.NaN);
  if (wanted === undefined) return value;
  const got = `${JSON.stringify(text)}${spellingHint(text)}`;
  throw new Misuse(`--${name} must be ${wanted}, got ${got}`);
}

/** The options and file names of one command. */
export class Args {
  private constructor(
    readonly options: Options,
    private readonly values: ReadonlyMap<string, string[]>,
    private readonly numbersOf: ReadonlyMap<string, number | undefined>,
    readonly files: readonly string[],
  ) {}

  /**
   * @param elsewhere  explains why an option, given with its dashes, is unknown; undefined if it
   *                   has no explanation.
   */
  static parse(
    argv: readonly string[],
    options: Options,
    elsewhere: (option: string) => string | undefined = () => undefined,
  ): Args {
    const values = new Map<string, string[]>();
    const numbers = new Map<string, number | undefined>();
    const files: string[] = [];
    for (const token of tokensOf(argv, options)) {
      if (token.kind === 'positional') files.push(token.value);
      if (token.kind !== 'option') continue;
      const { name, rawName, value, inlineValue } = token;
      const option = Object.hasOwn(options, name) ? options[name] : undefined;
      if (option === undefined) {
        const why = elsewhere(rawName);
        if (why !== undefined)
          throw new Misuse(`unknown option ${JSON.stringify(rawName)}; ${why}`);
        const names = Object.keys(options).map((each) => `--${each}`);
        throw unknownName('option', rawName, names, '--help all lists the options');
      }
      const isFlag = option.value === undefined;
      if (isFlag && inlineValue) throw new Misuse(`${rawName} takes no value`);
      if (!isFlag && (value === undefined || (!inlineValue && value.startsWith('--')))) {
        throw new Misuse(`${rawName} needs a value`);
      }
      const before = values.get(name) ?? [];
      if (before.length > 0 && !isFlag && !option.repeats)
        throw new Misuse(`${rawName} is given twice`);
      const text = value ?? '';
      values.set(name, [...before, option.isName ? nameOf(text) : text]);
      numbers.set(name, readNumber(name, text, option));
    }
    if (values.get('output')?.[0] === STANDARD_OUTPUT) values.delete('output');
    return new Args(options, values, numbers, files);
  }

  requireNoFile(command: string): void {
    const [file] = this.files;
    if (file !== undefined) throw new Misuse(`${command} reads no file, got ${file}`);
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

  /** The option's value, one of `known`, or `fallback` when it is not given. */
  oneOf<T extends string>(name: string, known: readonly T[], fallback = known[0]!): T {
    const value = this.text(name);
    if (value === undefined) return fallback;
    if (!(known as readonly string[]).includes(value)) {
      const wanted = known.length === 1 ? known[0] : `one of ${known.join(', ')}`;
      throw new Misuse(`--${name} must be ${wanted}, got ${JSON.stringify(value)}`);
    }
    return value as T;
  }

  /** The number of an option that is declared to have one. */
  number(name: string): number | undefined {
    return this.numbersOf.get(name);
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

/** @param by  option that requires this one, if the command does not always require it. */
export function required<T>(name: string, value: T | undefined, by?: string): T {
  if (value !== undefined) return value;
  throw new Misuse(by === undefined ? `--${name} is required` : `--${by} needs --${name}`);
}
