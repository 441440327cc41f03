// SPDX-License-Identifier: Apache-2.0

// Everything the page can be set to, and how each setting is read from and written as text. The
// controls and the address bar share these rules, so that both report the same mistakes.

import type { LossName, MechanismName, Neighbours, StreamName } from 'dp-ftrl';

export interface Settings {
  mechanism: MechanismName;
  compare: MechanismName | 'none';
  epsilon: number;
  delta: number;
  neighbours: Neighbours;
  clipNorm: number;
  /** 'synthetic', 'own', or the name of an example. */
  source: string;
  /** Columns to sum; empty: the page's choice. */
  columns: string[];
  /** Column to learn; '-': none; '': the page's choice. */
  label: string;
  stream: StreamName;
  numSteps: number;
  dimension: number;
  streamSeed: number;
  loss: LossName;
  /** null: the value of the regret theorem. */
  lambda: number | null;
  noiseSeed: number;
  /** Steps a second; Infinity: as many as the machine can. */
  speed: number;
  /** 0: the norm; otherwise the 1-based coordinate. */
  sums: number;
  learning: 'loss' | 'regret' | 'accuracy';
  /** Hide what a deployment keeps secret. */
  deployed: boolean;
}

export type Key = keyof Settings;

/** A value that a setting cannot take. */
export class SettingError extends Error {
  constructor(
    readonly key: Key,
    message: string,
  ) {
    super(message);
  }
}

export const mechanismNames: readonly MechanismName[] = [
  'square-root',
  'honaker',
  'tree',
  'output',
  'independent',
];

export const maxSteps = 100_000;
export const maxDimension = 64;
/** The page remembers every number it may show: 8 bytes each, true and noisy. */
export const maxEntries = 4_000_000;
export const speeds: readonly number[] = [10, 40, 120, 500, 2000, 10_000, Infinity];

export const defaults: Readonly<Settings> = {
  mechanism: 'square-root',
  compare: 'none',
  epsilon: 1,
  delta: 1e-6,
  neighbours: 'zero-out',
  clipNorm: 1,
  source: 'synthetic',
  columns: [],
  label: '',
  stream: 'stationary',
  numSteps: 1024,
  dimension: 4,
  streamSeed: 12,
  loss: 'logistic',
  lambda: null,
  noiseSeed: 1,
  speed: 120,
  sums: 1,
  learning: 'loss',
  deployed: false,
};

export interface Rule<K extends Key> {
  /** Name in the address. */
  readonly name: string;
  read(text: string): Settings[K];
  write(value: Settings[K]): string;
}

function quote(text: string): string {
  return text === '' ? 'nothing' : `“${text}”`;
}

export const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

function readNumber<K extends Key>(
  key: K,
  name: string,
  constraint: string,
  accepts: (value: number) => boolean,
): (text: string) => number {
  return (text) => {
    const value = decimal.test(text.trim()) ? Number(text) : NaN;
    if (!Number.isFinite(value) || !accepts(value)) {
      throw new SettingError(key, `${name} must be ${constraint}, got ${quote(text.trim())}`);
    }
    return value;
  };
}

function integer<K extends Key>(key: K, name: string, low: number, high: number) {
  const range = `a whole number from ${low} to ${high.toLocaleString('en-US')}`;
  return {
    name,
    read: readNumber(key, name, range, (v) => Number.isInteger(v) && v >= low && v <= high),
    write: String,
  };
}

function choice<K extends Key, T extends string>(key: K, name: string, values: readonly T[]) {
  return {
    name,
    read(text: string): T {
      const found = values.find((value) => value === text);
      if (found === undefined) {
        throw new SettingError(
          key,
          `${name} must be one of ${values.join(', ')}, got ${quote(text)}`,
        );
      }
      return found;
    },
    write: String,
  };
}

const positive = 'a finite number > 0';

export const rules: { readonly [K in Exclude<Key, 'columns'>]: Rule<K> } = {
  mechanism: choice('mechanism', 'mechanism', mechanismNames),
  compare: choice('compare', 'compare', ['none', ...mechanismNames]),
  epsilon: {
    name: 'epsilon',
    read: readNumber('epsilon', 'epsilon', positive, (v) => v > 0),
    write: String,
  },
  delta: {
    name: 'delta',
    read: readNumber('delta', 'delta', '> 0 and < 1', (v) => v > 0 && v < 1),
    write: (value) => (value < 1e-3 ? value.toExponential() : String(value)),
  },
  neighbours: choice('neighbours', 'neighbours', ['zero-out', 'replace-one'] as const),
  clipNorm: {
    name: 'clip',
    read: readNumber('clipNorm', 'clip', positive, (v) => v > 0),
    write: String,
  },
  source: { name: 'data', read: (text) => text, write: String },
  label: { name: 'label', read: (text) => text, write: String },
  stream: choice('stream', 'stream', ['stationary', 'drifting', 'switching'] as const),
  numSteps: integer('numSteps', 'steps', 1, maxSteps),
  dimension: integer('dimension', 'dimension', 1, maxDimension),
  streamSeed: integer('streamSeed', 'stream-seed', 0, Number.MAX_SAFE_INTEGER),
  loss: choice('loss', 'loss', ['logistic', 'squared'] as const),
  lambda: {
    name: 'lambda',
    read(text) {
      if (text.trim() === 'auto') return null;
      return readNumber('lambda', 'lambda', `“auto” or ${positive}`, (v) => v > 0)(text);
    },
    write: (value) => (value === null ? 'auto' : String(value)),
  },
  noiseSeed: integer('noiseSeed', 'noise-seed', 0, Number.MAX_SAFE_INTEGER),
  speed: {
    name: 'speed',
    read(text) {
      const value = text === 'max' ? Infinity : Number(text);
      if (!speeds.includes(value)) {
        const known = speeds.map((v) => (v === Infinity ? 'max' : v)).join(', ');
        throw new SettingError('speed', `speed must be one of ${known}, got ${quote(text)}`);
      }
      return value;
    },
    write: (value) => (value === Infinity ? 'max' : String(value)),
  },
  sums: {
    name: 'sums',
    read(text) {
      if (text === 'norm') return 0;
      return readNumber(
        'sums',
        'sums',
        '“norm” or a coordinate, counted from 1',
        (v) => Number.isInteger(v) && v >= 1,
      )(text);
    },
    write: (value) => (value === 0 ? 'norm' : String(value)),
  },
  learning: choice('learning', 'learning', ['loss', 'regret', 'accuracy'] as const),
  deployed: {
    name: 'secrets',
    read: (text) => choice('deployed', 'secrets', ['shown', 'hidden']).read(text) === 'hidden',
    write: (value) => (value ? 'hidden' : 'shown'),
  },
};

/** What two settings together rule out. */
export function checkTogether(settings: Settings, dimension: number): void {
  if (settings.numSteps * dimension > maxEntries) {
    throw new SettingError(
      'numSteps',
      `steps × dimension must be at most ${maxEntries.toLocaleString('en-US')}, ` +
        `got ${settings.numSteps.toLocaleString('en-US')} × ${dimension}`,
    );
  }
}
