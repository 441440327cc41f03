// SPDX-License-Identifier: Apache-2.0

// All settings of the page, and how each is parsed from and formatted as text. The controls and the
// address bar share these rules, so that both report the same errors.

import type { LossName, MechanismName, MechanismParameters, Neighbours, StreamName } from 'dp-ftrl';
import { mechanismNames } from './mechanisms.ts';
import {
  libraryParameters,
  pairs,
  parameterKey,
  parameterKeys,
  parameterSpecs,
  partsOf,
  settingsOf,
  sides,
  type ParameterKey,
  type ParameterValue,
  type Side,
} from './parameters.ts';
import { queriesNames } from '../base/route.ts';
import { buckets, idKinds, timeFormats, zoneName, type Roles } from '../data/contributions.ts';
import {
  DEFAULT_CLIP,
  DEFAULT_MECHANISM,
  NEIGHBOURS,
  OBJECTIVES,
} from '../../../wasm/src/shared/defaults.ts';
import { MARKS_WANTED, marksOf, POLICIES } from '../../../wasm/src/shared/missing.ts';
import { parseNumber } from '../../../wasm/src/shared/number.ts';
import {
  maxCategories,
  otherCategory,
  readDomain,
  readRange,
  readTogether,
  type StatisticChoice,
} from '../data/statistic-choice.ts';
import type { Units } from '../data/units.ts';
import { maxCount, queryKinds, readCounts, sizes, type QueryKind } from '../data/histogram.ts';

const participationNames = ['single', 'epochs', 'separated'] as const;
const workloadNames = ['total', 'window', 'decay', 'momentum', 'active'] as const;
const statisticNames = ['moments', 'histogram', 'sums'] as const;

/** Largest number of releases whose costs the page adds. */
export const maxReleases = 10_000;

export interface Settings extends Record<ParameterKey, ParameterValue>, StatisticChoice, Roles {
  mechanism: MechanismName;
  compare: MechanismName | 'none';
  epsilon: number;
  delta: number;
  neighbours: Neighbours;
  /** Pattern of the steps to which one user may contribute. */
  participation: (typeof participationNames)[number];
  /** Maximum number of records per user, or number of epochs; ignored for 'single'. */
  participations: number;
  /** Minimum separation j - i of two steps to which one user contributes; for 'separated'. */
  minSeparation: number;
  /**
   * Sums to release: of all records so far, of the latest ones, or of records whose weights fade or
   * build up; or counts of active people.
   */
  workload: (typeof workloadNames)[number];
  /** Length of the window, in steps. */
  window: number;
  /** Factor by which a decaying sum shrinks from one step to the next. */
  decay: number;
  /** Momentum of a sum: share of a step's increment that the next step adds again. */
  sumMomentum: number;
  /** Epsilon that all releases may spend together, at the same delta; null if no budget is set. */
  budget: number | null;
  /** Number of composed releases, each with the guarantee of this release. */
  releases: number;
  clipNorm: number;
  /** 'synthetic', 'own', or the name of an example. */
  source: string;
  /** Columns to sum; empty to let the page choose. */
  columns: string[];
  /** Units of measure, by column. */
  units: Units;
  /** Column to learn; '-' for none; '' to let the page choose, which means none for a table. */
  label: string;
  stream: StreamName;
  numSteps: number;
  dimension: number;
  streamSeed: number;
  loss: LossName;
  /** Learning rule applied to the totals; 'both' compares the two. */
  rule: 'ftrl' | 'descent' | 'both';
  /** Fraction of its last move that gradient descent repeats. */
  momentum: number;
  /** Weight of the regulariser; null for the value from the regret theorem. */
  lambda: number | null;
  noiseSeed: number;
  /** Steps per second; Infinity for full speed. */
  speed: number;
  /** The sum to show: 0 for the norm, otherwise a 1-based coordinate. */
  sums: number;
  learning: 'loss' | 'regret' | 'accuracy';
  /** Hides everything that a deployment keeps secret. */
  deployed: boolean;
  /** Draws the noise of other runs beside that of this run. */
  ghosts: boolean;
  /** Draws the simultaneous band around the band of each step. */
  simultaneous: boolean;
  /** Horizontal axis of the errors. */
  errors: 'linear' | 'log';
  /** Draws the counter of randomised response among the errors. */
  local: boolean;
  /** Error that ranks the mechanisms. */
  ranking: 'max' | 'mean';
  /** Counts of the histogram, separated by commas. */
  histogram: string;
  /** Kind of queries on the histogram. */
  queries: QueryKind;
  queriesView: 'answers' | 'errors';
  /** Statistic of the same records, drawn beside their sums. */
  statistic: (typeof statisticNames)[number];
}

