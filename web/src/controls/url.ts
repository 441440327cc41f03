// SPDX-License-Identifier: Apache-2.0

// The state of the page in the fragment of the address, which browsers do not send to anyone.

import { closest } from '../../../wasm/src/shared/closest.ts';
import { maxUnit, unitOf } from '../data/units.ts';
import { laboratory, queriesNames } from '../base/route.ts';
import {
  defaults,
  opening,
  ownKeys,
  rules,
  SettingError,
  type SettingKey,
  type Settings,
} from './settings.ts';

export interface ReadAddress {
  settings: Settings;
  /** Rejected texts, by setting. */
  refused: Map<SettingKey, { text: string; message: string }>;
  /** Messages about names that are unknown or given twice. */
  unknown: string[];
}

const keys = Object.keys(rules) as (keyof typeof rules)[];
/**
 * Settings of the histogram view, except for the kind of queries; the last five are shared with the
 * laboratory.
 */
const queriesKeys = [
  'histogram',
  'queriesView',
  'epsilon',
  'delta',
  'neighbours',
  'noiseSeed',
  'deployed',
] as const satisfies readonly (typeof keys)[number][];
const labKeys = keys.filter((key) => !(key in queriesNames));
const isOwn = (key: SettingKey): boolean => (ownKeys as readonly SettingKey[]).includes(key);

/** Reports an unknown setting, with a suggestion. */
function unknownText(name: string): string {
  const known = [...keys.map((key) => rules[key].name), 'column', 'unit'];
  const meant = closest(name, known);
  return `there is no setting “${name}”${meant === undefined ? '' : `; is “${meant}” meant?`}`;
}

export function readAddress(hash: string): ReadAddress {
  const text = hash.replace(/^#/, '');
  const base = text === laboratory ? opening : defaults;
  const settings: Settings = { ...base, columns: [...base.columns] };
  const refused: ReadAddress['refused'] = new Map();
  const unknown: string[] = [];
  const seen = new Set<string>();
  for (const [name, given] of new URLSearchParams(text)) {
    const value = given.normalize('NFC'); // Names in tables are normalised, too.
    if ([laboratory, queriesNames.queries].includes(name) && value === '') continue;
    if (name === 'column') {
      settings.columns.push(value);
      continue;
    }
    if (name === 'unit' && settings.columns.length > 0) {
      const column = settings.columns.at(-1)!;
      if (value.length <= maxUnit) settings.units = { ...settings.units, [column]: value };
      else
        refused.set('columns', {
          text: '',
          message: `unit must have at most ${maxUnit} letters, got “${value}”`,
        });
      continue;
    }
    const key = keys.find((candidate) => rules[candidate].name === name);
    if (key === undefined || seen.has(name)) {
      unknown.push(key === undefined ? unknownText(name) : `“${name}” is given twice`);
      continue;
    }
    seen.add(name);
    try {
      Object.assign(settings, { [key]: rules[key].read(value) });
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      refused.set(key, { text: value, message: error.message });
    }
  }
  return { settings, refused, unknown };
}

/**
 * Writes the settings that differ from the defaults, in a fixed order; writes `lab` for the initial
 * settings of the laboratory. Names the mechanism if nothing differs, because an address without
 * settings shows the story. Leaves out whatever comes from the user's own data.
 */
export function writeAddress(settings: Settings): string {
  const text = written(settings, labKeys);
  return text === written(opening, labKeys)
    ? laboratory
    : text || `mechanism=${settings.mechanism}`;
}

/**
 * Always writes the kind of queries, because at least one setting must identify the histogram view.
 */
export function writeQueriesAddress(settings: Settings): string {
  const source = settings.source === 'own' ? 'own' : 'synthetic';
  const text = written({ ...settings, source }, ['queries', ...queriesKeys]);
  return settings.queries === defaults.queries ? `queries${text && `&${text}`}` : text;
}

function written(settings: Settings, names: readonly (typeof keys)[number][]): string {
  const parts = new URLSearchParams();
  for (const key of names) {
    if (settings[key] === defaults[key] || (settings.source === 'own' && isOwn(key))) continue;
    const rule = rules[key] as { name: string; write(value: unknown): string };
    parts.append(rule.name, rule.write(settings[key]));
  }
  if (settings.source !== 'synthetic' && settings.source !== 'own') {
    for (const column of settings.columns) {
      parts.append('column', column);
      const unit = unitOf([column], settings.units);
      if (unit !== '') parts.append('unit', unit);
    }
  }
  return parts.toString();
}
