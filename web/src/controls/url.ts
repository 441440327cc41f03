// SPDX-License-Identifier: Apache-2.0

// The state of the page as the part of the address after `#`, which browsers do not send to anyone.

import { laboratory } from '../story/route.ts';
import { defaults, rules, SettingError, type Key, type Settings } from './settings.ts';

export interface ReadAddress {
  settings: Settings;
  /** Texts that could not be used, by setting. */
  refused: Map<Key, { text: string; message: string }>;
  /** Names that mean nothing here. */
  unknown: string[];
}

const keys = Object.keys(rules) as (keyof typeof rules)[];

export function readAddress(hash: string): ReadAddress {
  const settings: Settings = { ...defaults, columns: [] };
  const refused: ReadAddress['refused'] = new Map();
  const unknown: string[] = [];
  const seen = new Set<string>();
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ''))) {
    if (name === laboratory && text === '') continue;
    if (name === 'column') {
      settings.columns.push(text);
      continue;
    }
    const key = keys.find((candidate) => rules[candidate].name === name);
    if (key === undefined || seen.has(name)) {
      unknown.push(key === undefined ? name : `${name} (given twice)`);
      continue;
    }
    seen.add(name);
    try {
      Object.assign(settings, { [key]: rules[key].read(text) });
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      refused.set(key, { text, message: error.message });
    }
  }
  return { settings, refused, unknown };
}

/** Only what differs from the defaults, in a fixed order; the laboratory itself if nothing does. */
export function writeAddress(settings: Settings): string {
  const parts = new URLSearchParams();
  for (const key of keys) {
    if (settings[key] === defaults[key]) continue;
    const rule = rules[key] as { name: string; write(value: unknown): string };
    parts.append(rule.name, rule.write(settings[key]));
  }
  if (settings.source !== 'synthetic') {
    for (const column of settings.columns) parts.append('column', column);
  }
  return parts.toString() || laboratory;
}