export type SettingKey = keyof Settings;

/** True for settings made of several parts of the address. */
export const isListed = (key: SettingKey): key is 'columns' | 'units' =>
  ['columns', 'units'].includes(key);

/** Error for a value that a setting cannot take. */
export class SettingError extends Error {
  constructor(
    readonly key: SettingKey,
    message: string,
  ) {
    super(message);
  }
}

/** Error for a setting that is incomplete until another setting has been entered. */
export class IncompleteError extends SettingError {}

/**
 * Mechanisms allow longer horizons, but the page shows every step, and more steps would fill its
 * memory.
 */
const maxSteps = 1_000_000;
const maxDimension = 64;
/** The page keeps every number that it may show, true and noisy, at 8 bytes each. */
const maxEntries = 4_000_000;
export const speeds: readonly number[] = [10, 40, 120, 500, 2000, 10_000, Infinity];

/**
 * Leaves the choice of columns to the page, which knows what is public about the columns it
 * chooses.
 */
export const noStatistic: Readonly<StatisticChoice> = {
  measured: '',
  range: '',
  category: '',
  domain: '',
  together: '',
};

export const defaults: Readonly<Settings> = {
  mechanism: DEFAULT_MECHANISM,
  compare: 'none',
  epsilon: 1,
  delta: 1e-6,
  neighbours: NEIGHBOURS[0],
  participation: 'single',
  participations: 4,
  minSeparation: 1,
  workload: 'total',
  window: 30,
  decay: 0.98,
  sumMomentum: 0.9,
  budget: null,
  releases: 4,
  clipNorm: DEFAULT_CLIP,
  source: 'synthetic',
  columns: [],
  units: {},
  label: '',
  person: '',
  ids: 'texts',
  time: '',
  timeFormat: 'any',
  bucket: 'day',
  timeZone: 'UTC',
  from: '',
  to: '',
  missing: POLICIES[0],
  na: '',
  stream: 'stationary',
  numSteps: 1024,
  dimension: 4,
  streamSeed: 12,
  loss: 'logistic',
  rule: 'ftrl',
  momentum: 0.9,
  lambda: null,
  noiseSeed: 1,
  speed: 120,
  sums: 1,
  learning: 'loss',
  deployed: false,
  ghosts: false,
  simultaneous: false,
  errors: 'linear',
  local: false,
  ranking: 'max',
  histogram: '12,30,45,38,22,9,4,3,7,18,33,41,29,14,6,2',
  queries: 'ranges',
  queriesView: 'answers',
  statistic: 'moments',
  ...noStatistic,
  ...settingsOf('a', {}),
  ...settingsOf('b', {}),
};

/** Settings that change what the page shows, but not the run. */
const viewKeys = [
  'speed',
  'sums',
  'learning',
  'deployed',
  'ghosts',
  'simultaneous',
  'errors',
  'local',
  'ranking',
  'units',
  'budget',
  'releases',
  'histogram',
  'queries',
  'queriesView',
  'statistic',
  'measured',
  'range',
  'category',
  'domain',
  'together',
] as const satisfies readonly SettingKey[];

type ViewKey = (typeof viewKeys)[number];

export const isView = (key: SettingKey): key is ViewKey =>
  (viewKeys as readonly SettingKey[]).includes(key);

export function viewsOf(settings: Settings): Pick<Settings, ViewKey> {
  return Object.fromEntries(viewKeys.map((key) => [key, settings[key]])) as Pick<Settings, ViewKey>;
}

