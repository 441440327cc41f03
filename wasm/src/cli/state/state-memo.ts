// SPDX-License-Identifier: Apache-2.0

// The memo that --state stores with the releases: the columns it sums, the persons whose rows
// counted, and the first bucket.

import { createHash } from 'node:crypto';
import { Misuse } from '../base/failure.js';
import { columnList } from '../input/header.js';
import type { People } from '../input/people.js';
import type { Times } from '../input/time.js';

const FORMAT = 'dp-ftrl state 3';

/** Facts that the next run needs. */
export interface Memo {
  format: string;
  /** Number of released steps. */
  step: number;
  /** Columns in the order of the sums. */
  columns: string[];
  people: People | null;
  time: { column: string; bucket: string; zone: string; origin: string | null } | null;
  counted: [person: string, times: number, last: number][];
}

/** Columns, people and times with which a run continues. */
export interface Continued {
  columns: readonly string[];
  people: People | undefined;
  times: Times | undefined;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Encodes a value as JSON preceded by its hash. */
export function sealed(value: unknown): Uint8Array {
  const text = JSON.stringify(value);
  return new TextEncoder().encode(`${hashOf(text)} ${text}`);
}

/**
 * @param about  subject of the bytes, for messages
 * @throws Misuse for damaged bytes, and for those of another format.
 */
export function unsealed(
  bytes: Uint8Array,
  { format, about }: { format: string; about: string },
): unknown {
  const [hash, ...rest] = new TextDecoder().decode(bytes).split(' ');
  const text = rest.join(' ');
  if (hash !== hashOf(text)) throw new Misuse(`its record of ${about} is damaged`);
  const value = JSON.parse(text) as { format: string };
  if (value.format !== format) throw new Misuse(`its format is not "${format}"`);
  return value;
}

export function writeMemo(memo: Omit<Memo, 'format'>): Uint8Array {
  return sealed({ format: FORMAT, ...memo });
}

/** Facts about the times that all runs share. */
export function timeOfMemo({ column, bucket, zone }: Times): {
  column: string;
  bucket: string;
  zone: string;
} {
  return { column, bucket, zone: zone.name };
}

/** Memo before the first step. */
export function memoOfNothing({ columns, people, times }: Continued): Uint8Array {
  const time = times ? { ...timeOfMemo(times), origin: null } : null;
  const counted: Memo['counted'] = [];
  return writeMemo({ step: 0, columns: [...columns], people: people ?? null, time, counted });
}

export function readMemo(bytes: Uint8Array): Memo {
  const about = 'columns and persons';
  return unsealed(bytes, { format: FORMAT, about }) as Memo;
}

/** Returns the columns in the order of the state, matched by name. */
export function orderOf(
  known: readonly string[] | undefined,
  columns: readonly string[],
  does: string,
): readonly string[] {
  if (known === undefined) return columns;
  const sorted = (names: readonly string[]) => JSON.stringify([...names].sort());
  if (sorted(known) === sorted(columns)) return known;
  throw new Misuse(`it ${does} the columns ${columnList(known)}, this run ${columnList(columns)}`);
}

/** Requires that a run continues with the same persons and buckets. */
export function requireSame(memo: Memo | undefined, { people, times }: Continued): void {
  const isPlain = !people && !times;
  if (!memo?.people && !memo?.time) {
    if (isPlain) return;
    throw new Misuse('it was begun without --user-column and --time-column');
  }
  if (isPlain) throw new Misuse('it was begun with --user-column or --time-column');
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const { people: before } = memo;
  if (before && people && before.areNumbers !== people.areNumbers) {
    const [then, now] = before.areNumbers ? ['with', 'has not'] : ['without', 'has'];
    throw new Misuse(`it was begun ${then} --user-numbers, which this run ${now}`);
  }
  if (!same(before, people ?? null)) {
    const options = '--user-column, --max-contributions or --min-separation';
    throw new Misuse(`it was begun with another ${options}`);
  }
  const { origin, ...time } = memo.time ?? {};
  if (!same(time, times ? timeOfMemo(times) : {})) {
    throw new Misuse('it was begun with another --time-column, --bucket or --time-zone');
  }
}