/**
 * Settings that come from the user's own table, or would reveal it together with its releases.
 * Addresses omit them, because browsers write addresses to their history.
 */
export const ownKeys = [
  'columns',
  'units',
  'label',
  'person',
  'time',
  'from',
  'to',
  'na',
  'numSteps',
  'clipNorm',
  'noiseSeed',
  'measured',
  'range',
  'category',
  'domain',
] as const satisfies readonly SettingKey[];

/**
 * The settings that the address omits because they belong to the user's own data; empty for other
 * data.
 */
export function restOf(settings: Settings): Partial<Settings> {
  if (settings.source !== 'own') return {};
  return Object.fromEntries(ownKeys.map((key) => [key, settings[key]]));
}

/**
 * Adds the settings that an address omitted because they belong to the user's own data. If the user
 * typed any of these settings, only the seed is added.
 */
export function complete(settings: Settings, rest: Partial<Settings>): void {
  if (settings.source !== 'own') return;
  const isDefault = (key: SettingKey): boolean =>
    JSON.stringify(settings[key]) === JSON.stringify(defaults[key]);
  const { noiseSeed } = rest;
  if (ownKeys.every(isDefault)) Object.assign(settings, rest);
  else if (noiseSeed !== undefined && isDefault('noiseSeed')) settings.noiseSeed = noiseSeed;
}

/** Initial settings of the laboratory: a learner, which runs for about 25 seconds. */
export const opening: Readonly<Settings> = {
  ...defaults,
  dimension: 2,
  numSteps: 12_000,
  speed: 500,
  learning: 'regret',
};

export interface SettingRule<K extends SettingKey> {
  /** Name in the address. */
  readonly name: string;
  read(text: string): Settings[K];
  write(value: Settings[K]): string;
}

function quote(text: string): string {
  return text === '' ? 'nothing' : `“${text}”`;
}

function readNumber<K extends SettingKey>(
  key: K,
  name: string,
  constraint: string,
  accepts: (value: number) => boolean,
): (text: string) => number {
  return (text) => {
    const value = parseNumber(text.trim());
    if (value === undefined || !accepts(value)) {
      throw new SettingError(key, `${name} must be ${constraint}, got ${quote(text.trim())}`);
    }
    return value;
  };
}

function integer<K extends SettingKey>(key: K, name: string, low: number, high: number) {
  const range = `a whole number from ${low} to ${high.toLocaleString('en-US')}`;
  return {
    name,
    read: readNumber(key, name, range, (v) => Number.isInteger(v) && v >= low && v <= high),
    write: String,
  };
}

function choice<K extends SettingKey, T extends string>(
  key: K,
  name: string,
  values: readonly T[],
) {
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

/** Rule of a setting that shows or hides something; `meaning` is the value that shows it. */
function shown<K extends SettingKey>(key: K, name: string, meaning: boolean) {
  const { read } = choice(key, name, ['shown', 'hidden']);
  return {
    name,
    read: (text: string): boolean => (read(text) === 'shown') === meaning,
    write: (value: boolean): string => (value === meaning ? 'shown' : 'hidden'),
  };
}

/** Texts that state what is public about a statistic; empty if not given. */
export const publicTexts = ['range', 'domain', 'together'] as const;
export type PublicText = (typeof publicTexts)[number];

function publicText<K extends PublicText>(
  key: K,
  constraint: string,
  accepts: (text: string) => boolean,
) {
  return {
    name: key,
    read(text: string): string {
      const given = text.trim();
      if (given === '' || accepts(given)) return given;
      throw new SettingError(key, `${key} must be ${constraint}, got ${quote(given)}`);
    },
    write: String,
  };
}

const positive = 'a finite number > 0';

const flags: Readonly<Record<string, boolean | null>> = { auto: null, yes: true, no: false };

function readList(key: ParameterKey, name: string): (text: string) => string {
  return (text) => {
    const parts = text.split(/[\s,;]+/);
    if (parts.some((part) => parseNumber(part) === undefined)) {
      const wanted = '“auto” or numbers separated by spaces';
      throw new SettingError(key, `${name} must be ${wanted}, got ${quote(text)}`);
    }
    return parts.map(Number).join(' ');
  };
}

/** An empty text means “auto”, as the placeholder shows. The library checks ranges. */
function parameterRule(key: ParameterKey): SettingRule<ParameterKey> {
  const { side, name } = partsOf(key);
  const spec = parameterSpecs[name];
  const address = side === 'a' ? spec.name : `b-${spec.name}`;
  if (spec.kind === 'flag') {
    const read = choice(key, address, Object.keys(flags)).read;
    return {
      name: address,
      read: (text) => flags[read(text)]!,
      write: (value) => Object.keys(flags).find((text) => flags[text] === value)!,
    };
  }
  if (spec.kind === 'objective') {
    const read = choice(key, address, ['auto', ...OBJECTIVES]).read;
    return {
      name: address,
      read: (text) => (read(text || 'auto') === 'auto' ? null : text),
      write: (value) => (value === null ? 'auto' : String(value)),
    };
  }
  const count = readNumber(key, address, '“auto” or a whole number > 0', (v) => {
    return Number.isSafeInteger(v) && v > 0;
  });
  const number = readNumber(key, address, '“auto” or a finite number', () => true);
  const read = { count, number, numbers: readList(key, address) }[spec.kind];
  return {
    name: address,
    read: (text) => (/^(auto)?$/.test(text.trim()) ? null : read(text.trim())),
    write: (value) => (value === null ? '' : String(value)),
  };
}

const parameterRules = Object.fromEntries(
  parameterKeys.map((key) => [key, parameterRule(key)]),
) as { readonly [K in ParameterKey]: SettingRule<K> };

export const rules: { readonly [K in Exclude<SettingKey, 'columns' | 'units'>]: SettingRule<K> } = {
  mechanism: choice('mechanism', 'mechanism', mechanismNames),
  compare: choice('compare', 'compare', ['none', ...mechanismNames]),
  ...parameterRules,
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
  neighbours: choice('neighbours', 'neighbours', NEIGHBOURS),
  participation: choice('participation', 'participation', participationNames),
  participations: integer('participations', 'participations', 1, maxSteps),
  workload: choice('workload', 'workload', workloadNames),
  window: integer('window', 'window', 1, maxSteps),
  decay: {
    name: 'decay',
    read: readNumber('decay', 'decay', 'above 0 and below 1', (v) => v > 0 && v < 1),
    write: String,
  },
  sumMomentum: {
    name: 'sum-momentum',
    read: readNumber('sumMomentum', 'sum-momentum', 'above 0 and below 1', (v) => v > 0 && v < 1),
    write: String,
  },
  budget: {
    name: 'budget',
    read(text) {
      if (/^(none)?$/.test(text.trim())) return null;
      return readNumber('budget', 'budget', `“none” or ${positive}`, (v) => v > 0)(text);
    },
    write: (value) => (value === null ? '' : String(value)),
  },
  releases: integer('releases', 'releases', 1, maxReleases),
  minSeparation: integer('minSeparation', 'min-separation', 1, maxSteps),
  clipNorm: {
    name: 'clip',
    read: readNumber('clipNorm', 'clip', positive, (v) => v > 0),
    write: String,
  },
  source: { name: 'data', read: (text) => text, write: String },
  label: { name: 'label', read: (text) => text, write: String },
  person: { name: 'user-column', read: (text) => text, write: String },
  ids: choice('ids', 'user-ids', idKinds),
  time: { name: 'time-column', read: (text) => text, write: String },
  timeFormat: choice('timeFormat', 'time-format', timeFormats),
  bucket: choice('bucket', 'bucket', buckets),
  timeZone: { name: 'time-zone', read: zoneName, write: String },
  from: { name: 'from', read: (text) => text, write: String },
  to: { name: 'to', read: (text) => text, write: String },
  missing: choice('missing', 'missing', POLICIES),
  na: {
    name: 'na',
    read(text) {
      const given = text.trim();
      if (given === '' || marksOf(given) !== undefined) return given;
      throw new SettingError('na', `na must be ${MARKS_WANTED}, got ${quote(given)}`);
    },
    write: String,
  },
  stream: choice('stream', 'stream', ['stationary', 'drifting', 'switching'] as const),
  numSteps: integer('numSteps', 'steps', 1, maxSteps),
  dimension: integer('dimension', 'dimension', 1, maxDimension),
  streamSeed: integer('streamSeed', 'stream-seed', 0, Number.MAX_SAFE_INTEGER),
  loss: choice('loss', 'loss', ['logistic', 'squared'] as const),
  rule: choice('rule', 'learner', ['ftrl', 'descent', 'both'] as const),
  momentum: {
    name: 'momentum',
    read: readNumber('momentum', 'momentum', 'at least 0 and below 1', (v) => v >= 0 && v < 1),
    write: String,
  },
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
  deployed: shown('deployed', 'secrets', false),
  ghosts: shown('ghosts', 'other-draws', true),
  simultaneous: shown('simultaneous', 'every-step-band', true),
  errors: choice('errors', 'axis', ['linear', 'log'] as const),
  local: shown('local', 'randomised-response', true),
  ranking: choice('ranking', 'rank-by', OBJECTIVES),
  histogram: {
    name: queriesNames.histogram,
    read(text) {
      if (readCounts(text) !== null) return text;
      const wanted = `${sizes.join(', ')} counts up to ${maxCount} separated by commas`;
      throw new SettingError('histogram', `histogram must be ${wanted}, got ${quote(text)}`);
    },
    write: String,
  },
  queries: choice('queries', queriesNames.queries, queryKinds),
  queriesView: choice('queriesView', queriesNames.queriesView, ['answers', 'errors'] as const),
  statistic: choice('statistic', 'statistic', statisticNames),
  measured: { name: 'measure', read: (text) => text, write: String },
  range: publicText(
    'range',
    'two numbers such as 0:90, the lower one first',
    (text) => readRange(text) !== null,
  ),
  category: { name: 'by', read: (text) => text, write: String },
  domain: publicText(
    'domain',
    `up to ${maxCategories - 1} different names separated by commas, no range, not “${otherCategory}”`,
    (text) => readDomain(text) !== null,
  ),
  together: publicText(
    'together',
    `2 to ${maxCategories} different sums such as total,window=30,decay=0.98 (or momentum=0.9)`,
    (text) => readTogether(text) !== null,
  ),
};

/** A mechanism with its parameters, as options of the library. */
export interface MechanismChoice {
  mechanism: MechanismName;
  parameters: MechanismParameters;
}

export function choicesOf(settings: Settings): MechanismChoice[] {
  const { mechanism, compare } = settings;
  const names = compare === 'none' ? [mechanism] : [mechanism, compare];
  return names.map((name, i) => ({
    mechanism: name,
    parameters: libraryParameters((p) => settings[parameterKey(sides[i]!, p)]),
  }));
}

/** Selects a mechanism on one side, with default parameters if none are given. */
export function choose(
  side: Side,
  mechanism: Settings['compare'],
  parameters: MechanismParameters = {},
): Partial<Settings> {
  return {
    [side === 'a' ? 'mechanism' : 'compare']: mechanism,
    ...settingsOf(side, parameters),
  } as Partial<Settings>;
}

/** Throws if two settings are valid separately but not together. */
export function checkTogether(settings: Settings, dimension: number): void {
  for (const side of sides) {
    for (const [one, other] of pairs) {
      const missing = settings[parameterKey(side, one)] === null ? one : other;
      const given = missing === one ? other : one;
      if (settings[parameterKey(side, missing)] !== null) continue;
      if (settings[parameterKey(side, given)] === null) continue;
      const message = `${one} and ${other} must be given together`;
      throw new IncompleteError(parameterKey(side, missing), message);
    }
  }
  if (settings.numSteps * dimension > maxEntries) {
    throw new SettingError(
      'numSteps',
      `steps × dimension must be at most ${maxEntries.toLocaleString('en-US')}, ` +
        `got ${settings.numSteps.toLocaleString('en-US')} × ${dimension}`,
    );
  }
}
